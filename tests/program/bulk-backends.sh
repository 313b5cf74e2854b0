# SPDX-License-Identifier: GPL-3.0-or-later
# The same transfers on every backend, alone, in a shared file and in a file each.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

bulk=("$TUTTI" run bulk --quiet "${here[@]}" --block 32k --transfer 8k --segments 3 --json out.json)
checked=(--check-write yes --check-read yes)
column() { jq ".tables.accesses[$1] | [.[]] | .[$2] * 1" out.json; } # ROW COLUMN, see src/workloads/bulk/bulk.h
independent() { # BACKEND: options with which ranks do not wait for each other
    case $1 in
    posix | mmap | uring) ;;
    *) echo "--$1.method" independent ;;
    esac
}

# One rank, a shared file, a file each; by other ranks than those that wrote it.
for backend in posix mmap uring mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    # shellcheck disable=SC2046 # words
    expect 0 "${bulk[@]}" "${checked[@]}" -n 5 --backend $backend --order random $(independent $backend)
    equal "$(jq -c '[.tables.accesses[].access * 1]' out.json)" '[0,1,2]' "what was done"
    expect 0 "${bulk[@]}" "${checked[@]}" -n 2 --backend $backend --files process --reorder permutation
    equal "$(metric bytes_written)" $((2 * 98304)) "bytes written"
    equal "$(column 0 3)" 24 "transfers"
    expect 0 "${bulk[@]}" "${checked[@]}" --backend $backend
    no_data_left
done
