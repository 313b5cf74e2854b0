# SPDX-License-Identifier: GPL-3.0-or-later
# How much is computed: a count, or a time that is calibrated once and never again.
# processors: 2
. "$(dirname "$0")/lib.sh"
needs jq
stencil=("$TUTTI" run stencil "${here[@]}" --size 64 --iterations 4 --write every=2)
count='[0-9.e-]+s=[1-9][0-9]*x[0-9.e-]+s'
plans() { # KEY: its values in all plans of runs, each once
    jq -r ".parameters.\"$1\"" $(find "$runs" -name plan.json) | sort -u
}
calibrated() { # KEY: all plans have one and the same count
    local text
    text=$(plans "$1")
    grep -qxE "$count" <<<"$text" && [ "$(wc -l <<<"$text")" = 1 ] || fail "$1 of the plans: $text"
}

# More passes are more work and the same field.
expect 0 "${stencil[@]}" -n 2 --json one.json
expect 0 "${stencil[@]}" -n 2 --compute 5 --json five.json
equal "$(jq .metrics.residual.value one.json)" "$(jq .metrics.residual.value five.json)" residual
holds '$five == 5 * $one' one="$(jq .metrics.updates.value one.json)" five="$(jq .metrics.updates.value five.json)"
equal 5 "$(jq -r '.plan.parameters."stencil.compute"' five.json)" "a count in the plan"
expect 0 "${stencil[@]}" -n 2 --compute 5 --halo overlap --json five.json
equal "$(jq .metrics.residual.value one.json)" "$(jq .metrics.residual.value five.json)" "residual with overlapped halos"

# A time: every workload that computes; what it took alone is said.
for workload in 'stencil --size 64 --iterations 4' 'frames --edge 8 --frames 3' 'particles --dims 100 --steps 3'; do
    rm -rf "$runs"
    expect 0 "$TUTTI" run $workload -n 2 "${here[@]}" --compute 2ms
    tr -s '\n ' '  ' <out | grep -qE 'compute 2.00 ms asked, [0-9.]+ [mu]?s alone \([0-9]+ passe?s?\)' || fail "not said: $(cat out)"
    calibrated "${workload%% *}.compute"
done
rm -rf "$runs"
expect 0 $RANKS 2 "${stencil[@]}" --compute 2ms
calibrated stencil.compute

# A plan that has a count is not calibrated again: this one is nobody's measurement.
rm -rf "$runs"
expect 0 "${stencil[@]}" -n 1 --compute 3ms=7x1ms
equal 0.003s=7x0.001s "$(plans stencil.compute)" "a count that was calibrated before"
tr -s '\n ' '  ' <out | grep -q '! computation took .* an iteration, and 7.00 ms when it was calibrated' ||
    fail "a calibration that is wrong is not doubted"

# How a count was found is no part of the plan's hash: these are the same job.
hash=$(jq -r .hash "$runs"/*/plan.json)
rm -rf "$runs"
expect 0 "${stencil[@]}" -n 1 --compute 7
equal "$hash" "$(jq -r .hash "$runs"/*/plan.json)" "the hash of the same count"

# Another count is another job, also where the same time was asked for.
expect 0 "${stencil[@]}" -n 1 --compute 3ms=8x1ms --label eight
expect 1 "$TUTTI" compare --dir "$runs" stencil.compute=7 label=eight
one_line "no plan is in both"
expect 0 "${stencil[@]}" -n 1 --compute 3ms=7x1ms --label seven
expect 1 "$TUTTI" compare --dir "$runs" label=seven label=eight
one_line "stencil.compute is .* in A and .* in B, calibrated apart: give both the count; --any-plan"

# All repetitions, steps and jobs of the same kind have one count, and so has what is resumed.
rm -rf "$runs"
expect 0 "${stencil[@]}" -n 1 --compute 2ms --repeat 2
equal 2 "$(find "$runs"/*/step* -name plan.json | wc -l)" repetitions
calibrated stencil.compute
rm -rf "$runs"
cat >mix.yaml <<'END'
reference: {workload: stencil, size: 64, iterations: 4, compute: 2ms, write: {every: 2}}
load: {same: reference}
others: [0, 1]
repeat: 1
alone: 1
warmup: 0s
END
expect 0 "$TUTTI" ensemble mix.yaml "${here[@]}"
equal 3 "$(find "$runs"/*/step* -name plan.json | wc -l)" jobs
calibrated stencil.compute
tr -s '\n ' '  ' <out | grep -qE 'reference stencil,.* compute 2.00 ms asked, .* alone \([0-9]+ pass' || fail "the job's compute is not said"
ensemble=$(echo "$runs"/ensemble-*)
equal "$(plans stencil.compute)" "$(jq -r '.[]' "$ensemble/compute.json" | sort -u)" "what is kept"
expect 0 "$TUTTI" ensemble --resume "$ensemble" --repeat 2 --json answer.json
calibrated stencil.compute
equal "$(plans stencil.compute)" "$(jq -r '.jobs[].parameters."stencil.compute"' answer.json | sort -u)" "the answer's"
# By the number of its runs, calibration is none.
expect 0 "$TUTTI" runs "$runs"
equal 6 "$(grep -cE '^[0-9a-f]{8} ' out)" "runs"
# What is kept decides: nothing is calibrated for a third repetition.
echo '{"reference": "0.002s=3x0.0007s", "load": "0.002s=3x0.0007s"}' >"$ensemble/compute.json"
expect 0 "$TUTTI" ensemble --resume "$ensemble" --repeat 3
equal 3 "$(grep -l '=3x' $(find "$ensemble"/step* -name plan.json) | wc -l)" "jobs with the count that is kept"
echo '{"reference": "12:4"}' >"$ensemble/compute.json"
expect 1 "$TUTTI" ensemble --resume "$ensemble" --repeat 4
one_line "reference: .*'12:4' is neither a count"

# Points of a study that differ only in their I/O have one count; another size has its own.
rm -rf "$runs"
expect 0 "$TUTTI" run stencil "${here[@]}" --iterations 2 --write every=2 --compute 2ms --settle 0 --repeat 1 --quiet \
    --sweep mode=sync,async --sweep backend=posix,discard --sweep size=32,64
for size in 32 64; do
    equal 1 "$(find "$runs"/study-*/*-run1 -name plan.json -exec jq -r --arg size $size \
        '.parameters | select(."stencil.size" == $size)."stencil.compute"' {} + | sort -u | wc -l)" "counts of size $size"
done
equal 2 "$(jq length "$runs"/study-*/compute.json)" "calibrations"
rm -rf "$runs"

# One line each for what cannot be.
expect 1 "$TUTTI" run stencil -n 1 "${here[@]}" --size 4096 --iterations 1 --compute 1us
one_line 'compute: 1.00 us is too short: one pass over the data alone takes .*; ask for more time or for less data'
sed -i 's/size: 64/size: 4096/; s/2ms/1us/' mix.yaml
expect 1 "$TUTTI" ensemble mix.yaml "${here[@]}" --quiet
one_line 'reference cannot be calibrated: compute: 1.00 us is too short'
for bad in 0 0s 0.5 -1ms 5x ''; do
    expect 2 "$TUTTI" run stencil -n 1 "${here[@]}" --compute "$bad"
    one_line '^tutti: --compute:'
done
expect 2 "$TUTTI" run bulk -n 1 "${here[@]}" --compute 50ms
one_line "'compute' says how much is computed, but workload 'bulk' does not compute"
no_data_left
