# SPDX-License-Identifier: GPL-3.0-or-later
# What a transfer costs in calls of MPI: as many as the program that it is compared with makes, and no more.
# processors: 1
# timeout: 120
. "$(dirname "$0")/lib.sh"
[ -n "${MPI_CALLS:-}" ] || skip "a preloaded library does not go with the sanitizers"

counted() { # COMMAND...: with $work/calls
    rm -f "$work/calls"
    expect 0 env LD_PRELOAD="$MPI_CALLS" TUTTI_MPI_CALLS="$work/calls" "$@"
}
count() { awk -v name="$1" '$1 == name { print $2 }' "$work/calls"; }
ior=("${ranks[@]}" 2 "$TUTTI" ior --results "$runs" --min-free 0 -o "$data/x" -a MPIIO -t 16k -b 16k)
grows() { # NAME OPTIONS...: calls of 65 transfers less those of one
    local name=$1 few
    shift
    counted "${ior[@]}" "$@" -s 1
    few=$(count "$name")
    counted "${ior[@]}" "$@" -s 65
    echo $(($(count "$name") - few))
}

# One collective call per transfer, but for the agreement on how it goes on, every 64 of them or so.
equal "$(grows File_write_at_all -c -w)" 64 "collective writes"
holds '$n <= 4' n="$(grows Allreduce -c -w)"
equal "$(grows File_read_at_all -c -w -r)" 64 "collective reads"
holds '$n <= 8' n="$(grows Allreduce -c -w -r)"
# The size of a file is asked for once, not before each read.
equal "$(grows File_read_at -w -r)" 64 "independent reads"
equal "$(grows File_get_size -w -r)" 0 "questions for the size"

# Only overlap calls MPI from two threads; a synchronous run pays for no locks.
for mode in sync:funneled async:multiple; do
    counted "${ranks[@]}" 2 "$TUTTI" run stencil "${here[@]}" --quiet --size 64 --iterations 4 --write every=2 --mode "${mode%:*}"
    equal "$(count level)" "${mode#*:}" "level of threads"
done

# HDF5 syncs a file only if somebody asks for it: not before it is closed.
if has_backend hdf5; then
    hdf5=("${ranks[@]}" 2 "$TUTTI" run stencil "${here[@]}" --quiet --size 64 --iterations 4 --write every=2 --backend hdf5)
    counted "${hdf5[@]}" --sync never
    equal "$(count File_sync)" 0 "syncs that nobody asked for"
    counted "${hdf5[@]}" --sync close
    holds '$n >= 1' n="$(count File_sync)"
fi
no_data_left
