# SPDX-License-Identifier: GPL-3.0-or-later
# tutti clean: what a killed run left behind goes, and nothing else.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs pgrep

# Everything of a run at once, so that nobody gets to clean up. Stopped first: what is ended by a signal ends others.
# Ranks before their launcher: when the parent of a stopped process group ends, the kernel wakes the group by SIGHUP,
# and a rank would remove its files.
kill_all() {
    local pids
    pids=$(pgrep -f "$runs" | sort -rn)
    kill -STOP $pids
    kill -KILL $pids
}

"$TUTTI" run stencil -n 2 --size 256 --iterations 100000000 --max-time 50s --write every=10,files=process "${here[@]}" \
    >/dev/null 2>err &
driver=$!
on_exit+=(kill_all)
until [ "$(find "$data" -type f -size +1k | wc -l)" -ge 2 ]; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
directory=$(last_run)
ln -s "$directory" link
for typed in "$directory" "$directory/" link; do
    expect 1 "$TUTTI" clean "$typed"
    one_line "rank [01] still runs, as process [0-9]+"
done
(cd "$directory" && expect 1 "$TUTTI" clean . && one_line "rank [01] still runs, as process [0-9]+")
expect 1 "$TUTTI" clean "$directory" --force # only for what cannot be seen from here
one_line "rank [01] still runs, as process [0-9]+"
if unshare -m true 2>/dev/null; then # a /dev/shm of its own, as jobs and containers have it
    expect 1 unshare -m --propagation private bash -c 'mount --bind "$1" /mnt && mount -t tmpfs none /dev/shm && exec "$2" clean "/mnt/$3"' \
        hidden "$work" "$TUTTI" "${directory#"$work"/}"
    one_line "rank [01] still runs, as process [0-9]+"
fi
[ -n "$(find "$data" -type f)" ] || fail "files of a live run are gone"
kill_all
wait $driver 2>/dev/null || true
no_process_left
on_exit=()
[ -n "$(find "$data" -type f)" ] || fail "nothing was left to clean"

# The directory may be somebody's: its word alone deletes no file, nor does a directory of the right name elsewhere.
echo mine >thesis
mkdir elsewhere
ln -s "$work" "elsewhere/tutti-$(basename "$directory")"
printf 'claim file 1 %s\n' "$work/thesis" "$work/elsewhere/tutti-$(basename "$directory")/thesis" >>"$directory/manifest"
expect 1 "$TUTTI" clean "$directory"
one_line "thesis' is left alone"
grep -q "removed 2 data files" out || fail "said: $(cat out)"
no_data_left
grep -q mine thesis
expect 1 "$TUTTI" clean "$directory"
grep -q "removed 0 data files" out

# Kept files, from another working directory than the run's.
(cd "$data" && expect 0 "$TUTTI" run stencil --size 64 --iterations 4 --write every=2 --keep --quiet \
    --results "$runs" --min-free 0)
expect 0 "$TUTTI" clean "$(last_run)"
grep -q "removed 1 data file$" out
no_data_left
usage "clean needs a run directory" "$TUTTI" clean
for command in clean verify; do
    expect 1 "$TUTTI" $command "$data"
    one_line "data' is not a run directory: it has no plan.json"
done

# An id will do, and an ensemble is cleaned as a whole.
(
    cd elsewhere
    expect 0 "$TUTTI" run stencil --size 64 --iterations 4 --write every=2 --layers verify --keep --quiet --min-free 0 --dir "$data"
    id=$(basename tutti-runs/2*)
    expect 0 "$TUTTI" verify "${id##*-}"
    expect 0 "$TUTTI" clean "${id##*-}"
    grep -q "removed 1 data file$" "$work/out"
    printf '%s\n' 'reference: {workload: stencil, size: 16, iterations: 2, write: {every: 1}, ranks: 1, keep: yes}' \
        'load: {same: reference}' 'others: [0]' 'repeat: 2' >kept.yaml
    expect 0 "$TUTTI" ensemble kept.yaml --min-free 0 --dir "$data" --quiet
    expect 0 "$TUTTI" clean tutti-runs/ensemble-*
    grep -q "removed 2 data files$" "$work/out" || fail "of an ensemble: $(cat "$work/out")"
)
no_data_left
mkdir -p pipe/records
cp "$directory/plan.json" pipe
mkfifo pipe/manifest
expect 1 "$TUTTI" clean pipe
one_line "manifest' is not a file"

# Those that a later run put in their place stay.
job=(stencil --size 64 --iterations 4 --write "every=2,path=$data/kept" --keep --quiet --results "$runs" --min-free 0)
expect 0 "$TUTTI" run "${job[@]}"
first=$(last_run)
"$TUTTI" run "${job[@]}" 2>err || { grep -q 'does not look like' err && exit 0; } # no extended attributes here
expect 1 "$TUTTI" clean "$first"
one_line "kept' is left alone"
expect 0 "$TUTTI" clean "$(last_run)"
no_data_left

# What the list names is there: the files of a probe are gone, and left.
expect 0 "$TUTTI" run stencil -n 2 --size 64 --iterations 10 --write every=5 --backend mpiio --mpiio.method nonblocking \
    --mode async --keep --quiet "${here[@]}"
grep -q probe "$(last_run)/manifest" || fail "nothing was probed"
for path in $(awk '$1 == "leave" { delete listed[$NF]; next } { listed[$NF] } END { for (p in listed) print p }' "$(last_run)/manifest"); do
    [ -e "$path" ] || fail "the manifest lists $path, which is gone"
done
expect 0 "$TUTTI" clean "$(last_run)"
no_data_left
