# SPDX-License-Identifier: GPL-3.0-or-later
# The openpmd workload: every encoding on every backend, every way to read, and files that follow the standard, as a script
# sees them that knows h5dump and not tutti.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

small=(--min-block 4:3:2 --grid 4:2:2 --steps 6)
cells=$((16 * 24)) step=$((16 * 24 * 10 * 8))
openpmd() { # STATUS RANKS OPTIONS...
    expect "$1" "$TUTTI" run openpmd -n "$2" --quiet --json out.json "${here[@]}" "${small[@]}" "${@:3}"
}
# Steps 0 and 5 of six are read.
backends=(mpiio uring hdf5 netcdf pnetcdf)
encodings=(group variable file variable group)
openpmd 0 2 --phase both --mode async --baseline 0 --backend posix
equal "$(metric bytes_written)" $((6 * step)) "bytes written"
equal "$(metric bytes_read)" $((2 * cells * 8)) "bytes read"
for i in 0 1 2 3 4; do
    has_backend "${backends[i]}" || continue
    openpmd 0 2 --phase both --backend "${backends[i]}" --encoding "${encodings[i]}" --layers verify --read full --meshes all
    equal "$(metric bytes_written)" $((6 * step)) "bytes written"
    equal "$(metric bytes_read)" $((2 * cells * 7 * 8)) "bytes read"
done
no_data_left

# Computation counts once: the phases of no iteration add up to more than it took.
openpmd 0 2 --compute 400
jq -e '.samples | (.columns | [index("compute_ns", "other_ns", "span_ns")]) as [$c, $o, $s] |
    all(.ranks[].rows[]; (.[$c:$o] | add) <= .[$s])' out.json >why || fail "phases are longer than their iteration"

# What is read, in doubles of one step by all ranks; a dry run says the same beforehand.
reads() { # DOUBLES RANKS OPTIONS...
    openpmd 0 "$2" --phase read "${@:3}" "${kept[@]}"
    equal "$(metric bytes_read)" $((2 * $1 * 8)) "${*:3}: bytes read"
    expect 0 "$TUTTI" run openpmd -n "$2" --dry-run "${here[@]}" "${small[@]}" --phase read "${@:3}" "${kept[@]}"
    equal "$(awk '$1 == "reads" { print $2 * ($3 == "KiB" ? 1024 : 1) }' out)" $((2 * $1 * 8)) "${*:3}: bytes of a dry run"
}
kept=(--backend posix --encoding group --path kept)
openpmd 0 4 --balanced no --keep --rank-blocks no "${kept[@]}" # rank 0 is idle in step 1, and rank 1 writes for it
equal "$(stat -c %s "$data/kept")" $((6 * step)) "size of the file"
reads 0 2 --read metadata
reads $((2 * 6 * 4)) 2 --read sx
reads $((4 * 16 * 6 * 3)) 4 --read fz
reads $((2 * 8 * 3 * 2 * 3)) 4 --read block --block-divide 2 --block-along y --meshes E # two of the four ranks
reads $((8 * 3 * 2)) 4 --read block --block-divide 2 --block-along one --block-place last
reads $((cells * 3)) 8 --read full --meshes B --read-grid 2:2:2
reads $cells 1 --read ids
# A number that is not what it ought to be: in rho of step 5, the last one.
printf '\xff' | dd of="$data/kept" bs=1 conv=notrunc status=none seek=$((5 * step + 7 * cells * 8 - 1))
openpmd 1 2 --phase read --read full "${kept[@]}"
one_line "rank 1: step 5: fields/rho is not what was written with these keys"
openpmd 0 2 --phase read --read full --meshes B "${kept[@]}"
rm "$data/kept"

# The sizes of the original: 64 x 64 x 32 x 32 cells of 80 bytes a rank.
expect 0 "$TUTTI" run openpmd -n 2 --steps 2 --dry-run "${here[@]}"
grep -q 'writes *1.25 GiB in 2 dumps, .* in 2 files' out || fail "the dry run says: $(cat out)"
usage "cannot be shared equally by 3 ranks" "$TUTTI" run openpmd -n 3 "${here[@]}" "${small[@]}"
said() { # LINE OPTION...
    expect 0 "$TUTTI" run openpmd --phase both --dry-run "${here[@]}" --min-block 4:4:4 --grid 2:2:4 "${@:2}"
    equal "$(sed -n 's/^pieces *//p' out)" "$1" "${*:2}"
}
said "2 blocks of 2 x 2 x 5 cells, one for a rank; what is left over is not read" -n 2 --read block --block-divide 3
said "2 blocks of 4 x 4 x 8 cells, one for a rank" -n 4 --read block --block-divide 2
said "" -n 2 --read block --block-divide 2
said "8 planes for 16 ranks: some read the same one" -n 16 --read sx
said "" -n 8 --read sx
usage "openpmd.read has no effect with openpmd.phase=write: leave it out" "$TUTTI" run openpmd "${here[@]}" --read sx
usage "openpmd.read_every has no effect with openpmd.phase=write" "$TUTTI" run openpmd "${here[@]}" --read-every 2
usage "openpmd.meshes has no effect without openpmd.read=block or" "$TUTTI" run openpmd "${here[@]}" --phase both --read sx --meshes all
usage "openpmd.read_grid has no effect without openpmd.read=full" "$TUTTI" run openpmd "${here[@]}" --phase both --read sx --read-grid 1:1:1
usage "openpmd.block_divide has no effect without openpmd.read=block" "$TUTTI" run openpmd "${here[@]}" --phase both --block-divide 3
usage "has no plane across z" "$TUTTI" run openpmd "${here[@]}" --min-block 4:4 --phase both --read sz
usage "phase=read needs openpmd.path" "$TUTTI" run openpmd "${here[@]}" --phase read
usage "the step of a file is %06T" "$TUTTI" run openpmd "${here[@]}" --path x%T.h5
usage "product is the number of ranks, 2" "$TUTTI" run openpmd -n 2 "${here[@]}" --phase both --read-grid 2:2:1
usage "not possible on discard" "$TUTTI" run openpmd "${here[@]}" --phase read --path x --backend discard

openpmd 0 2 --encoding group
iterations_wanted=20 perform_endlessly 2 "$(last_run)"
no_data_left

has_backend hdf5 && command -v h5dump >/dev/null && command -v python3 >/dev/null || exit 0
follows() { python3 -B "$SOURCE/tests/program/openpmd.py" "$@" 2>why || fail "not openPMD: $(cat why)"; }
openpmd 0 2 --backend hdf5 --keep --path s.h5 --balanced no --layers verify
expect 0 "$TUTTI" verify "$(last_run)"
equal "$(follows 4:3:2 4:2:2 "$data"/s_00000?.h5)" "6 42 24" "iterations, components of meshes, records of particles"
openpmd 0 3 --backend hdf5 --encoding group --keep --path g.h5 --grid 3:4 --min-block 2:5 --ratio 3 --mode async+bg --rank-blocks no
equal "$(follows 2:5 3:4 "$data/g.h5")" "6 42 24" "the same in one file"
openpmd 0 1 --backend hdf5 --keep --path n%06T.h5 --grid 5 --min-block 7 --ratio 0
equal "$(follows 7 5 "$data"/n00000?.h5)" "6 42 0" "one dimension, without particles"
openpmd 0 2 --backend hdf5 --encoding variable --keep --path v.h5
h5dump -H -d /data/fields/E/z "$data/v.h5" | grep -q 'SIMPLE { ( 6, 16, 6, 4 )' || fail "the step is not the first dimension"
# The script finds what is wrong.
mv "$data/s_000003.h5" "$data/s_000009.h5"
! python3 -B "$SOURCE/tests/program/openpmd.py" 4:3:2 4:2:2 "$data/s_000009.h5" 2>why || fail "a wrong name passes"
grep -q 'has the iterations \[3\]' why || fail "$(cat why)"
! python3 -B "$SOURCE/tests/program/openpmd.py" 4:3:2 2:4:2 "$data/s_000002.h5" 2>why || fail "wrong numbers pass"
grep -q 'number 24 is 0.0206, not 4.02' why || fail "$(cat why)"
