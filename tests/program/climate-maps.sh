# SPDX-License-Identifier: GPL-3.0-or-later
# Decompositions of a real run, here of three processes: any number of ranks shares them, and the file is the same. What cannot
# be right is told with its place.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq cmp ncgen

climate=("$TUTTI" run climate --quiet "${here[@]}" --records 2 --json out.json)
kept() { # NAME OPTION...: files that stay
    local name=$1
    shift
    expect 0 "${climate[@]}" --keep --path "$data/$name" "$@"
}
same() { cmp "$data/$1" "$data/$2" || fail "the files $1 and $2 differ"; }

map() { # FILE KIND [SED]
    sed -e "${3:-}" >map.cdl <<'END_OF_FILE'
netcdf map_f_case_3p {
dimensions:
    num_decomp = 3 ; decomp_nprocs = 3 ; D1.total_nreqs = 4 ; D2.total_nreqs = 6 ; D3.total_nreqs = 11 ;
variables:
    int D1.nreqs(decomp_nprocs) ; int D1.fill_starts(decomp_nprocs) ; int D1.offsets(D1.total_nreqs) ; int D1.lengths(D1.total_nreqs) ;
        D1.lengths:max = 2 ;
    int D2.nreqs(decomp_nprocs) ; int D2.fill_starts(decomp_nprocs) ; int D2.offsets(D2.total_nreqs) ; int D2.lengths(D2.total_nreqs) ;
    int D3.nreqs(decomp_nprocs) ; int D3.fill_starts(decomp_nprocs) ; int D3.offsets(D3.total_nreqs) ; int D3.lengths(D3.total_nreqs) ;
    :command_line = "odd" ; :D1.ndims = 1 ; :D1.dims = 6 ; :D2.dims = 6 ; :D3.dims = 2, 6 ;
data:
    D1.nreqs = 1, 2, 1 ; D1.fill_starts = 1, 2, 1 ; D1.offsets = 2, 5, 0, 4 ; D1.lengths = 2, 1, 2, 1 ;
    D2.nreqs = 2, 2, 2 ; D2.fill_starts = 2, 2, 2 ; D2.offsets = 3, 0, 1, 4, 5, 2 ; D2.lengths = 1, 1, 1, 1, 1, 1 ;
    D3.nreqs = 4, 4, 3 ; D3.fill_starts = 4, 4, 3 ; D3.offsets = 3, 0, 9, 6, 1, 4, 7, 10, 5, 2, 8 ; D3.lengths = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 ;
}
END_OF_FILE
    ncgen -k "$2" -o "$1" map.cdl
}
tiles='s/D3.total_nreqs = 11/D3.total_nreqs = 12/; s/D3.nreqs = 4, 4, 3 ; D3.fill_starts = 4, 4, 3/D3.nreqs = 4, 4, 4 ; D3.fill_starts = 4, 4, 4/
    s/5, 2, 8 ; D3.lengths = 1,/5, 2, 8, 11 ; D3.lengths = 1, 1,/'
for kind in classic 64-bit-offset cdf5; do map $kind.nc $kind "$tiles"; done
kept made -n 2 --columns 6 --levels 2
for n in 2 5; do
    kept mapped -n $n --map cdf5.nc --phase both --sorted no
    same made_h0 mapped_h0
    same made_h1 mapped_h1
    # Fixed variables of two files, the record of h0 and two of h1; 12 and 15 variables are of rank 0 alone.
    equal "$(metric requests)" $((2 * (4 + 2 * 6 + 12) + 15 + 321 * 6 + 63 * 12 + 2 * (15 + 20 * 6 + 12))) "requests of the map"
    rm "$data"/mapped*
done
for kind in classic 64-bit-offset; do
    kept mapped -n 2 --map $kind.nc --layout blob
    rm "$data"/mapped*
done
rm "$data"/made*
# h5bench puts the directory of the data before the path of a map, even if it is not there yet; else the path is as it stands.
if has_backend hdf5; then
    mkdir -p datasets
    cp cdf5.nc datasets/map_f_case_3p.nc
    for map in ../../datasets/map_f_case_3p.h5 .././..//datasets/map_f_case_3p.nc datasets/map_f_case_3p.h5 "$work/datasets/map_f_case_3p.nc"; do
        printf '{"mpi": {"command": "mpirun", "ranks": "2"}, "vol": {}, "file-system": {}, "directory": "%s", "benchmarks": [{"benchmark":
            "e3sm", "file": "e.h5", "configuration": {"map": "%s"}}]}' "$data/none" "$map" >job.json
        expect 0 "$TUTTI" h5bench job.json --results "$runs" --min-free 0 --json all.json
        equal "$(jq -r '.benchmarks[0].result.plan.parameters["climate.map"]' all.json)" "$(realpath datasets)/map_f_case_3p.nc" "the map"
    done
fi
bad_map() { # STATUS PATTERN OPTION...
    expect "$1" "${climate[@]}" -n 2 "${@:3}"
    one_line "$2"
}
map holes.nc cdf5
bad_map 1 "D3 of 'holes.nc' does not tile its array: its requests have 11 of 12 elements" --map holes.nc
map twice.nc cdf5 "$tiles; s/D2.offsets = 3,/D2.offsets = 4,/"
bad_map 1 "D2 of 'twice.nc' does not tile its array: some requests overlap" --map twice.nc
map pairs.nc cdf5 "$tiles; s/D1.offsets = 2, 5, 0, 4/D1.offsets = 2, 5, 2, 0/" # as many elements, and the same sum of places
bad_map 1 "D1 of 'pairs.nc' does not tile its array: some requests overlap" --map pairs.nc
map outside.nc cdf5 "$tiles; s/D2.offsets = 3,/D2.offsets = 6,/"
bad_map 1 "'outside.nc': request 0 of D2, elements 6 to 7, is not in its array of 6" --map outside.nc
map few.nc cdf5 "$tiles; s/D1.nreqs = 1, 2, 1/D1.nreqs = 1, 2, 2/"
bad_map 1 "'few.nc': D1.offsets has 4 numbers, which are too few" --map few.nc
head -c 500 cdf5.nc >short.nc
bad_map 1 "'short.nc' is not a classic NetCDF file" --map short.nc
head -c $(($(stat -c %s cdf5.nc) - 8)) cdf5.nc >shorter.nc
bad_map 1 "'shorter.nc' is cut short: D3.lengths is not all there" --map shorter.nc
bad_map 1 "'map.cdl' is not a classic NetCDF file" --map map.cdl
bad_map 2 "'cdf5.nc' has 3 decompositions, but case G has 6; give climate.case the case of the file" --map cdf5.nc --case G
map dims.nc cdf5 "$tiles; s/D2.dims = 6/D2.dims = 7/"
bad_map 2 "climate.levels=5: climate.map says the sizes" --map cdf5.nc --columns 866 --levels 5
bad_map 2 "in 'dims.nc' D2.dims is not what the case and the other maps make of it" --map dims.nc
map huge.nc cdf5 "$tiles; s/dims = 6/dims = 1048576/g; s/dims = 2, 6/dims = 1048576, 1048576/"
bad_map 2 "the mesh times its levels and records is too large" --map huge.nc --records 1000000

# The land of case I leaves holes. Requests that only fill them show whether it overlaps, also where they are not made; so does
# looking at all of them where there are none.
land() { # FILE REQUESTS THAT DO NOT FILL START OF THE LAST ONE, OF 100 [LENGTH [PROCESSES]]
    local processes=${5:-1}
    {
        echo "netcdf land { dimensions: num_decomp = 5 ; decomp_nprocs = $processes ; n = 2 ; variables:"
        for k in 1 2 3 4 5; do echo "int D$k.nreqs(decomp_nprocs) ; int D$k.fill_starts(decomp_nprocs) ; int D$k.offsets(n) ; int D$k.lengths(n) ;"; done
        echo ':D1.dims = 2, 50 ; :D2.dims = 15, 2, 50 ; :D3.dims = 10, 2, 50 ; :D4.dims = 9, 2, 50 ; :D5.dims = 17, 2, 50 ; data:'
        k=0
        for levels in 1 15 10 9 17; do
            k=$((k + 1))
            if [ $processes = 2 ]; then echo "D$k.nreqs = 1, 1 ; D$k.fill_starts = 1, 1 ;"; else echo "D$k.nreqs = 2 ; D$k.fill_starts = $2 ;"; fi
            echo "D$k.offsets = 0, $(($3 * levels)) ; D$k.lengths = $((40 * levels)), $((${4:-60} * levels)) ;"
        done
        echo '}'
    } >land.cdl
    ncgen -k cdf5 -o "$1" land.cdl
}
land land.nc 1 40
expect 0 "${climate[@]}" -n 2 --case I --files h1 --records 5 --map land.nc
land lakes.nc 1 39
bad_map 1 "D1 of 'lakes.nc' does not tile its array: some requests overlap" --case I --map lakes.nc
for processes in 1 2; do
    land islands.nc 2 50 40 $processes
    expect 0 "${climate[@]}" -n 2 --case I --files h1 --records 5 --map islands.nc
    equal "$(jq -r '.facts[] | select(.key == "climate.map") | .read_back' out.json)" "latitudes 2, longitudes 50" "sizes of the map"
    cp "$(last_run)/plan.json" plan.json
    land flood.nc 2 10 40 $processes
    bad_map 1 "D1 of 'flood.nc' does not tile its array: some requests overlap" --case I --map flood.nc
done
bad_map 1 "D1 of 'flood.nc' does not tile its array: some requests overlap" --case I --map flood.nc --dry-run
for n in 64 65 300; do # of any number of ranks
    bad_map 1 "D1 of 'flood.nc' does not tile its array: some requests overlap" --case I --map flood.nc --dry-run -n $n
done
bad_map 1 "open of 'none.nc': No such file" --map none.nc --dry-run
# The driver looks at the requests of some where ranks are many; the ranks look themselves.
mkdir -p 20260101T000000Z-0000e0d2/records
sed 's/islands.nc/flood.nc/' plan.json >20260101T000000Z-0000e0d2/plan.json
touch 20260101T000000Z-0000e0d2/{manifest,ready,go}
expect 1 "${ranks[@]}" 2 "$TUTTI" perform "$work/20260101T000000Z-0000e0d2"
grep -q "D1 of 'flood.nc' does not tile its array: some requests overlap" 20260101T000000Z-0000e0d2/outcome.json ||
    fail "the ranks do not notice: $(cat err)"
no_data_left
