# SPDX-License-Identifier: GPL-3.0-or-later
# Frames on every backend, by 1, 2 and 5 ranks, in one file and in several, read back with every byte compared.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

for backend in posix uring mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    for way in 1=single 2=file+open 5=single; do
        expect 0 "$TUTTI" run frames --quiet "${here[@]}" -n ${way%=*} --edge 6 --element vector --decomposition 3d --frames 4 \
            --style ${way#*=} --read yes --backend $backend --json out.json
        equal "$(metric bytes_read)" "$(metric bytes_written)" "bytes read and written on $backend"
        equal "$(jq -c '[.tables.frames[] | [.access * 1, .frame * 1, .counted * 1]]' out.json)" \
            '[[0,1,0],[0,2,1],[0,3,1],[0,4,1],[1,1,0],[1,2,1],[1,3,1],[1,4,1]]' "accesses, frames, whether they count"
    done
done
no_data_left
