# SPDX-License-Identifier: GPL-3.0-or-later
# A library's success is believed only as far as the system and the file bear it out. Whatever it swallows, the run
# fails with one line that names rank, call and file.
# processors: 1
# timeout: 240
. "$(dirname "$0")/lib.sh"
needs jq
export -f faulty
export FAULTS work
stencil=(run stencil -n 2 --size 64 --iterations 3 --patience 2s "${here[@]}" --write)
bulk=(run bulk -n 2 --transfer 64k --block 256k --patience 2s "${here[@]}")

# swallowed RANK FAULT ARGUMENT...: a system call fails, or falls short, below the library.
swallowed() {
    local rank=$1 fault=$2
    shift 2
    expect 1 bash -c 'faulty "$@"' - "rank=$rank match=$data/ $fault" "$TUTTI" "$@"
    [ -s hits ] || fail "no call was met: $fault"
    one_line "^tutti: rank $rank: .*'?$data/"
    no_data_left
}
if [ -n "${FAULTS:-}" ]; then
    # The kernel tells once that it could not write back, here when a file is evicted before it is read.
    swallowed 1 "call=fsync nth=5 do=EIO" run frames -n 2 --edge 6 --frames 4 --read yes --mode sync "${here[@]}"
    if has_backend pnetcdf; then # it has no statuses of its own that tell
        for mode in sync async; do
            swallowed 0 "call=write count=all do=EIO" "${stencil[@]}" every=1 --backend pnetcdf --mode $mode
            one_line "pwrite of .*: Input/output error: pnetcdf reported success; do not trust it here"
            swallowed 1 "call=write nth=2 do=short" "${stencil[@]}" every=1 --backend pnetcdf --mode $mode
            one_line "8192 bytes are missing, but pnetcdf reported success"
        done
        jq -e '.valid == false and (.error | test("pnetcdf reported success"))' "$(last_run)/result.json" >/dev/null ||
            fail "the result does not name the library"
        swallowed 1 "call=write nth=2 do=EIO" "${bulk[@]}" --backend pnetcdf --pnetcdf.method independent
        for nth in 1 3; do
            swallowed 1 "call=read nth=$nth do=EIO" "${bulk[@]}" --backend pnetcdf
            swallowed 1 "call=read nth=$nth do=short" "${bulk[@]}" --backend pnetcdf
        done
    fi
    for backend in mpiio pnetcdf hdf5 netcdf; do
        has_backend $backend || continue
        swallowed 0 "call=close nth=2 count=all do=EIO" "${stencil[@]}" every=1 --backend $backend
        one_line "close of .*: Input/output error: $backend reported success"
        # The last reads of a run that only reads are those of data.
        kept=(run bulk -n 2 --transfer 64k --block 256k --paths "$data/kept" --backend $backend --patience 2s "${here[@]}")
        expect 0 "$TUTTI" "${kept[@]}" --read no --keep
        expect 0 bash -c 'faulty "$@"' - "rank=1 match=$data/ call=read count=all do=delay:0" "$TUTTI" "${kept[@]}" --write no
        expect 1 bash -c 'faulty "$@"' - "rank=1 match=$data/ call=read nth=$(($(wc -l <hits) - 1)) do=EIO" \
            "$TUTTI" "${kept[@]}" --write no
        one_line "^tutti: rank 1: .*'$data/kept'.*"
        rm "$data/kept"
    done
    # A server calls a file absent and still lists it: the file was not removed, and rank 0 does it.
    expect 0 bash -c 'faulty "$@"' - "rank=1 call=unlink nth=1 count=all match=$data/ do=ENOENT" "$TUTTI" run stencil -n 2 \
        --size 48 --iterations 12 --write every=3,files=process --quiet "${here[@]}"
    [ -s hits ] || fail "no unlink was hit"
    no_data_left
    # What is made good is no failure.
    expect 0 bash -c 'faulty "$@"' - "match=$data/ call=write nth=2 count=3 do=short; match=$data/ call=read nth=2 do=EINTR" \
        "$TUTTI" "${bulk[@]}" --backend posix --check-read yes
fi

# A library that moves nothing at all, and no system call tells: in every way to write.
ways=("every=1,series=append --mode sync" "every=1,series=group --mode async" "every=1,series=file --mode async+bg"
    "every=3,files=process --mode sync+imm")
turn=0
for backend in posix uring mpiio pnetcdf hdf5 netcdf; do
    has_backend $backend || continue
    read -ra way <<<"${ways[turn++ % 4]}"
    nth=2
    [ "${way[0]}" != every=3,files=process ] || nth=1
    expect 1 "$TUTTI" "${stencil[@]}" "${way[@]}" --backend $backend --layers fault \
        --fault call=write,nth=$nth,rank=1,action=lose
    one_line "rank 1: $backend reported success, but (1 of [0-9]+ sampled blocks are wrong \(first|a sample cannot be read back): '$data/"
    jq -e '[.warnings[].text | select(test("^lost data: '$backend' "))] | length == 1' "$(last_run)/result.json" >/dev/null ||
        fail "the result does not name the library"
    expect 1 "$TUTTI" "${bulk[@]}" --backend $backend --layers fault --fault call=write,nth=3,rank=0,action=lose
    one_line "rank 0: $backend reported success, but 1 of 4 sampled blocks are wrong"
    expect 1 "$TUTTI" "${bulk[@]}" --backend $backend --layers fault --fault call=read,nth=3,rank=1,action=lose
    one_line "rank 1: read of '$data/.*: $backend reported success, but left memory as it was"
    no_data_left
done

# Where records are converted, the file's are looked at; and what a limit has ended is looked at, too.
if has_backend hdf5; then
    for layouts in "records arrays" "arrays records"; do
        expect 0 "$TUTTI" run particles -n 2 --dims 1000 --steps 2 --backend hdf5 --conversion library \
            --memory ${layouts% *} --file ${layouts#* } "${here[@]}"
    done
fi
expect 1 "$TUTTI" "${stencil[@]}" every=1 --iterations 100000000 --max-time 1s --layers fault \
    --fault call=write,rate=1,rank=1,action=lose
one_line "rank 1: posix reported success, but 1 of 1 sampled blocks are wrong"
no_data_left
