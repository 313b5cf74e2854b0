# SPDX-License-Identifier: GPL-3.0-or-later
# The amr workload: plot and particle files on every backend, a restart from them, and AMReX's layout as a script sees it that
# knows h5dump and not tutti.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

small=(--cells 16 --max-grid 4 --levels 2 --content numbered)
amr() { # STATUS RANKS OPTIONS...
    expect "$1" "$TUTTI" run amr -n "$2" --quiet --json out.json "${here[@]}" "${small[@]}" "${@:3}"
}
# 64 boxes of 64 cells in each of two levels, 6 components; 2 particles in a cell of 6 ints and 15 doubles.
table=$((64 * (24 + 12) + 65 * 8)) plot=$((2 * (64 * 64 * 6 * 8))) particles=$((64 * 128 * (6 * 4 + 15 * 8))) ptable=$((64 * (24 + 4)))
for backend in posix mpiio uring hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    amr 0 2 --backend $backend --phase both
    equal "$(metric bytes_written)" $((2 * (plot + 2 * table + particles + ptable))) "$backend: bytes written"
    equal "$(metric bytes_read)" $((plot + particles + 2 * (2 * table + ptable))) "$backend: bytes read"
    equal "$(metric files)" 4 "$backend: files"
done
no_data_left

# Another number of ranks restarts from what was kept, and finds what is wrong in it.
amr 0 3 --keep --path plt --mode async --compute 1 --layers verify
equal "$(cd "$data" && find . -type f | sort | tr '\n' ' ')" \
    "./plt00000.raw ./plt00000/particle0/particle0.raw ./plt00001.raw ./plt00001/particle0/particle0.raw " "names"
equal "$(stat -c %s "$data/plt00001.raw")" $((plot + 2 * table)) "size of a plot file"
amr 0 5 --phase read --path plt
printf '\xff' | dd of="$data/plt00001/particle0/particle0.raw" bs=1 conv=notrunc status=none seek=$((particles + ptable - 1))
amr 1 2 --phase read --path plt
one_line "rank 1: particle file 1: level_0/data:datatype=1 is not what was written with these keys"
rm -r "$data"/plt*

amr 0 3 --cells 8 --max-grid 8 --levels 1 --phase both --backend mpiio # one box for three ranks
amr 0 2 --mode async --plot-files 4 --compute 1
holds '$c > 0' c="$(metric compute_only)" # both kinds of files have epochs of their own
# Computation counts once: the phases of no iteration add up to more than it took.
amr 0 2 --compute 400 --pause 20ms
jq -e '.samples | (.columns | [index("compute_ns", "other_ns", "span_ns")]) as [$c, $o, $s] |
    all(.ranks[].rows[]; (.[$c:$o] | add) <= .[$s])' out.json >why || fail "phases are longer than their iteration"
amr 0 2 --sync close # two files of a kind are too few for a baseline
equal "$(metric bytes_written)" $((2 * (plot + 2 * table + particles + ptable))) "bytes written"
iterations_wanted=9 perform_endlessly 2 "$(last_run)"
no_data_left
expect 0 "$TUTTI" run amr -n 8 --dry-run "${here[@]}"
grep -q 'writes *168 MiB in 4 dumps, .* in 4 files' out || fail "the dry run says: $(cat out)"
expect 0 "$TUTTI" run amr -n 64 --cells 64 --max-grid 1 --components 1 --particle-files 0 --dry-run "${here[@]}"
grep -q '^memory *11.0 MiB per rank' out || fail "the dry run says: $(cat out)" # a table of 2^18 boxes, 44 bytes each, and 4096 values
usage "more than its 32 bits can count; give fewer particles, or a smaller amr.max_grid" "$TUTTI" run amr "${here[@]}" --cells 1024 --max-grid 1024
expect 0 "$TUTTI" run amr -n 3 --cells 16 --dry-run "${here[@]}"
grep -qx 'pieces      8 boxes of level 0 on 3 ranks: 2 or 3 each' out || fail "nothing of the boxes: $(cat out)"
expect 0 "$TUTTI" run amr -n 2 --cells 16 --dry-run "${here[@]}"
! grep -q ^pieces out || fail "even boxes are told of"
usage "amr.components has no effect without amr.plot_files: leave it out" "$TUTTI" run amr "${here[@]}" --plot-files 0 --components 2
usage "amr.particles has no effect without amr.particle_files" "$TUTTI" run amr "${here[@]}" --particle-files 0 --particles 3
usage "amr.ratios has no effect with one level" "$TUTTI" run amr "${here[@]}" --ratios 4
usage "amr.ratios: 2 ratios are more than there are between 2 levels" "$TUTTI" run amr "${here[@]}" --levels 2 --ratios 4:2
usage "no whole number of boxes of 8; give a divisor of amr.cells" "$TUTTI" run amr "${here[@]}" --cells 20
usage "is not a ratio from 2" "$TUTTI" run amr "${here[@]}" --levels 2 --ratios 1
usage "has no boxes of 8" "$TUTTI" run amr "${here[@]}" --levels 3 --cells 16 --ratios 3
usage "are both 0" "$TUTTI" run amr "${here[@]}" --plot-files 0 --particle-files 0
usage "phase=read needs amr.path" "$TUTTI" run amr "${here[@]}" --phase read

has_backend hdf5 && command -v h5dump >/dev/null && command -v python3 >/dev/null || exit 0
follows() { python3 -B "$SOURCE/tests/program/amr.py" "$@" 2>why || fail "not AMReX: $(cat why)"; }
amr 0 3 --backend hdf5 --keep --path a --content level --ratios 4 --hdf5.filter deflate:3 --hdf5.chunk 1024
equal "$(follows "$data/a00001.h5" "$data/a00001/particle0/particle0.h5" | tr '\n' ' ')" \
    "plot 2 576 221184 particles 64 8192 " "levels, boxes, values; boxes and particles"
[ "$(stat -c %s "$data/a00001.h5")" -lt 200000 ] || fail "nothing was compressed"
# The script finds what is wrong.
amr 0 1 --backend hdf5 --keep --path b
! python3 -B "$SOURCE/tests/program/amr.py" "$data/b00000.h5" 2>why || fail "wrong values pass"
grep -q 'values of level 0' why || fail "$(cat why)"
