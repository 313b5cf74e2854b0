# SPDX-License-Identifier: GPL-3.0-or-later
# The preloaded library that makes calls fail does what its header says, and its log tells of each hit.
# processors: 1
. "$(dirname "$0")/lib.sh"
export -f faulty
export FAULTS work
rank=(env OMPI_COMM_WORLD_RANK=1)
hits() { if [ -e hits ]; then wc -l <hits; else echo 0; fi; }
head -c 1000 /dev/zero >ones

# hit NUMBER STATUS FAULT COMMAND...
hit() {
    local number=$1 status=$2 fault=$3
    shift 3
    expect "$status" bash -c 'faulty "$@"' - "$fault" "$@"
    equal "$number" "$(hits)" "hits of $fault"
}
hit 1 1 "rank=1 call=open match=ones do=EMFILE" "${rank[@]}" cat ones
one_line 'Too many open files'
hit 0 0 "rank=2 call=open match=ones do=EMFILE" "${rank[@]}" cat ones
hit 0 0 "rank=driver call=open match=ones do=EMFILE" "${rank[@]}" cat ones
hit 1 1 "rank=launcher call=open match=ones do=EMFILE" cat ones
hit 0 0 "rank=* call=open match=others do=EMFILE" "${rank[@]}" cat ones
hit 1 1 "rank=* call=read match=ones nth=2 do=EIO" "${rank[@]}" dd if=ones of=copy bs=10 count=5
equal 10 "$(stat -c %s copy)" "bytes before the second read"
hit 2 0 "rank=* call=write match=copy do=short; call=write match=copy nth=3 do=EINTR" \
    "${rank[@]}" dd if=ones of=copy bs=500 count=2
equal 1000 "$(stat -c %s copy)" "bytes in spite of a short and an interrupted write"
hit 1 1 "rank=1 call=unlink do=EBUSY" "${rank[@]}" rm ones
hit 1 1 "rank=1 call=rename do=EXDEV" "${rank[@]}" ln ones twos
hit 1 1 "rank=1 call=mkdir do=EDQUOT" "${rank[@]}" mkdir new
hit 1 1 "rank=1 call=fsync do=EIO" "${rank[@]}" sync ones
hit 1 1 "rank=1 call=ftruncate do=EFBIG" "${rank[@]}" truncate -s 10 ones
hit 1 1 "rank=1 call=stat match=ones do=ESTALE" "${rank[@]}" stat ones
hit 1 137 "rank=1 call=open match=ones do=kill" "${rank[@]}" cat ones
hit 1 0 "rank=1 call=open match=ones do=stop" "${rank[@]}" bash -c 'cat ones & until grep -q State:.T /proc/$!/status; do :; done; kill -CONT $!; wait $!'
hit 2 0 "rank=1 call=read match=ones nth=1 count=2 do=delay:0.1" "${rank[@]}" dd if=ones of=copy
hit 0 99 "rank=1 call=nothing do=EIO" true
one_line "wrong word 'call=nothing'"

# Every backend's transfers are met, whichever calls its library makes.
for backend in posix uring mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    hit 1 0 "rank=1 call=write match=$data do=delay:0" "$TUTTI" run stencil -n 2 --size 32 --iterations 4 \
        --write every=2 --backend $backend "${here[@]}"
    no_data_left
done
if has_backend uring; then
    hit 1 1 "rank=1 call=write match=$data do=EDQUOT" "$TUTTI" run stencil -n 2 --size 32 --iterations 4 \
        --write every=2 --backend uring "${here[@]}"
    one_line 'rank 1.*Disk quota exceeded'
    hit 1 0 "rank=1 call=write match=$data do=short" "$TUTTI" run stencil -n 2 --size 32 --iterations 4 \
        --write every=2 --backend uring --layers verify "${here[@]}"
fi
