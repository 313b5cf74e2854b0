# SPDX-License-Identifier: GPL-3.0-or-later
# The layer subfile: where bytes lie, what becomes of a set that is damaged or not ours, and what is left of a run that ends early.
# processors: 1
# timeout: 400
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq python3 cmp pgrep

pattern=("$TUTTI" run pattern --quiet "${here[@]}" --dims 64:48 --element f64 --steps 3 --variables 3 --fixed 1 --balance uneven
    --seed 3 --phase write --keep)
subfile=(--layers subfile --subfile.count 3 --subfile.stripe 1000)
expect 0 "${pattern[@]}" -n 2 --series append --path "$work/plain"

# The layout by its definition: stripe q is in file q mod n, at (q / n) * stripe.
cat >join.py <<'PY'
import re, sys
path, out = sys.argv[1:]
text = open(path).read()
number = lambda key: int(re.search(r"^%s (\d+) *$" % key, text, re.M).group(1))
n, stripe, size = number("subfiles"), number("stripe"), number("size")
files = [open("%s.subfile_%d_of_%d" % (path, i, n), "rb").read() for i in range(n)]
assert text.startswith("tutti subfile 1\n") and text.endswith("\nend\n"), text
assert sum(map(len, files)) == size, "sizes"
with open(out, "wb") as f:
    for q in range(-(-size // stripe)):
        at = q // n * stripe
        f.write(files[q % n][at:at + stripe])
PY
joined() { # PATH: its bytes are those of the plain file
    python3 join.py "$1" joined
    cmp joined plain || fail "the stripes of $1 are not the plain file"
    expect 0 "$TUTTI" convert "$1" converted
    cmp converted plain || fail "convert makes another file of $1"
    rm joined converted
}
for n in 1 2 5; do
    expect 0 "${pattern[@]}" -n $n --series append "${subfile[@]}" --path "$work/set"
    joined "$work/set"
    equal 4 "$(grep -c '^made file .*/set' "$(last_run)/manifest")" "listed files"
    equal 4 "$(jq '.metrics.files.value' "$(last_run)/result.json")" "files"
done
grep -q '^variable f64 64x48 step v2$' set || fail "the variables are not in the text"
# Any number of ranks reads it, also with fewer ranks than files.
for n in 1 4; do expect 0 "${pattern[@]}" -n $n --series append --layers subfile --path "$work/set" --phase read; done
for backend in mpiio mmap uring; do
    has_backend $backend || continue
    expect 0 "${pattern[@]}" -n 3 --series append --layers verify,subfile --subfile.ranks 2 --subfile.stripe 1000 --backend $backend \
        --path "$work/$backend"
    ls "$work/$backend".subfile_{0,1}_of_2 >/dev/null
    joined "$work/$backend"
    expect 0 "$TUTTI" clean "$(last_run)"
    [ -z "$(ls "$work/$backend"* 2>/dev/null)" ] || fail "clean has left subfiles of $backend"
done
# Files whose ends nobody has written keep the lengths that belong to the set, also if they are read before they are closed.
for backend in posix mpiio mmap uring; do
    ! has_backend $backend || expect 0 "$TUTTI" run frames --quiet "${here[@]}" -n 3 --edge 6 --frames 4 --read yes --backend $backend \
        --layers log,subfile --subfile.count 3 --subfile.stripe 4k
done
# Other layouts stand on it, and nobody but the concentrators opens its files.
for layers in log,subfile verify,compress,subfile; do
    expect 0 "${pattern[@]}" -n 2 --series append --layers $layers --subfile.count 2 --subfile.stripe 1000 --path "$work/other"
    ln -sf other link
    expect 0 "$TUTTI" convert link converted
    cmp converted plain || fail "convert makes another file of $layers"
    rm converted
done
expect 0 "$TUTTI" verify "$(last_run)"
# A file per process, a file per step, and overlap: everything is removed.
expect 0 "$TUTTI" run pattern --quiet "${here[@]}" -n 2 --dims 64:48 --series file --files process "${subfile[@]}" --mode async
no_data_left
# Sets that are renamed when they are whole, and single transfers, in step.
expect 0 "$TUTTI" run checkpoint --quiet "${here[@]}" -n 2 --layers subfile --subfile.count 2
no_data_left
expect 0 "$TUTTI" run bulk --quiet "${here[@]}" -n 3 --block 64k --transfer 4k --cold --check-read --layers subfile --subfile.count 2
no_data_left
usage "use --layers without subfile, or bulk.files process" "$TUTTI" run bulk "${here[@]}" -n 2 --layers subfile --deadline 1

# Another set at the same path takes the place of the earlier one; one that is not finished or not ours does not go.
expect 0 "${pattern[@]}" -n 2 --series append --layers subfile --subfile.count 2 --path "$work/other"
expect 0 "${pattern[@]}" -n 2 --series append --layers subfile --subfile.count 1 --path "$work/other"
[ ! -e other.subfile_0_of_2 ] || fail "subfiles of the earlier run are left"
echo mine >other.subfile_1_of_2
expect 1 "${pattern[@]}" -n 2 --series append --layers subfile --subfile.count 2 --path "$work/other"
one_line "other.subfile_1_of_2' exists and does not look like a file that tutti made"
equal mine "$(cat other.subfile_1_of_2)" "a foreign file"
rm other*

# bad PATTERN: one line, of a run that reads and of convert, and no new file.
bad() {
    expect 1 "${pattern[@]}" -n 2 --series append --layers subfile --path "$work/bad" --phase read
    one_line "$1"
    expect 1 "$TUTTI" convert "$work/bad" new
    one_line "$1"
    [ ! -e new ] || fail "a file was left"
}
again() {
    local file
    rm -f bad*
    for file in set*; do cp "$file" "bad${file#set}"; done
}
again && rm bad.subfile_1_of_3 && bad "'.*bad.subfile_1_of_3' is missing: '.*bad' has 3 subfiles; put all of them beside it"
again
expect 1 "$TUTTI" convert bad.subfile_1_of_3 new
one_line "'bad.subfile_1_of_3' is one part of the set 'bad'; give 'bad'"
again && truncate -s 100 bad.subfile_2_of_3 && bad "bad.subfile_2_of_3' has 100 bytes, but by '.*bad' it has 57000"
again && sed -i 's/^subfiles 3/subfiles 4/' bad && bad "bad.subfile_[0-3]_of_4' is missing"
again && sed -i 's/^subfiles 3/subfiles 0/' bad && bad "bad', line 2: 'subfiles 0' is not what tutti writes there"
again && sed -i 's/^stripe .*/stripe 0/' bad && bad "bad', line 3: 'stripe 0' is not what tutti writes there"
again && sed -i '1s/1/2/' bad && bad "has version 2 of the subfiles' format; this tutti reads version 1"
again && truncate -s -5 bad && bad "is cut short: its last line, 'end', is missing"
again && sed -i 's/^size .*/size open/' bad
expect 1 "${pattern[@]}" -n 2 --series append --layers subfile --path "$work/bad" --phase read
one_line "bad' was not closed"
expect 0 "$TUTTI" convert bad new
one_line "'bad' was not closed"
cmp new plain || fail "what is there is not found"
again && echo something >bad
expect 1 "${pattern[@]}" -n 2 --series append --layers subfile --path "$work/bad" --phase read
one_line "bad' does not begin like a file of the layer subfile"

# A dry run counts them.
subfiles() { # WANTED OPTIONS...
    expect 0 "${pattern[@]}" -n 5 --dry-run --layers subfile "${@:2}"
    grep -q "in 1 file, each with $1\$" out || fail "the dry run says: $(cat out)"
}
subfiles "3 subfiles" --subfile.count 3
subfiles "2 subfiles" --subfile.ranks 4
subfiles "one subfile for each node"

usage "subfile.stripe" "${pattern[@]}" --layers subfile --subfile.stripe 0
usage "subfile.count and subfile.ranks both" "${pattern[@]}" --layers subfile --subfile.count 2 --subfile.ranks 2
usage "layer throttle must stand before layout layer subfile" "${pattern[@]}" --layers subfile,throttle
usage "layer subfile cannot stand on layer log" "${pattern[@]}" --layers subfile,log
expect 1 bash -c 'ulimit -n 256; exec "$@"' - "${pattern[@]}" -n 2 --layers subfile --subfile.count 400
one_line "a rank would have [0-9]+ of the 400 subfiles open, but may have only 256 files; use fewer subfiles"
no_data_left
! has_backend hdf5 || usage "which hdf5 does not write; use it on posix, mmap, uring or mpiio" "${pattern[@]}" --layers subfile --backend hdf5

# A call that fails below is told with its rank and file, and sync reaches every file.
if [ -n "${FAULTS:-}" ]; then
    fault() { # FAULT PATTERN
        expect 1 env LD_PRELOAD="$FAULTS" TUTTI_FAULT="$1" "$TUTTI" run pattern --quiet "${here[@]}" -n 3 --dims 64:48 --steps 3 \
            --series append "${subfile[@]}" --sync dump --path "$work/failed"
        one_line "$2"
        [ -z "$(ls "$work"/failed* 2>/dev/null)" ] || fail "files of a failed run are left"
    }
    fault "rank=1 call=write match=failed.subfile_1 do=EIO" "rank 1: write of '.*failed.subfile_1_of_3' .*Input/output error"
    fault "rank=2 call=fsync match=failed.subfile_2 do=EIO" "rank 2: fsync of '.*failed.subfile_2_of_3'.*Input/output error"
    fault "rank=1 call=open match=failed.subfile_1 do=EACCES" "rank 1: open of '.*failed.subfile_1_of_3'.*Permission denied"
fi

# A run that is interrupted leaves nothing.
"$TUTTI" run pattern "${here[@]}" -n 3 --dims 64:48 --steps 1000000 --series overwrite --layers throttle,subfile --throttle.ops 50 \
    --subfile.count 2 --path "$work/ended" >out 2>err &
driver=$!
until [ -s ended.subfile_0_of_2 ]; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
kill -TERM $driver
wait $driver || true
no_process_left
[ -z "$(ls ended* 2>/dev/null)" ] || fail "files of an interrupted run are left: $(ls ended*)"

# A run that is killed, with its driver: all its paths are in the manifest, and clean removes them.
"$TUTTI" run pattern "${here[@]}" -n 3 --dims 64:48 --steps 1000000 --series overwrite --layers throttle,subfile --throttle.ops 50 \
    --subfile.count 2 --path "$work/killed" >out 2>err &
driver=$!
until [ -s killed.subfile_0_of_2 ]; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
kill -9 $driver $(pgrep -f "perform.*$runs")
wait $driver || true
no_process_left
echo mine >killed.subfile_7_of_9
expect 0 "$TUTTI" clean "$(last_run)"
equal killed.subfile_7_of_9 "$(ls -d killed*)" "what is left of a killed run"
