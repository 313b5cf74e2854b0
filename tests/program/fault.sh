# SPDX-License-Identifier: GPL-3.0-or-later
# Open, write, sync or close fails on one rank or on all, on every backend and in every mode: one
# line that names the first failing rank, status 1, nothing left, never a hang.
# processors: 1
# timeout: 400
. "$(dirname "$0")/lib.sh"
job=(stencil -n 3 --size 48 --iterations 12 --write every=3)

backends=(posix mpiio)
for backend in hdf5 netcdf pnetcdf; do
    ! has_backend $backend || backends+=($backend)
done
modes=(sync+imm async async+bg)
turn=0
for backend in "${backends[@]}"; do
    for call in open write sync close; do
        for rank in 1 all; do
            # The modes take turns, so that every backend and call meets each of them in a few runs.
            mode=${modes[turn++ % ${#modes[@]}]}
            first=$rank
            [ $rank != all ] || first=0
            expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --backend $backend --mode $mode --layers fault \
                --fault "call=$call,nth=1,rank=$rank"
            one_line "rank $first: .*(Input/output error|fault)"
            no_data_left
        done
    done
    # A disk that is suddenly full, and one that only says so at the second dump.
    expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --backend $backend --mode async --layers fault \
        --fault call=write,nth=2,rank=2,action=enospc
    one_line "rank 2: .*No space left on device"
    # A library that fails on one rank and leaves the others in its collective call.
    expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --backend $backend --mode ${modes[turn % 3]} --patience 0.5 \
        --layers fault --fault call=write,nth=2,rank=1,action=absent
    one_line "rank 1: .*Input/output error"
    no_data_left
    # Silent corruption is found by verify above it.
    expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --backend $backend --layers verify,fault \
        --fault call=write,nth=4,rank=1,action=flip
    one_line "rank 1: "
    expect 0 "$TUTTI" run "${job[@]}" "${here[@]}" --backend $backend --layers verify
    no_data_left
done
# Interrupted and short system calls are carried on with.
for action in eintr short; do
    expect 0 "$TUTTI" run "${job[@]}" "${here[@]}" --backend posix --layers verify,fault \
        --fault "call=write,nth=2,rank=all,action=$action"
done
# A fault that cannot happen is no fault survived.
expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --layers fault --fault call=write,nth=1,rank=3
one_line "fault.rank 3 does not exist"
