# SPDX-License-Identifier: GPL-3.0-or-later
# tutti model on copies of a real run of each mode, whose rates are an exact function of size and ranks. What the numbers
# mean is in tests/unit/overlap_model.c; here they come from the store, and go into a report.
# processors: 2
# labels: sanitize
# timeout: 120
. "$(dirname "$0")/lib.sh"
needs jq

job=(stencil --size 32 --iterations 16 --write every=2 --quiet --min-free 0 --dir "$data" --baseline 4)
for mode in sync+imm async+bg; do
    expect 0 "$TUTTI" run "${job[@]}" --mode $mode --results "$work/real-$mode"
done

# copy TO MODE LABEL RANKS MIB [FILTER OF JQ]: a run of that size, whose storage rate is 2 size + 10 MiB ranks, whose copy
# rate is ten times that, and which computes for 0.1 s.
copy() {
    local real id to=$1/$2-$3-$4-$5
    real=$(find "$work/real-$2" -mindepth 1 -maxdepth 1 -type d)
    id=20260101T000000Z-$(md5sum <<<"$to" | cut -c 1-8)
    mkdir -p "$1"
    cp -r "$real" "$to"
    jq --arg id "$id" --arg name "$3" --argjson n "$4" '.id = $id | .parameters.label = $name |
        .ranks = $n | .parameters.ranks = ($n | tostring)' "$real/plan.json" >"$to/plan.json"
    jq --slurpfile plan "$to/plan.json" --arg id "$id" --arg name "$3" --argjson n "$4" --argjson mib "$5" '
        .id = $id | .label = $name | .plan = $plan[0] | ($mib * 1048576) as $size
        | (2 * $size + 10485760 * $n) as $rate
        | .metrics.epoch_bytes.value = $size | .metrics.write_rate.value = $rate
        | .metrics.compute_only.value = 0.1 | .metrics.epoch_compute.value = 0.1
        | if .plan.parameters.overlap == "async" then .metrics.copy_rate.value = 10 * $rate
            | .metrics.epoch_time.value = ([0.1, $size / $rate] | max) + $size / $rate / 10
          else .metrics.epoch_time.value = 0.1 + $size / $rate end '"${6:+| $6}" "$real/result.json" >"$to/result.json"
}
for mode in sync+imm async+bg; do
    for ranks in 1 2 4; do
        for mib in 1 4 16; do copy "$runs" $mode grid $ranks $mib; done
    done
    for ranks in 1 2 3 4; do copy weak $mode weak $ranks "$ranks"; done
done
model() { expect 0 "$TUTTI" model "$@"; }
shows() { tr -s ' \n' ' ' <out | grep -qF -- "$1" || { cat out; fail "not shown: $1"; }; }

# The coefficients, and no error on what was held out.
model fit "$runs" --json fit.json
jq -e '.fits.storage[1] | .chosen and (.size - 2 | fabs) < 1e-6 and (.ranks / 10485760 - 1 | fabs) < 1e-6 and
    .r2_about == "mean" and .r2 > 0.999999' fit.json >/dev/null || fail "wrong fit: $(cat fit.json)"
equal "9 9" "$(jq -r '.history | "\(.sync) \(.async)"' fit.json)" "runs of each mode"
shows "9 runs with 1 to 4 ranks and dumps of 1.00 MiB to 16.0 MiB give the storage rate within 0.0 %"
shows "; 9 overlapped ones give the copy rate within 0.0 %"
shows "by size per MiB of a dump; in log forms, per doubling"
model check "$runs" --csv check.csv
shows "median error of 0.0 % (sync) and 0.0 % (async); 18 of 18 runs"
equal 19 "$(wc -l <check.csv)" "rows"

# Both forms of an epoch, and where overlap stops paying.
model predict "$runs" --ranks 3 --size 8m --compute 50ms --steps 10 --epochs 4 --json out.json
jq -e '(8388608 / (2 * 8388608 + 3 * 10485760)) as $io | ($io / 10) as $copy | .predicted
    | def near($a; $b): ($a / $b - 1 | fabs) < 1e-6;
    near(.io.value; $io) and near(.epoch_sync.value; $io + 0.05) and near(.epoch_async.value; $io + $copy)
    and near(.least_compute.value; $copy) and .steps.value == ($copy / 0.005 | ceil) and .outside == false' out.json \
    >/dev/null || fail "wrong prediction: $(cat out.json)"
shows "overlap pays; it stops paying when less than"
copy slowed async+bg slowed 2 4 '.metrics.epoch_compute.value = 0.11'
for i in 1 2 3; do copy slowed sync+imm "slowed$i" 2 4; copy slowed async+bg "slowed$i" 2 4 '.metrics.epoch_compute.value = 0.11'; done
model predict slowed --ranks 2 --size 4m --compute 50ms
shows "overlap pays; it pays while $(sed -nE 's/^  computation, from +([0-9.]+ .?s).*/\1/p' out) to $(
    sed -nE 's/^  computation, to +([0-9.]+ .?s).*/\1/p' out) is computed between two outputs."
model predict "$runs" --ranks 3 --size 8m --compute 50ms --form paper --json paper.json
jq -e --slurpfile physical out.json '(.predicted.epoch_async.value - $physical[0].predicted.epoch_async.value + 0.05 | fabs)
    < 1e-6' paper.json >/dev/null || fail "the printed form is lower by the computation"
model predict "$runs" --ranks 64 --size 1g --compute 50ms --csv -
equal "figure,unit,predicted,low,high" "$(head -n 1 out)" "titles"
model predict "$runs" --ranks 64 --size 1g --compute 50ms
shows "storage rate: this leaves the data (1 to 4 ranks and dumps of 1.00 MiB to 16.0 MiB)"

# What cannot be told apart is said, and so is a line that falls below 0.
model fit weak
shows "left out of the fit: it grew together with the other"
for ranks in 1 2 3 4; do copy falling sync+imm falling $ranks 1 '.metrics.write_rate.value = 1e6 * (5 - $n)'; done
model predict falling --ranks 64 --size 1m --compute 1s --fit linear+intercept
shows "storage rate: unknown, since the fit falls to"
! tr -s ' \n' ' ' <out | grep -qF "take --fit linear+intercept" || fail "advice that is in force"
# One size says nothing of others, and is no effect in any form.
model fit falling
shows "storage rate: size did not vary: its effect is unknown"
# No interval of so different rates has an upper end.
for i in 1 2 3; do for ranks in 1 2; do copy wild sync+imm "wild$i" $ranks 1 ".metrics.write_rate.value = $i * $i * 1e6"; done; done
model check wild
shows "6 of 6 runs are within their 95 % intervals, of which 6 have no upper end."
model predict falling --ranks 2 --size 8m --compute 1s --json out.json
shows "what 8.00 MiB does to it is unknown, and is taken as nothing"
jq -e '[.fits.storage[] | .size == 0 and .dropped.size == "it did not vary"] | all' out.json >/dev/null || fail "an effect of one size"
equal '["size"]' "$(jq -c .predicted.untold out.json)" "what is unknown"
shows "nothing is known of overlap: 0 runs of mode async+bg"
! grep -qiE '\b(nan|inf)\b' out || fail "a number that is none"

# Other machines are left out, or refused if there is no run of this one; several workloads, and too little data.
copy "$runs" sync+imm other 8 64 '.environment.host = "elsewhere"'
model fit "$runs" --json fit.json
equal 1 "$(jq '.history.left_out["of other machines"]' fit.json)" "runs of other machines"
model fit "$runs" --mixed --json fit.json
equal 10 "$(jq .history.sync fit.json)" "mixed runs"
expect 1 "$TUTTI" model fit "$runs" "host!=x"
one_line "several machines .*choose by host=.*--mixed"
copy "$runs" sync+imm newer 8 64 '.environment.version = "99"'
expect 1 "$TUTTI" model fit "$runs"
one_line "several versions of tutti"
expect 1 "$TUTTI" model fit "$runs" label=grid ranks=1 "epoch_bytes<4m"
one_line "1 synchronous run with a storage rate, and a fit needs 3: run 2 more"
expect 1 "$TUTTI" model check "$runs" label=nobody
one_line "0 synchronous runs"

usage "predict needs --ranks" "$TUTTI" model predict "$runs" --ranks 2
usage "are for tutti model predict" "$TUTTI" model fit "$runs" --ranks 2
usage "needs fit, predict or check \(did you mean 'check'" "$TUTTI" model chek
