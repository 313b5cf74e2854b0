# SPDX-License-Identifier: GPL-3.0-or-later
# Sets of runs against each other: one real run, and copies of it with known numbers in their results. What the numbers
# mean is in tests/unit/compare.c; here they come from directories, and go into a report.
# processors: 1
# labels: sanitize
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

job=(stencil --size 32 --iterations 4 --write every=2 --quiet --min-free 0 --dir "$data")
expect 0 "$TUTTI" run "${job[@]}" --results "$work/real" --label real
real=$(find "$work/real" -mindepth 1 -maxdepth 1 -type d)

id_of() { echo "20260101T000000Z-$(md5sum <<<"$1" | cut -c 1-8)"; }
# copy NAME LABEL RUNTIME [FILTER OF JQ]: a run of the same plan that took so long.
copy() {
    local to=$runs/$1 id
    id=$(id_of "$1")
    mkdir -p "$runs"
    cp -r "$real" "$to"
    jq --arg id "$id" --arg name "$2" '.id = $id | .parameters.label = $name' "$real/plan.json" \
        >"$to/plan.json"
    jq --slurpfile plan "$to/plan.json" --arg id "$id" --arg name "$2" --argjson t "$3" \
        '.id = $id | .label = $name | .plan = $plan[0] | .metrics.runtime.value = $t
         | .metrics.write_rate.value = 1e9 / $t | .metrics.hidden_fraction.value = 0.9 - $t / 100
         | .metrics.peak_memory.value = 1048576 '"${4:+| $4}" "$real/result.json" >"$to/result.json"
}
# set LABEL FACTOR [FILTER]: eight runs around 10 s times FACTOR, 1 % apart.
set_of() {
    local i t=(10.0 10.3 9.9 10.1 9.8 10.2 10.05 9.95)
    for i in "${!t[@]}"; do
        copy "$1-$i" "$1" "$(jq -n "${t[i]} * $2")" "${3:-}"
    done
}
set_of a 1
set_of slow 1.12 '.environment.revision = "other" | .environment.libraries.hdf5 = "9.9"'
# A result of older definitions is made again from its records; without them it is not taken for one of today's.
copy older older 999 '.tutti.format = 2'
expect 0 "$TUTTI" show "$runs/older" --json older.json
equal "$(jq .metrics.runtime.value "$real/result.json")" "$(jq .metrics.runtime.value older.json)" "runtime made again"
copy lost older 999 '.tutti.format = 2'
rm "$runs"/lost/records/*
expect 1 "$TUTTI" show "$runs/lost"
one_line "lost' stands on older definitions of metrics, and cannot be made again: its records are gone"
echo "of another version, in a format that nobody reads any more, and long enough to be looked at as if it were one: \
it says so in its first bytes." >"$runs/lost/records/00000.ttr"
expect 1 "$TUTTI" show "$runs/lost"
one_line "lost' stands on older definitions of metrics, and cannot be made again: .* holds no records of tutti"
equal 999 "$(jq .metrics.runtime.value "$runs/lost/result.json")" "the older result, which stays"
# Records of a version with other phases cannot be read: a result that there is can be shown, and else one line says so.
copy other other 999
for records in "$runs"/other/records/*; do printf '\x03' | dd of="$records" bs=1 seek=4 conv=notrunc status=none; done
expect 0 "$TUTTI" show "$runs/other"
jq '.tutti.format = 2' "$runs/other/result.json" >x && mv x "$runs/other/result.json"
expect 1 "$TUTTI" show "$runs/other"
one_line "other' stands on older definitions of metrics, and cannot be made again: .*records/.*' was written by another version of tutti: it knows 3 phases, this one [0-9]+$"
rm -r "$runs/other"
expect 1 "$TUTTI" compare "$runs/lost" "$runs/a-1"
grep -q 'cannot be made again' err || fail "$(cat err)"
rm -r "$runs/older" "$runs/lost"
compare() { expect 0 "$TUTTI" compare --dir "$runs" --json out.json "$@"; }
verdict() { jq -r ".plans[0].metrics[] | select(.metric == \"$1\") | .verdict" out.json; }
words() { jq -r ".plans[0].metrics[] | select(.metric == \"$1\") | .text" out.json; }

# Slower, with an interval around the truth; rates and times have their own directions.
compare label=a label=slow
equal worse "$(verdict runtime)" verdict
words runtime | grep -qxE 'slower by 12 % \([0-9.]+ to [0-9.]+ %\)' || fail "$(words runtime)"
words write_rate | grep -qE '^slower by 11 % ' || fail "$(words write_rate)"
words hidden_fraction | grep -qE '^(equivalent within 0.05|lower by 0.012 )' || fail "$(words hidden_fraction)"
words peak_memory | grep -qx 'the same in all runs' || fail "$(words peak_memory)"
holds '$e.low < 1.12 and 1.12 < $e.high and $e.low > 1.08 and $e.high < 1.16' \
    e="$(jq '.plans[0].metrics[] | select(.metric == "runtime") | .effect' out.json)"
holds '$m.permutation.exact and $m.permutation.p < 0.01 and $m.mann_whitney.p < 0.01 and $m.mann_whitney.u == 64
    and $m.a.n == 8 and ($m.a.values | length) == 8 and $m.a.interval[0] >= 9.8 and $m.a.median == 10.025' \
    m="$(jq '.plans[0].metrics[] | select(.metric == "runtime")' out.json)"
grep -q 'slower by 12 %' out
grep -q 'revision .* in A, other in B' out || fail "the revision is not listed"
jq -e '.plans[0].environment | map(.key) | index("libraries.hdf5")' out.json >/dev/null
jq -e '.plans[0].parameters == []' out.json >/dev/null || fail "parameters differ"
[ "$(wc -L <out)" -le 80 ] || fail "wider than 80 columns"

# A finer margin than eight runs can tell, runs that are in both sets, and a set against itself.
set_of same 1
compare label=a label=same --margin 0.5% --metric runtime
equal "cannot tell" "$(verdict runtime)" verdict
words runtime | grep -qE '^cannot tell \(-[0-9.]+ to \+[0-9.]+ %; about [0-9]+ runs each needed\)$' ||
    fail "$(words runtime)"
equal 1 "$(jq '.plans[0].metrics | length' out.json)" "metrics"
compare label=a label=same
[ "$(verdict runtime)" = equivalent ] || fail "a set differs from one with its numbers"
compare label=a "$runs"
grep -q '8 runs are in both' out
expect 1 "$TUTTI" compare --dir "$runs" label=a label=a --fail-if worse --metric runtime
one_line '^tutti: A and B are the same 8 runs: there is nothing to compare$'

# Directories, too few runs, and a results directory as a set.
compare "$runs/a-0" "$runs/slow-0"
equal "too few for an interval (1 and 1 runs; six each are needed)" "$(words runtime)"
jq -e '.plans[0].metrics[0] | .effect.low == null and .a.interval == null and .a.min == 10' out.json >/dev/null
grep -q '! too few for an interval (1 and 1 runs; six each are needed)' out
# Without a verdict, but with the ratio.
holds '($e - $b / $a | fabs) < 1e-12' e="$(jq '.plans[0].metrics[] | select(.metric == "runtime").effect.value' out.json)" \
    a="$(jq '.plans[0].metrics[] | select(.metric == "runtime").a.median' out.json)" \
    b="$(jq '.plans[0].metrics[] | select(.metric == "runtime").b.median' out.json)"
grep -qE '^  runtime +[0-9.]+ m?s +[0-9.]+ m?s  [0-9.]+ times A$' out || fail "no ratio: $(grep '^  runtime' out)"
! grep -qE 'slower|faster|worse|better' out || fail "a verdict on single runs"
grep -q '10.0 s' out
compare "$work/real" label=a --metric runtime,read_rate
equal "not measured" "$(verdict read_rate)" verdict
compare "label=slow,id=$(id_of slow-1)" "$(id_of a-0)"
equal "$(id_of a-0)" "$(jq -r '.b.runs[0].id' out.json)" "the run of B"

# A baseline against everything else, or some of it; and - is stdout.
compare --baseline label=a
equal 16 "$(jq '.b.runs | length' out.json)" "other runs"
compare --baseline label=a label=slow
equal worse "$(verdict runtime)" verdict
compare --baseline label=a "$runs/slow-3"
equal 1 "$(jq '.b.runs | length' out.json)" "runs of B"
expect 0 "$TUTTI" compare --dir "$runs" label=a label=slow --json -
jq -e '.tutti.format == 1 and .margin * 100 == 5' out >/dev/null

# As a gate: 0, 3 and 4, and what failed on stderr.
expect 3 "$TUTTI" compare --dir "$runs" label=a label=slow --fail-if worse --metric runtime,hidden_fraction
grep -q '^tutti: --fail-if worse: runtime: fail; slower by 12 %' err || fail "$(cat err)"
expect 0 "$TUTTI" compare --dir "$runs" label=slow label=a --fail-if worse --metric runtime,write_rate
expect 3 "$TUTTI" compare --dir "$runs" label=slow label=a --fail-if different --metric runtime
expect 0 "$TUTTI" compare --dir "$runs" label=a label=same --fail-if different --metric runtime,peak_memory
expect 4 "$TUTTI" compare --dir "$runs" label=a label=same --fail-if worse --metric runtime --margin 0.5%
one_line 'runtime: cannot be told \(-[0-9.]+ to '
rm -r "$runs"/same-*
expect 4 "$TUTTI" compare "$runs/a-0" "$runs/slow-0" --fail-if worse --metric runtime,read_rate
grep -q 'runtime: cannot be told; too few for an interval' err || fail "$(cat err)"
grep -q 'read_rate: cannot be told; ' err || fail "$(cat err)"
usage '^tutti: --fail-if needs --metric' "$TUTTI" compare --dir "$runs" label=a label=slow --fail-if worse
usage 'residual has no better or worse; use --fail-if different' \
    "$TUTTI" compare --dir "$runs" label=a label=slow --fail-if worse --metric residual
usage "not one of never, worse, different" "$TUTTI" compare --dir "$runs" label=a label=slow --fail-if wrose --metric runtime

# What is not valid is left out, and said; a directory that is not is refused.
copy bad-0 slow 99 '.valid = false | .status = "failed"'
compare label=a label=slow
grep -q "left out 1: $(id_of bad-0) (failed)" out
expect 1 "$TUTTI" compare "$runs/a-0" "$runs/bad-0"
one_line "bad-0' is not valid \(failed\)"

# Another plan is not compared by itself.
expect 0 "$TUTTI" run "${job[@]}" --size 48 --results "$runs" --label wide
expect 1 "$TUTTI" compare --dir "$runs" label=a label=wide
one_line "no plan is in both: stencil.size is 32 in A and 48 in B; --any-plan"
compare label=a label=wide --any-plan
jq -e '.plans[0] | .plan == null and .parameters[0].key == "stencil.size"' out.json >/dev/null
expect 4 "$TUTTI" compare --dir "$runs" "$runs" label=a --fail-if worse --metric runtime --margin 90%
one_line '1 plan of A: cannot be told; B has no run of it'
compare label=a "$runs"
grep -q 'not compared: B has 1 plan (1 run) that A has not' out

# Wrong usage.
usage "needs two sets" "$TUTTI" compare
usage "needs two sets" "$TUTTI" compare label=a
usage "margin: '5' is not a share" "$TUTTI" compare label=a label=b --margin 5
usage "margin: '-5%' is not a share" "$TUTTI" compare label=a label=b --margin -5%
usage "no metric 'runtme' \(did you mean 'runtime'" "$TUTTI" compare label=a label=b --metric runtme
usage "given twice" "$TUTTI" compare label=a label=b --metric runtime --metric write_rate
usage "did you mean '--margin'" "$TUTTI" compare label=a label=b --margn 5%
usage "labl" "$TUTTI" compare --dir "$runs" labl=a label=b
expect 1 "$TUTTI" compare --dir "$runs" nowhere label=a
one_line "'nowhere' is not a run directory, and no valid run in .* has that id"
expect 1 "$TUTTI" compare --dir "$runs" label=a label=nobody
one_line "no valid run in .* matches label=nobody"

# A damaged result is no crash: numbers that cannot be are not used.
copy odd-0 odd 1e300 '.environment = 5 | .metrics.write_rate = "none"'
compare "$runs/a-0" "$runs/odd-0"
equal "not measured in B" "$(words runtime)"
equal "not measured in B" "$(words write_rate)"
