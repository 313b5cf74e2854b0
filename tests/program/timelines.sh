# SPDX-License-Identifier: GPL-3.0-or-later
# The report's timeline has the spans that export --trace writes, and its map of waiting the numbers of the samples.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

expect 0 "$TUTTI" run stencil -n 4 --size 64 --iterations 40 --write every=4 --mode async+bg --trace yes "${here[@]}" --json out.json
expect 0 "$TUTTI" export "$runs" --trace trace.json
run=$(find "$runs" -mindepth 1 -maxdepth 1 -type d)
expect 0 "$TUTTI" report "$run" --format json -o report.json
figure() { jq -e ".figures[] | select(.kind == \"$1\")" report.json; }
figure timeline >timeline.json || fail "no timeline"
figure heat >heat.json || fail "no map of waiting"

# Spans: as many of every kind, on as many tracks, and in sum as long.
jq -c '[.traceEvents[] | select(.ph == "X") | {kind: ((if .cat == "call" then "call " else "" end) + .name), us: .dur}] | group_by(.kind) |
    map([.[0].kind, length])' trace.json >expected
jq -c '. as $f | [.spanKind[] | $f.kinds[.].name] | group_by(.) | map([.[0], length])' timeline.json >shown
diff expected shown || fail "spans by kind differ"
holds '($a - $b | fabs) < 1e-5 * $a' a="$(jq '[.traceEvents[] | select(.ph == "X").dur] | add / 1e6' trace.json)" b="$(jq '.duration | add' timeline.json)"
holds '($a - $b | fabs) < 1e-5 * $a' a="$(jq '[.traceEvents[] | select(.ph == "X").ts] | add / 1e6' trace.json)" b="$(jq '.start | add' timeline.json)"
equal "$(jq '[.traceEvents[] | select(.ph == "X") | [.pid, .tid]] | unique | length' trace.json)" "$(jq '.tracks | length' timeline.json)" "tracks"
# Tracks follow each other without a hole, and a track is in the order of its starts.
jq -e '. as $f | (reduce .tracks[] as $t (0; if $t.first == . then . + $t.n else error("a hole") end)) == ($f.start | length) and
    ([.tracks[] | . as $t | $f.start[$t.first:$t.first + $t.n] | . == sort] | all)' timeline.json >/dev/null || fail "tracks"
equal "$(jq -c '[.traceEvents[] | select(.args.request).args.request] | sort' trace.json)" "$(jq -c '[.ids[] | select(. > 0)] | sort' timeline.json)" "requests"

# A cell is what a rank waited in an iteration.
equal '[40,4,1,1,0,1]' "$(jq -c '[.nx, .ny, .x0, .dx, .y0, .dy]' heat.json)" "the grid"
jq -n --slurpfile heat heat.json --slurpfile out out.json '$out[0].samples | (.columns | [index("iteration", "halo_ns", "collective_ns", "wait_ns")])
    as [$i, $h, $c, $w] | [.ranks[].rows[] | select(.[$i] > 0 and .[-1] == 0)] | length as $n | (map(.[$h] + .[$c] + .[$w]) | add / 1e9) as $sum |
    ($heat[0].cells | map(select(. != null))) as $cells | [$n == ($cells | length), ($sum - ($cells | add) | fabs) < 1e-5 * $sum, $n > 0]' -c >same
equal '[true,true,true]' "$(cat same)" "cells and samples agree"
jq -e '.figures[] | select(.kind == "heat").text | test("halo . collective . wait")' report.json >/dev/null || fail "the map does not say what waiting is"

# Without a trace there is no timeline; one rank waits for nobody.
expect 0 "$TUTTI" run stencil -n 1 --size 16 --iterations 4 --dir "$data" --results alone --min-free 0
expect 0 "$TUTTI" report "$(find alone -mindepth 1 -maxdepth 1 -type d)" --format json -o alone.json
equal 0 "$(jq '[.figures[] | select(.kind == "timeline" or .kind == "heat")] | length' alone.json)" "figures of a run without a trace"
no_data_left
