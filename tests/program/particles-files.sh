# SPDX-License-Identifier: GPL-3.0-or-later
# The particles workload on all backends: every layout, every way to read, and changing a file that is there.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

options=(--quiet --seed 5 --steps 3 --json out.json "${here[@]}")
particles=("$TUTTI" run particles -n 2 "${options[@]}")
backends=(posix mpiio)
! has_backend hdf5 || backends+=(hdf5)

# Memory and file, each in two layouts, on 1, 2 and 5 ranks; reading back checks every byte.
for backend in "${backends[@]}"; do
    for layouts in "arrays arrays 1" "arrays records 2" "records arrays 5" "records records 2"; do
        read -r memory file n <<<"$layouts"
        expect 0 "$TUTTI" run particles -n "$n" "${options[@]}" --backend "$backend" --dims 1003 --phase both \
            --memory "$memory" --file "$file"
        equal "$(metric bytes_written)" $((n * 1003 * 32 * 3))
        equal "$(metric bytes_read)" $((n * 1003 * 32 * 3)) # what is checked afterwards does not count
    done
done
for backend in uring netcdf pnetcdf; do
    if has_backend $backend; then
        expect 0 "${particles[@]}" --backend $backend --dims 11:3 --phase both --memory records --file arrays
        expect 0 "${particles[@]}" --backend $backend --dims 11:3 --phase both --memory arrays --file records
    fi
done
no_data_left

other=${backends[-1]}
# What is read: bytes of three steps.
reads() { # BYTES OPTIONS...
    local bytes=$1
    shift
    expect 0 "${particles[@]}" --phase both "$@"
    equal "$(metric bytes_read)" $((3 * 32 * bytes)) "$*: bytes read"
}
reads 14 --backend posix --dims 100 --read partial --read-count 7
reads 60 --backend "$other" --dims 100 --pattern strided --read strided --stride 10 --block 3 --count 10
reads 40 --backend "$other" --dims 20:30 --read plane --plane-dimension 2 --plane-index 29
reads 12 --backend posix --dims 20:30 --read ldc --block 2:3
reads 48 --backend "$other" --dims 20:30 --read rdc --block 4:6 --memory records
reads 264 --backend posix --dims 20:30 --read prl --block 3:3 --memory records
reads 45 --backend "$other" --dims 20:30 --read cs --block 3:3 --stride 4:2
reads 3000 --backend mpiio --dims 10:10:15 --files process
# Ranks that have different numbers of particles: their true sum.
expect 0 "${particles[@]}" --phase both --dims 1000 --deviation 300
holds '$b % 32 == 0 and $b != 192000' b="$(metric bytes_written)"

# The next step is read while computing; writes in flight are bounded by their bytes.
expect 0 "${particles[@]}" --phase both --dims 1000 --mode async --prefetch yes --compute 5ms --memory records
expect 0 "${particles[@]}" --dims 1000 --mode async --inflight 3 --memory-limit 64k --compute 2ms \
    --baseline 2 --steps 5
jq -e '.metrics.compute_only.value > 0' out.json >/dev/null || fail "computation was not measured"

# h5bench's figures: raw, metadata, observed, computation; of writing and of reading.
expect 0 "${particles[@]}" --phase both --dims 1000 --pause 2ms --backend "$other"
jq -e '.tables.h5bench | map(.row) == ["write", "read"] and
    all(.[]; .raw > 0 and .metadata >= 0 and .observed > .raw + .computation and .computation >= 0.004)' \
    out.json >/dev/null || fail "h5bench's figures: $(jq -c .tables.h5bench out.json)"

# In an ensemble it is played until told to stop.
expect 0 "${particles[@]}" --dims 1000 --phase both
iterations_wanted=20 perform_endlessly 2 "$(last_run)"
no_data_left

# A kept file is read by other ranks; overwritten with another seed; only what tutti made is changed.
for backend in "${backends[@]}"; do
    at=(--backend "$backend" --path kept)
    expect 0 "${particles[@]}" "${at[@]}" --dims 50:4 --keep
    expect 0 "$TUTTI" run particles -n 5 "${options[@]}" "${at[@]}" --dims 20:4 --phase read
    expect 1 "${particles[@]}" "${at[@]}" --dims 50:4 --phase read --seed 6
    one_line "step 0, particle 0: x is not what was written with this seed"
    expect 0 "${particles[@]}" "${at[@]}" --dims 50:4 --phase overwrite --seed 6
    expect 0 "${particles[@]}" "${at[@]}" --dims 50:4 --phase read --seed 6
    if getfattr -n user.tutti.run "$data/kept" >/dev/null 2>&1; then
        setfattr -x user.tutti.run "$data/kept"
        expect 1 "${particles[@]}" "${at[@]}" --dims 50:4 --phase overwrite
        one_line "does not look like a file that tutti made"
    fi
    rm "$data/kept"
done

has_backend hdf5 || exit 0
# HDF5's own conversion, in the caller and in the background.
for mode in sync async; do
    for layouts in "arrays records" "records arrays"; do
        read -r memory file <<<"$layouts"
        expect 0 "${particles[@]}" --backend hdf5 --dims 3001 --phase both --mode $mode --conversion library \
            --memory "$memory" --file "$file" --baseline 0
        equal "$(metric bytes_written)" $((2 * 3001 * 32 * 3))
    done
done
expect 0 "${particles[@]}" --backend hdf5 --dims 20:30 --phase both --conversion library --memory arrays \
    --file records --read prl --block 3:3

# Datasets of three steps are closed two steps late, so all of them at the end.
late() { # OPTIONS...
    expect 0 "${particles[@]}" --backend hdf5 --dims 100 --hdf5.delayed-close 2 "$@"
    equal "$(jq -r '.facts[] | select(.key == "hdf5.delayed_close") | .read_back' out.json)" "24 datasets open at the end" "$*"
}
late --inflight 3 --mode async
late --path late --unlimited yes --keep
for phase in read overwrite append; do
    late --path late --unlimited yes --phase $phase
done
rm "$data/late"

# A rank's own file has h5bench's name for it.
mkdir "$data/own"
own=(--backend hdf5 --dims 100 --files process --path own/x.h5)
expect 0 "${particles[@]}" "${own[@]}" --keep
equal "$(ls "$data/own" | tr '\n' ' ')" "rank_0_x.h5 rank_1_x.h5 " "files of processes"
expect 0 "${particles[@]}" "${own[@]}" --phase read
rm -r "$data/own"

# Appended twice; every part is still there.
at=(--backend hdf5 --path kept --dims 100)
expect 0 "${particles[@]}" "${at[@]}" --keep --unlimited yes --hdf5.filter deflate:9
jq -e '.facts[] | select(.key == "hdf5.filter.deflate") | .proof == "in effect"' out.json >/dev/null ||
    fail "compression is not told"
expect 0 "${particles[@]}" "${at[@]}" --phase append
expect 0 "${particles[@]}" "${at[@]}" --phase append --appended 1
for part in 0 1 2; do
    expect 0 "${particles[@]}" "${at[@]}" --phase read --unlimited yes --appended $part
done
if command -v h5dump >/dev/null; then
    h5dump -p -H -d /Timestep_2/id_1 "$data/kept" >dump
    grep -q 'SIMPLE { ( 600 ) / ( H5S_UNLIMITED ) }' dump || fail "the dataset did not grow"
    grep -q 'DEFLATE { LEVEL 9 }' dump || fail "nothing is compressed"
    rm "$data/kept"
    expect 0 "${particles[@]}" --backend hdf5 --path kept --keep --dims 6:5
    h5dump -H "$data/kept" >dump
    equal "$(grep -c 'GROUP "Timestep_[0-2]"' dump)" 3
    for name in x y z px py pz id_1 id_2; do
        equal "$(grep -c "DATASET \"$name\"" dump)" 3 "datasets $name"
    done
    equal "$(grep -c 'SIMPLE { ( 12, 5 ) / ( 12, 5 ) }' dump)" 24 "shapes"
    equal "$(grep -c H5T_IEEE_F32LE dump) $(grep -c H5T_STD_I32LE dump)" "21 3" "types"
    h5dump -y -w 0 -d /Timestep_1/id_1 "$data/kept" | grep -qF '7, 7, 7, 7, 7' || fail "rows are not numbered"
fi
rm "$data/kept"
expect 0 "${particles[@]}" --backend hdf5 --path kept --keep --dims 10 --file records
if command -v h5dump >/dev/null; then
    h5dump -H -d /Timestep_0/particles "$data/kept" >dump
    equal "$(grep -oE '"(x|y|z|px|py|pz|id_1|id_2)"' dump | tr -d '\n')" '"x""y""z""px""py""pz""id_1""id_2"' "fields"
fi
expect 1 "${particles[@]}" --backend hdf5 --path kept --dims 10 --file records --phase append
one_line "cannot grow, for it was not written as unlimited"
rm "$data/kept"
no_data_left
