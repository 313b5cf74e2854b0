# SPDX-License-Identifier: GPL-3.0-or-later
# What the layers log and compress write becomes the plain file again; what they report is what the kernel saw; damage is one line.
# processors: 2
# timeout: 200
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq strace cmp

pattern=("$TUTTI" run pattern --quiet "${here[@]}" --dims 64:48 --element f64 --steps 3 --variables 3 --fixed 1 --balance uneven
    --seed 3 --phase write --keep --json out.json)
# same FILE OPTIONS...: convert gives the file that posix writes with these options.
same() {
    local file=$1
    shift
    [ -e plain ] || expect 0 "${pattern[@]}" --path "$work/plain" "$@"
    expect 0 "$TUTTI" convert "$file" converted
    cmp converted plain || fail "not the file that posix writes: $*"
    rm converted
}

for options in "-n 1 --series append" "-n 2 --series group --selection runs --runs 30 --run-max 8 --order shuffled"; do
    rm -f plain*
    for layer in log compress; do
        # shellcheck disable=SC2086 # words
        expect 0 "${pattern[@]}" $options --layers $layer --path "$work/$layer" --mode sync
        # shellcheck disable=SC2086 # words
        same "$work/$layer" $options
        mv $layer $layer.kept
    done
done
for backend in mpiio mmap uring; do
    has_backend $backend || continue
    # shellcheck disable=SC2086 # words
    expect 0 "${pattern[@]}" $options --layers verify,compress --compress.codec zstd --backend $backend --path "$work/$backend"
    # shellcheck disable=SC2086 # words
    same "$work/$backend" $options
done


# zfp keeps every bit, or values within a bound: then the file is smaller, and verify compares within it.
if "$TUTTI" info --build | grep -qw zfp; then
    # shellcheck disable=SC2086 # words
    expect 0 "${pattern[@]}" $options --layers verify,compress --compress.codec zfp --path "$work/reversible"
    # shellcheck disable=SC2086 # words
    same "$work/reversible" $options
    # The content of pattern is numbered, and it reads what it checks; a stencil has real numbers.
    stencil=("$TUTTI" run stencil -n 2 --quiet "${here[@]}" --size 96 --iterations 20 --keep --json out.json)
    expect 0 "${stencil[@]}" --write every=10,series=append,path="$work/real"
    for bound in 0 1e-3; do
        expect 0 "${stencil[@]}" --write every=10,series=append,path="$work/zfp-$bound" --layers verify,compress --compress.codec zfp --compress.bound $bound
        expect 0 "$TUTTI" verify "$(last_run)"
        expect 0 "$TUTTI" convert "zfp-$bound" "zfp-$bound.plain"
        jq '.layers[1].passed_on' out.json >>sizes
    done
    cmp real zfp-0.plain || fail "zfp has changed values without a bound"
    paste <(od -An -tf8 -w8 -v real) <(od -An -tf8 -w8 -v zfp-1e-3.plain) |
        awk '{ d = $1 - $2; d = d < 0 ? -d : d; if (d > most) most = d } END { exit !(most > 0 && most <= 1e-3) }' || fail "not within the bound"
    holds '$a > 2 * $b' a="$(sed -n 1p sizes)" b="$(sed -n 2p sizes)"
    # Workloads that check what they have read do so within the bound, and no further.
    for workload in "openpmd --min-block 4:4:4 --grid 2:2:2 --steps 2 --read full --meshes all" "amr --cells 8 --max-grid 4 --content numbered" \
        "climate --columns 30 --levels 2 --files h1" "particles --dims 512 --steps 2" "frames --edge 4 --frames 2" \
        "arrays --steps 1 --arrays 2 --rows 5 --columns 6"; do
        phase="--phase both"
        case $workload in frames*) phase="--read yes" ;; arrays*) phase= ;; esac
        # shellcheck disable=SC2086 # words
        expect 0 "$TUTTI" run $workload $phase -n 1 --quiet "${here[@]}" --layers compress --compress.codec zfp --compress.bound 1e-2
    done
    # shellcheck disable=SC2086 # words
    for workload in "particles --dims 4096 --steps 1 --phase both" "openpmd --min-block 4:4:4 --grid 2:2:2 --phase both"; do
        expect 1 "$TUTTI" run $workload --quiet "${here[@]}" --layers fault,compress --compress.codec zfp --compress.bound 1e-9 \
            --fault.action flip --fault.call read --fault.rate 1
        one_line "is not what was written"
    done
    usage "compress.bound is how far values may change: a number of at least 0, not -1" "${stencil[@]}" --layers compress --compress.codec zfp --compress.bound -1
    usage "'nan' is not a number" "${stencil[@]}" --layers compress --compress.codec zfp --compress.bound nan
    usage "compress.bound is for zfp: codec lz4 keeps every bit" "${stencil[@]}" --layers compress --compress.bound 1
    usage "compress.block must be a multiple of 8 for codec zfp" "${stencil[@]}" --layers compress --compress.codec zfp --compress.block 1001
else
    usage "compress.codec zfp is not in this build; package libzfp-dev brings its library" "${pattern[@]}" --layers compress --compress.codec zfp
fi

# Each layer's bytes: what came to it is the payload, what it passed on is what the kernel was given.
observe -e trace=pwritev,pwrite64 -y -o calls "${pattern[@]}" -n 1 --layers verify,compress --compress.block 4k --path "$work/observed"
seen=$(awk -v file="$work/observed>" 'index($0, file) { sum += $NF } END { print sum }' calls)
equal "$(jq -c '[.layers[] | .name, .bytes_written * 1]' out.json)" '["verify",172032,"compress",172032]' "what came to the layers"
equal "$(jq '.layers[1].passed_on * 1' out.json)" "$seen" "bytes passed on and seen by strace"
equal 1 "$(jq '[.warnings[] | select(.text | test("layer compress stored 168 KiB as .*before packing"))] | length' out.json)" "warnings of a packed file"
holds '$a > 0 and $b > 0' a="$(jq '.layers[1].seconds' out.json)" b="$(jq '.layers[1].cpu_seconds' out.json)"
"$TUTTI" show "$(last_run)" >shown
grep -q '^ *layer *compress .* of CPU; wrote 168 KiB as ' shown || fail "the report does not show what the layer cost"

# Steps that overwrite each other are all in the log; the last one is read.
rm -f plain*
expect 0 "${pattern[@]}" -n 2 --series overwrite --selection columns --layers log --path "$work/over"
same "$work/over" -n 2 --series overwrite --selection columns
grep -qE "^converted: [0-9.]+ KiB, from [0-9]+ requests of 2 ranks \([0-9.]+ KiB, later requests replace earlier ones\)$" out || fail "the file's size is not told: $(cat out)"

# bad STATUS PATTERN SRC [DST]: one line, and no new file.
bad() {
    expect "$1" "$TUTTI" convert "$3" "${4:-new}"
    one_line "$2"
    [ ! -e new ] || fail "a file was left"
}
bad 1 "open of 'nothing'" nothing
bad 1 "is not a file" "$data"
bad 1 "'plain' needs no conversion: it is a plain file, unless layer align wrote it" plain
: >empty
bad 1 "'empty' needs no conversion" empty
: >mine
bad 1 "open of 'mine': File exists" over mine
[ ! -s mine ] || fail "a foreign file was touched"
# An end that comes early leaves nothing; one that nothing can be done about leaves no whole name. The name is durable, too.
if [ -n "${FAULTS:-}" ]; then
    for signal in TERM KILL; do
        env LD_PRELOAD="$FAULTS" TUTTI_FAULT="rank=driver call=fsync match=early do=delay:20" "$TUTTI" convert over early >out 2>err &
        until [ -s early.part ]; do
            kill -0 $! || { cat err; fail "the conversion ended by itself"; }
            sleep 0.01
        done
        kill -$signal $!
        ! wait $! || fail "a conversion that was ended has succeeded"
        equal "$([ $signal = TERM ] || echo early.part)" "$(ls | grep early || true)" "what $signal leaves"
    done
    bad 1 "open of 'early.part': File exists" over early
    rm early.part
fi
observe -e trace=fsync,renameat2 -y -o calls "$TUTTI" convert over durable
equal "fsync $work/durable.part,renameat2 durable.part,fsync $work" \
    "$(sed -E 's/^[0-9]+ +//;s/\(([0-9]+<|AT_FDCWD[^,]*, ")/ /;s/[>"].*//' calls | paste -sd,)" "calls"
cp over future && printf '\2' | dd of=future bs=1 seek=8 conv=notrunc status=none
bad 1 "has version 2 of the log's format" future
cp over head && printf '\377' | dd of=head bs=1 seek=30 conv=notrunc status=none
bad 1 "the head of the log, .* is damaged" head
base=4096
cp over block && printf '\252\252' | dd of=block bs=1 seek=$((base + 100)) conv=notrunc status=none
bad 1 "the block of rank 0 at offset $base is not what was written" block
# A run that was killed after its last sync: the slots of the close are not there.
cp over killed
slots=$((($(od -An -td8 -j16 -N8 over) + 63) / 64))
for slot in $slots $((slots + 2)); do
    [ "$(od -An -td8 -j$((slot * 64)) -N8 over)" -gt "$(od -An -td8 -j$((slot * 64 + 64)) -N8 over)" ] || slot=$((slot + 1))
    dd if=/dev/zero of=killed bs=64 seek=$slot count=1 conv=notrunc status=none
done
expect 0 "$TUTTI" convert killed salvaged
one_line "2 of 2 ranks have not closed 'killed'"
cmp salvaged plain || fail "what was synced is not found"
expect 1 "${pattern[@]}" -n 2 --series overwrite --selection columns --layers log --path "$work/killed" --phase read
grep -q "rank 0 has not closed the log; tutti convert reads what was synced" err || fail "no line about what reads it"
# What was synced and is missing is damage.
cp over short && truncate -s 5000 short
bad 1 "the index of rank 0 at offset .* is damaged" short
cp over early && truncate -s 200 early
bad 1 "'early' ends at offset 200, before the index of its 2 ranks" early
expect 1 "${pattern[@]}" -n 2 --series overwrite --selection columns --layers log --path "$work/short" --phase read
grep -q "short' ends at offset" err || fail "no line about what is missing"
if has_backend hdf5; then
    expect 0 "${pattern[@]}" -n 1 --backend hdf5 --layers log --path "$work/five"
    bad 1 "'five' is an HDF5 file" five
fi

usage "convert needs two files" "$TUTTI" convert over
usage "compress cannot stand on layer log" "${pattern[@]}" --layers compress,log
usage "compress.level is for zstd" "${pattern[@]}" --layers compress --compress.level 3
