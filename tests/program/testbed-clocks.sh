# SPDX-License-Identifier: GPL-3.0-or-later
# A host whose wall clock is wrong, and drifts: ranks start together all the same, offsets are found to within a
# millisecond at both ends, times are corrected, and that is said; between jobs through the driver.
# labels: testbed
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq
[ -n "${CLOCK:-}" ] || skip "a preloaded library does not go with a sanitizer"
slurm_up
job=(stencil --size 128 --iterations 400 --work 20)
# node2 is so many seconds ahead, and gains 1000 ppm.
wrong=(env LD_PRELOAD="$CLOCK")
of_node2='.ranks[] | select(.host == "node2")'

# Whoever waited for an instant of the clock that is behind would wait for longer than expect allows.
for offset in 1.5 -100; do
    expect 0 "${wrong[@]}" TUTTI_CLOCK="node2 $offset 1000" srun -N 3 -n 3 --mpi=pmix "$TUTTI" run "${job[@]}" "${here[@]}" --json out.json
    clock=$(jq -c "$of_node2 | .clock" out.json)
    jq -e --argjson offset $offset '(.offset_ns * 1e-9 - $offset | fabs) < 0.02 and .error_ns < 1e7' <<<"$clock" >/dev/null ||
        fail "the offset of node2: $clock"
    # It gains a millisecond a second.
    jq -e '.end_offset_ns > .offset_ns' <<<"$clock" >/dev/null || fail "no drift is seen: $clock"
    jq -e '[.ranks[] | select(.host != "node2") | .clock.offset_ns | fabs < 1e7] | all' out.json >/dev/null ||
        fail "clocks that are right are off"
    jq -e '[.warnings[].text] | any(test("the wall clock of node2 is .* ms off rank 0"))' out.json >/dev/null ||
        fail "nobody says that a clock is wrong"
done
expect 0 srun -N 3 -n 3 --mpi=pmix "$TUTTI" run "${job[@]}" "${here[@]}" --json out.json
! jq -e '[.warnings[].text] | any(test("the wall clock of"))' out.json >/dev/null || fail "a clock that is right is called wrong"

# Jobs of an ensemble: the load is on the host whose clock is wrong, and what it did beside the reference is known.
cat >clocks.yaml <<'END'
reference: {workload: stencil, ranks: 1, size: 128, iterations: 2000, work: 20, launch: {nodes: [node1]}}
load: {workload: stencil, ranks: 1, size: 128, iterations: 100, work: 20, launch: {nodes: [node2]}}
others: [0, 1]
repeat: 1
alone: 1
loads_alone: no
END
expect 0 "${wrong[@]}" TUTTI_CLOCK="node2 1000 1000" salloc -Q -N 3 --exclusive "$TUTTI" ensemble clocks.yaml "${here[@]}" --json answer.json
jq -e '.repetitions[] | select(.others == 1) | .jobs[1] | (.clock.offset - 1000 | fabs) < .clock.uncertainty + 0.01 and .window.iterations > 0' \
    answer.json >/dev/null || fail "the load's clock: $(jq -c '.repetitions[] | select(.others == 1) | .jobs[1] | [.clock, .window]' answer.json)"
jq -e '.steps[1].warnings | any(test("the wall clock of load is 1e\\+03 s off|the wall clock of load is 1000 s off"))' answer.json >/dev/null ||
    fail "$(jq -c '.steps[1].warnings' answer.json)"
no_data_left
