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

# A finer margin than eight runs can tell, and a set against itself.
compare label=a label=a --margin 0.5% --metric runtime
equal "cannot tell" "$(verdict runtime)" verdict
words runtime | grep -qE '^cannot tell \(-[0-9.]+ to \+[0-9.]+ %; about [0-9]+ runs each needed\)$' ||
    fail "$(words runtime)"
equal 1 "$(jq '.plans[0].metrics | length' out.json)" "metrics"
compare label=a label=a
[ "$(verdict runtime)" = equivalent ] || fail "a set differs from itself"
grep -q '8 runs are in both' out

# Directories, too few runs, and a results directory as a set.
compare "$runs/a-0" "$runs/slow-0"
equal "too few for an interval (1 and 1 runs; six each are needed)" "$(words runtime)"
jq -e '.plans[0].metrics[0] | .effect == null and .a.interval == null and .a.min == 10' out.json >/dev/null
grep -q '! too few for an interval (1 and 1 runs; six each are needed)' out
grep -q '10.0 s' out
compare "$work/real" label=a --metric runtime,read_rate
equal "not measured" "$(verdict read_rate)" verdict
compare "label=slow,id=$(id_of slow-1)" "$(id_of a-0)"
equal "$(id_of a-0)" "$(jq -r '.b.runs[0].id' out.json)" "the run of B"

# A baseline against everything else, or some of it; and - is stdout.
compare --baseline label=a
equal 8 "$(jq '.b.runs | length' out.json)" "other runs"
compare --baseline label=a label=slow
equal worse "$(verdict runtime)" verdict
compare --baseline label=a "$runs/slow-3"
equal 1 "$(jq '.b.runs | length' out.json)" "runs of B"
expect 0 "$TUTTI" compare --dir "$runs" label=a label=slow --json -
jq -e '.tutti.format == 1 and .margin * 100 == 5' out >/dev/null

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
