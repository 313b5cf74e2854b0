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
equal $((iterations / every * field)) "$(metric bytes_written)" "bytes written"
equal $((iterations / 8 * field)) "$(metric bytes_read)" "bytes read"
holds '$a > 0 and $a < 1e9' a="$(metric update_rate)"
# application_rate is bytes_written / runtime, by its definition.
holds '($rate * $t / $b - 1) | fabs < 1e-6' rate="$(metric application_rate)" t="$(metric runtime)" \
    b="$(metric bytes_written)"

equal 2 "$(jq '.samples.ranks | length' out.json)" "ranks with samples"
equal $iterations "$(jq '[.samples.ranks[0].rows[][0] | select(. > 0)] | unique | length' out.json)" iterations
equal $size "$(jq -r '.plan.parameters."stencil.size"' out.json)" "stencil.size"
jq -e '.plan.parameters.label == "first \"run\""' out.json >/dev/null || fail "the label is not kept"
jq -e '.environment | has("version") and has("mpi") and has("cpu")' out.json >/dev/null
jq -e '.warnings | type == "array"' out.json >/dev/null
jq -e '.calls.write | .p50 <= .p99 and .p99 <= ."p99.9"' out.json >/dev/null ||
    fail "no latency quantiles of writes"
no_data_left

# What is shown later is the same, in whatever format; epochs and samples are those of the directory.
directory=$(last_run)
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
holds '$sum / $runtime | . > 0.98 and . < 1.02' runtime="$(jq .metrics.runtime.value long.json)" \
    sum="$(jq '[.phases | to_entries[] | select(.key | startswith("io_") | not) | .value.max - .value.outside] | add' long.json)"
expect 0 "$TUTTI" explain other
grep -q 'what is left of the runtime' out || fail "explain does not know the phase"
