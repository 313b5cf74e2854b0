# SPDX-License-Identifier: GPL-3.0-or-later
# What the JSON holds: every promised metric with value and unit, samples, parameters, environment.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq
size=64 iterations=24 every=4

expect 0 "$TUTTI" run stencil -n 2 --size $size --iterations $iterations --write every=$every \
    --read every=8 --collective every=2,size=1k --mode async --baseline 2 --label 'first "run"' \
    "${here[@]}" --json out.json
for name in runtime residual update_rate flop_rate bytes_written bytes_read bytes_communicated \
    write_rate application_rate hidden_fraction inflation cpu_time peak_memory imbalance; do
    jq -e ".metrics.$name | (.value | type == \"number\") and (.unit | type == \"string\")" out.json \
        >/dev/null || fail "metric $name is missing or has no value or unit"
done
field=$((size * size * 8))
# Epochs 2 and 4 of 6 are baselines, and not part of the job: neither their time nor their work counts.
equal $(((iterations / every - 2) * field)) "$(metric bytes_written)" "bytes written"
jq -e --argjson field $field '.excluded | .epochs == 2 and .of == 6 and .seconds > 0 and .bytes_written == 2 * $field' \
    out.json >/dev/null || fail "excluded: $(jq -c .excluded out.json)"
jq -e '.metrics.runtime.note | startswith("without 2 of 6 epochs")' out.json >/dev/null || fail "nothing says what is left out"
equal $(((iterations - 2 * every) * (size - 2) * (size - 2))) "$(metric updates)" updates
# The last record begins when the run is over: until then, what is marked takes off the runtime.
holds '$runtime <= $rest' runtime="$(metric runtime)" rest="$(jq '[.samples.ranks[].rows
    | ([.[][1]] | max) - ([.[] | select(.[-1] == 1) | .[2]] | add)] | max / 1e9' out.json)"
# Nothing is computed after the last dump.
equal '[4,4,4,4,4,0]' "$(jq -c '[.epochs[].iterations]' out.json)" "iterations of epochs"
equal $((iterations / 8 * field)) "$(metric bytes_read)" "bytes read"
holds '$a > 0 and $a < 1e9' a="$(metric update_rate)"
# application_rate is bytes_written / runtime, by its definition.
holds '($rate * $t / $b - 1) | fabs < 1e-6' rate="$(metric application_rate)" t="$(metric runtime)" \
    b="$(metric bytes_written)"

equal 2 "$(jq '.samples.ranks | length' out.json)" "ranks with samples"
equal $iterations "$(jq '[.samples.ranks[0].rows[][0] | select(. > 0)] | unique | length' out.json)" iterations
equal $size "$(jq -r '.plan.parameters."stencil.size"' out.json)" "stencil.size"
jq -e '.plan.parameters | ."stencil.size" == '$size' and .keep == false and .min_free == "0%" and (.patience | type) == "number"' \
    out.json >/dev/null || fail "parameters have no types"
jq -e '.start[0:19] + "Z" | fromdate > now - 600' out.json >/dev/null || fail "no start: $(jq .start out.json)"
jq -e '.plan.parameters.label == "first \"run\""' out.json >/dev/null || fail "the label is not kept"
jq -e '.environment | has("version") and has("mpi") and has("cpu")' out.json >/dev/null
jq -e '.warnings | type == "array"' out.json >/dev/null
jq -e '.calls.write | .count == 8 and .min <= .p50 and .p50 <= .max and .p90 == null and .p99 == null and ."p99.9" == null' \
    out.json >/dev/null || fail "quantiles of 8 writes: $(jq -c .calls.write out.json)"
jq -e '.metrics | .write_p50.value > 0 and .write_p99 == {value: null, unit: "s", note: "fewer than 100 calls"}' out.json \
    >/dev/null || fail "percentiles of few writes: $(jq -c '.metrics | .write_p50, .write_p99' out.json)"
no_data_left
directory=$(last_run)

# After a baseline storage has rested: the next epoch counts as little, unless too few are left.
kinds() { jq -r '[.epochs[] | if .baseline then "B" elif .settling then "s" else "m" end] | join("")' few.json; }
few() { # ITERATIONS KINDS OPTIONS...
    expect 0 "$TUTTI" run stencil -n 2 --size $size --iterations "$1" --write every=4 --mode async+bg "${here[@]}" \
        --json few.json "${@:3}"
    equal "$2" "$(kinds)" "epochs: measured, baseline, settling"
    measured=${2//[!m]/}
    equal $((${#measured} * field)) "$(jq .metrics.bytes_written.value few.json)" "bytes of epochs that are measured"
}
few 32 mBsmBsmm --baseline 3
few 32 mBsmBsmm --baseline 3 --inflight 3
few 16 mBsm
few 12 mBm
few 8 mm

# What is shown later is the same, in whatever format; epochs and samples are those of the directory.
expect 0 "$TUTTI" show "$directory" --json again.json --csv again.csv
cmp out.json again.json
jq -e --slurpfile result "$directory/result.json" '.epochs == $result[0].epochs and (.epochs | length) > 0' again.json \
    >/dev/null || fail "the epochs differ"
cmp <(grep -v '^#' again.csv) <(jq -r '.samples | (["rank"] + .columns), (.ranks[] | .rank as $r | .rows[] | [$r] + .)
    | map(tostring) | join(",")' again.json)
# A directory without a result that cannot be written to is shown all the same.
cp -r "$directory" sealed
rm sealed/result.json
chmod a-w sealed
expect 0 "$TUTTI" show sealed --json sealed.json
equal "$(jq -c .epochs again.json)" "$(jq -c .epochs sealed.json)" "epochs of a directory that cannot be written to"
chmod u+w sealed

# The memory for a long run is that for a short one (a tenth of what all its epochs and samples take at once).
expect 0 "$TUTTI" run stencil -n 1 --size 8 --iterations 40000 --write every=1 --backend discard "${here[@]}" --quiet
(
    ulimit -d 32000
    expect 0 "$TUTTI" show "$(last_run)"
    expect 0 "$TUTTI" show "$(last_run)" --json long.json --csv long.csv
)
equal 40000 "$(jq '.epochs | length' long.json)" "epochs of the long run"
# What no phase names is a phase, too: those of the main thread add up to the runtime.
holds '$sum / $runtime | . > 0.995 and . < 1.005' runtime="$(jq .metrics.runtime.value long.json)" \
    sum="$(jq '[.phases | to_entries[] | select(.key | startswith("io_") | not) | .value.max - .value.outside] | add' long.json)"
expect 0 "$TUTTI" explain other
grep -q 'what is left of the runtime' out || fail "explain does not know the phase"

# Where reading follows writing, each has a time of its own.
expect 0 "$TUTTI" run frames -n 2 --edge 20 --frames 6 --read yes "${here[@]}" --quiet --json out.json
holds '($w - $r) | fabs > 0' w="$(metric application_rate)" r="$(metric application_read_rate)"
holds '$w > $b / $t and $r > $b / $t' w="$(metric application_rate)" r="$(metric application_read_rate)" \
    b="$(metric bytes_read)" t="$(metric runtime)"
