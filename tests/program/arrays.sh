# SPDX-License-Identifier: GPL-3.0-or-later
# Many small arrays: every backend, shape and order has every tile in its place; what is wrong is found and refused.
# processors: 1
# timeout: 400
. "$(dirname "$0")/lib.sh"
needs jq

arrays=("$TUTTI" run arrays --steps 3 --arrays 4 --rows 5 --columns 6 --quiet --json out.json "${here[@]}")
bytes=$((3 * 4 * 5 * 6 * 8))
moves() { # RANKS OPTIONS...
    local n=$1
    shift
    expect 0 "${arrays[@]}" -n "$n" "$@"
    equal "$(metric bytes_written)" $((n * bytes)) "$*: bytes written"
    equal "$(metric bytes_read)" $((n * bytes)) "$*: bytes read"
}
for backend in posix mmap mpiio uring hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    moves 2 --process-columns 2 --backend $backend --rank 2
    moves 2 --process-rows 2 --backend $backend --rank 3 --slowest array
    moves 1 --backend $backend --rank 4
done
moves 2 --process-rows 2 --backend posix --depth 4
no_data_left
jq -e '.tables.arrays | length == 7 and all(.[]; .min <= .max) and .[6].min == 5760 and .[0].max >= .[2].max and (map(.row) | unique | length == 7)' out.json >/dev/null ||
    fail "the table of times is not as documented"
moves 3 --backend posix # as many rows as there are ranks
usage 'process_rows times arrays.process_columns is 2, but there are 3 ranks' "${arrays[@]}" -n 3 --process-columns 2

# Tiles of one to four dimensions that grow, in blocks, shifted, written and read again and again.
tiles=("$TUTTI" run arrays -n 4 --steps 1 --arrays 2 --quiet --json out.json "${here[@]}")
for backend in posix mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    expect 0 "${tiles[@]}" --backend $backend --tile 2:3 --process-grid 2:2 --sizes 3 --growth 2:1 --repeats 2
    equal "$(metric bytes_read)" $((2 * 4 * 2 * 8 * 6 * (1 + 2 + 4))) "$backend: bytes of growing tiles"
    expect 0 "${tiles[@]}" --backend $backend --tile 4:1:2:3 --process-grid 1:2:1:2 --shift 3 --file-block 2:1:1:3 --file-stride 3:1:2:3 \
        --memory-block 6 --memory-stride 7 --attributes 3
    equal "$(metric bytes_read)" $((4 * 2 * 8 * 24)) "$backend: bytes of blocks"
    expect 0 "${tiles[@]}" --backend $backend --tile 4:1:2:3 --process-grid 1:2:1:2 --shift 3 --file-block 2:1:1:3 --file-stride 3:1:2:3 \
        --memory-block 6 --memory-stride 7 --records yes
    equal "$(metric bytes_read)" $((4 * 2 * (8 + 16) * 24)) "$backend: bytes of blocks with records"
done
jq -e '.tables.repeats | length == 1 and .[0].tile == 576' out.json >/dev/null || fail "the table of repeats is not as documented"
expect 1 "${tiles[@]}" --tile 9 --layers fault --fault.action flip --fault.nth 2 --fault.rank 1
usage 'product of arrays.process_grid is 32, but there are 4 ranks' "${tiles[@]}" --tile 8:8 --process-grid 8:4
usage 'file_block 3 does not tile 8 elements of dimension 2' "${tiles[@]}" --tile 9:8 --file-block 3:3
usage 'memory_block 5 does not divide a tile of 8 elements' "${tiles[@]}" --tile 8 --memory-block 5
usage 'none is 0' "${tiles[@]}" --tile 8:0
usage 'need arrays.tile' "${tiles[@]}" --attributes 3
usage 'need arrays.tile' "${tiles[@]}" --records yes
expect 0 "${tiles[@]}" --tile 9 --records yes --backend posix --depth 3
expect 1 "${tiles[@]}" --tile 9 --records yes --layers fault --fault.action flip --fault.nth 2 --fault.rank 1
one_line "array 0: record [0-9]* of rank 1's tile is [(]"
usage 'memory_stride or arrays.file_stride is too large' "${tiles[@]}" --tile 17179869184 --memory-block 1 --memory-stride 1073741824
no_data_left

# Tiles of 2 x 3 ranks, seen from outside: every value of a tile is its number.
if has_backend hdf5 && command -v h5dump >/dev/null; then
    kept=(--process-rows 2 --process-columns 3 --scaling strong --rows 4 --backend hdf5 --hdf5.method independent --keep)
    expect 0 "${arrays[@]}" -n 6 "${kept[@]}" --rank 2 --path a.h5
    equal "$(h5dump -y -w 0 -m '%g' -d '/step=2/array=1' "$data/a.h5" | grep '^ *[0-9, ]*$' | tr -d ' \n')" \
        54,54,55,55,56,56,54,54,55,55,56,56,57,57,58,58,59,59,57,57,58,58,59,59 "array 1 of step 2"
    expect 0 "${arrays[@]}" -n 6 "${kept[@]}" --rank 3 --slowest array --path b.h5
    h5dump -H -d /array=3 "$data/b.h5" | grep -q 'SIMPLE { ( 3, 4, 6 )' || fail "not a step in the first dimension"
    expect 0 "${arrays[@]}" -n 6 "${kept[@]}" --rank 4 --path c.h5
    h5dump -H -d /dataset "$data/c.h5" | grep -q 'SIMPLE { ( 3, 4, 4, 6 )' || fail "not one dataset for all"
    rm "$data"/[abc].h5
fi

# A flipped bit is found; a rank that fails takes the others along.
expect 1 "${arrays[@]}" -n 2 --process-rows 2 --layers fault --fault.action flip --fault.nth 5 --fault.rank 1
one_line "rank 1.*array .*of rank 1's tile is"
expect 1 "${arrays[@]}" -n 2 --process-rows 2 --backend mpiio --mpiio.method collective --layers fault --fault.nth 5 --fault.rank 1
one_line "rank 1"
no_data_left

usage "is 1, but there are 2 ranks" "${arrays[@]}" -n 2 --process-rows 1
usage "share evenly" "${arrays[@]}" -n 2 --process-rows 2 --scaling strong
usage "more than a million" "${arrays[@]}" --rank 2 --steps 10000 --arrays 10000
