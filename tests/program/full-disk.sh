# SPDX-License-Identifier: GPL-3.0-or-later
# A disk that is too small for the run, or is filled up by somebody else while it runs.
# processors: 1
# timeout: 240
. "$(dirname "$0")/lib.sh"
private_mounts "$@"
mount -t tmpfs -o size=4m tmpfs "$data"
on_exit+=("umount $data")

# Known before: one dump of 8 MiB does not fit into 4 MiB.
expect 1 "$TUTTI" run stencil -n 2 --size 1024 --iterations 10 --write every=5 "${here[@]}"
one_line "(No space left|fit|free|min-free)"
no_data_left

backends=(posix mmap mpiio)
for backend in uring hdf5 netcdf pnetcdf; do
    ! has_backend $backend || backends+=($backend)
done

# While it runs: somebody else takes the space between two dumps. The throttle gives them time to.
fill_after_first_dump() {
    local i
    for ((i = 0; i < 3000; i++)); do
        [ -z "$(find "$data" -type f -size +1k)" ] || break
        sleep 0.01
    done
    dd if=/dev/zero of="$data/neighbour" bs=64k status=none 2>/dev/null || true
}
for backend in "${backends[@]}"; do
    for mode in sync+imm async; do
        fill_after_first_dump &
        expect 1 "$TUTTI" run stencil -n 2 --size 128 --iterations 100 --backend $backend --mode $mode \
            --write every=5,series=append --layers throttle --throttle.rate 1m "${here[@]}"
        # A write that finds a part of its space is short, and no error: a library may not try the rest.
        one_line "(No space left on device|min-free|do not fit|bytes are missing)"
        wait
        rm -f "$data/neighbour"
        no_data_left
    done
done

# A mapped file that somebody cuts is no full disk.
(while [ ! -e "$work/cut" ]; do
    find "$data" -type f -size +1k -exec truncate -s 0 {} + 2>/dev/null || true
    sleep 0.05
done) &
expect 1 "$TUTTI" run bulk --block 256k --transfer 8k --read no --repetitions 100 --backend mmap \
    --layers throttle --throttle.rate 1m "${here[@]}"
touch "$work/cut"
wait
one_line "ends at offset [0-9]+: somebody cut it while it was mapped"
no_data_left

# In the write call itself: the payload fits exactly, but five files that end inside a page, or
# the format's own metadata, do not.
umount "$data"
mount -t tmpfs -o size=1m tmpfs "$data"
for backend in "${backends[@]}"; do
    for mode in sync+imm async+bg; do
        expect 1 "$TUTTI" run stencil -n 5 --size 362 --iterations 4 --backend $backend --mode $mode \
            --write every=2,files=process "${here[@]}"
        one_line "(rank [0-4]: |min-free|do not fit)" # netcdf takes its share when the file is made
        no_data_left
    done
done

# What is written over needs no new room: every dump but the first.
expect 0 "$TUTTI" run stencil -n 2 --size 300 --iterations 8 --write every=2 "${here[@]}"
no_data_left

# Nor do particles that are written over in a file that is there.
if has_backend hdf5; then
    particles=("$TUTTI" run particles -n 2 --dims 8000 --steps 1 --backend hdf5 --path kept --dir "$data" --results "$runs")
    expect 0 "${particles[@]}" --keep --min-free 0
    expect 0 "${particles[@]}" --phase overwrite --min-free 40%
    rm "$data/kept"
fi
