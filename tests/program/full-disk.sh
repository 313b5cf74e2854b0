# SPDX-License-Identifier: GPL-3.0-or-later
# A disk that is too small for the run, or is filled up by somebody else while it runs.
# timeout: 240
. "$(dirname "$0")/lib.sh"
private_mounts "$@"
mount -t tmpfs -o size=4m tmpfs "$data"

# Known before: one dump of 8 MiB does not fit into 4 MiB.
expect 1 "$TUTTI" run stencil -n 2 --size 1024 --iterations 10 --write every=5 "${here[@]}"
one_line "(No space left|fit|free|min-free)"
no_data_left
# Every dump fits by itself, but the neighbour has taken the place when it comes to it: the limits
# are switched off by the sparse file, whose space is only taken when it is written.
for backend in posix mpiio hdf5; do
    "$TUTTI" list backends | grep -qw $backend || continue
    for mode in sync+imm async; do
        (
            while [ -z "$(find "$data" -type f -size +1k)" ]; do sleep 0.01; done
            dd if=/dev/zero of="$data/neighbour" bs=64k status=none 2>/dev/null || true
        ) &
        filler=$!
        expect 1 "$TUTTI" run stencil -n 2 --size 128 --iterations 100000000 --backend $backend --mode $mode \
            --write every=5,series=append "${here[@]}"
        one_line "rank [01].*(No space left on device|write|H5)|min-free"
        wait $filler
        rm -f "$data/neighbour"
        no_data_left
    done
done
