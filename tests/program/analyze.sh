# SPDX-License-Identifier: GPL-3.0-or-later
# Analyses from run directories to a report: real frames, and copies of a run with known numbers in their results. What the
# numbers mean is in tests/unit/analyze.c and tests/program/statistics.sh.
# processors: 1
# labels: sanitize
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

narrow() { [ "$(wc -L <out)" -le 80 ] || fail "wider than 80 columns: $(cat out)"; }
factor() { jq -r ".factors[] | select(.factor == \"$1\") | .$2" out.json; }
said() { tr -s '\n ' ' ' <out | grep -qE -- "$1" || fail "expected '$1': $(cat out)"; } # wherever lines end
no_wrong_number() { ! grep -qiwE 'nan|-nan|inf|-inf' out || fail "$(cat out)"; }

# Four frames of two ranks, of which the first does not count, in two styles.
for style in single file+open; do
    for i in 1 2; do
        expect 0 "$TUTTI" run frames -n 2 --edge 8 --frames 9 --style "$style" --quiet "${here[@]}" --label "take $i"
    done
done
expect 0 "$TUTTI" analyze "$runs" --json out.json --csv curves.csv
narrow
no_wrong_number
equal '[4,2,4,32,64,8,0]' "$(jq -c '[.counts[]]' out.json)" counts
equal median "$(jq -r .over out.json)" "over ranks"
equal "rank frame frames.style" "$(jq -r '[.factors[].factor] | join(" ")' out.json)" factors
equal '[2,8,2]' "$(jq -c '[.factors[].count]' out.json)" levels
equal "too few" "$(factor frames.style verdict)" "two runs of a style"
said '2 more runs of each needed'
said '2 more runs for an interval'
equal 'key,level,curve,value,y' "$(head -n 1 curves.csv)" header
equal 'all all,frames.style file+open,frames.style single' \
    "$(tail -n +2 curves.csv | cut -d , -f 1,2 --output-delimiter ' ' | sort -u | paste -sd ,)" groups
equal 1536 "$(grep -c ',density,' curves.csv)" "points of densities"
if command -v Rscript >/dev/null; then
    expect 0 Rscript --vanilla "$SOURCE/examples/curves.R" curves.csv plot.pdf
    [ -s plot.pdf ] || fail "no plot"
fi
# Opening counts where the style says so, and so does the median over ranks that the result has of each frame.
one=$(dirname "$(grep -l '"frames.style": *"file+open"' "$runs"/*/plan.json | head -n 1)")
expect 0 "$TUTTI" analyze "$one" --json out.json
expect 0 "$TUTTI" show "$one" --json shown.json
holds '($a - $b | fabs) < 1e-7' a="$(jq .median.value out.json)" \
    b="$(jq '[.tables.frames[] | select(.counted == 1) | .median] | sort | (.[3] + .[4]) / 2' shown.json)"
equal 1 "$(jq .counts.runs out.json)" "one run directory"
expect 0 "$TUTTI" analyze "$runs" --metric compute+io_write --over slowest --by rank --json out.json
equal rank "$(jq -r '[.factors[].factor] | join(" ")' out.json)" "only what was asked for"
expect 0 "$TUTTI" analyze "$runs" --metric io_write --by label,frame --json -
jq -e '[.factors[].factor] == ["frame", "label"]' out >/dev/null || fail "$(cat out)"

# Sixteen results in two sizes, 20 % apart, and their numbers as R has them.
real=$one
results=$work/results
mkdir "$results"
times=(10.0 10.3 9.9 10.1 9.8 10.2 10.05 9.95)
for edge in 8 16; do
    for i in "${!times[@]}"; do
        to=$results/$edge-$i
        mkdir "$to"
        change=".hash = \"$edge\" | .parameters[\"frames.edge\"] = \"$edge\" | .id = \"20260101T0000${i}0Z-0000${edge#1}00$i\""
        jq "$change" "$real/plan.json" >"$to/plan.json"
        jq --slurpfile plan "$to/plan.json" --argjson t "$(jq -n "${times[i]} * (if $edge == 16 then 1.2 else 1 end)")" \
            '.plan = $plan[0] | .id = $plan[0].id | .metrics.runtime.value = $t' "$real/result.json" >"$to/result.json"
    done
done
expect 0 "$TUTTI" analyze "$results" --metric runtime --json out.json
narrow
equal matters "$(factor frames.edge verdict)" verdict
holds '($h - 11.294117647 | fabs) < 1e-6' h="$(factor frames.edge h)" # kruskal.test
holds '($p - 0.000777530 | fabs) < 1e-8' p="$(factor frames.edge p)"
holds '($d - 1 | fabs) < 1e-9 and ($e - 1.2 | fabs) < 1e-9' d="$(factor frames.edge 'pairs[0].delta')" e="$(factor frames.edge 'pairs[0].effect')"
holds '($w - 0.000155400 | fabs) < 1e-8' w="$(factor frames.edge 'pairs[0].mann_whitney')" # wilcox.test
said 'In 16 runs the runtime has a median of 11.0 s \(95 % interval [0-9.]+ s to [0-9.]+ s\).*; frames.edge matters\. $'
said '6 runs each show a change of 5 % four times in five'

# The workload of a key may be left out where there is one; a mode is what it is short for, and its keys are one factor.
expect 0 "$TUTTI" analyze "$results" --metric runtime --by edge --json out.json
equal frames.edge "$(jq -r '[.factors[].factor] | join(" ")' out.json)" "a bare key"
for mode in 'none dump' 'async background'; do
    for i in "${!times[@]}"; do
        to=$work/modes/${mode% *}-$i
        mkdir -p "$to"
        jq --arg mode "$mode" '($mode / " ") as $m | .hash = $mode | .parameters.overlap = $m[0] | .parameters.sync = $m[1]' \
            "$results/8-$i/plan.json" >"$to/plan.json"
        jq --slurpfile plan "$to/plan.json" --arg mode "$mode" '.plan = $plan[0] |
            .metrics.runtime.value *= (if $mode == "none dump" then 2 else 1 end)' "$results/8-$i/result.json" >"$to/result.json"
    done
done
for by in '' '--by mode' '--by overlap'; do
    expect 0 "$TUTTI" analyze "$work/modes" --metric runtime $by --json out.json
    equal "overlap, sync" "$(jq -r '[.factors[].factor] | join(" ")' out.json)" "keys that vary together"
    equal matters "$(factor "overlap, sync" verdict)" "a mode"
done
expect 0 "$TUTTI" analyze "$work/modes" --metric runtime mode=async+bg --json out.json
equal 8 "$(jq .counts.runs out.json)" "runs of a mode"

# Eight runs of eight configurations say nothing of chance.
mkdir "$work/single"
for i in "${!times[@]}"; do
    cp -r "$results/8-$i" "$work/single/$i"
    jq ".hash = \"single $i\" | .parameters[\"frames.edge\"] = \"$((8 + i))\"" "$results/8-$i/plan.json" >"$work/single/$i/plan.json"
    jq --slurpfile plan "$work/single/$i/plan.json" '.plan = $plan[0]' "$results/8-$i/result.json" >"$work/single/$i/result.json"
done
expect 0 "$TUTTI" analyze "$work/single" --metric runtime
said 'normal\? not tested: no configuration was repeated'
said 'modes not tested: no configuration was repeated'
said 'power unknown: no configuration was repeated'

# What cannot be told.
# Runs of several machines are analyzed, but not without a word; those of one have none.
! grep -q '^  mixed' out || fail "$(cat out)"
cp -r "$results" "$work/mixed"
rm -f "$work/mixed"/index.sqlite*
jq '.environment.host = "elsewhere"' "$work/mixed/8-0/result.json" >edited
mv edited "$work/mixed/8-0/result.json"
expect 0 "$TUTTI" analyze "$work/mixed" --metric runtime --json out.json
equal '{"machines":2}' "$(jq -c .mixed out.json)" "what is mixed"
said 'mixed 2 machines: what differs between them is in these numbers; choose by host='
expect 0 "$TUTTI" analyze "$work/mixed" host!=elsewhere --metric runtime --json out.json
equal '{}' "$(jq -c .mixed out.json)" "what is mixed"
# Values that are all the same are no sample to test anything on.
expect 0 "$TUTTI" analyze "$results" frames.edge=8 --metric bytes_written
said 'spread IQR 0 B, MAD 0 B, standard deviation 0 B'
said 'normal\? not tested: that takes three values that differ'
no_wrong_number
# A number that is none is no number of the run, wherever it came from.
rm "$work/mixed"/index.sqlite*
sed 's/"value": 10.3,/"value": 1e999,/' "$work/mixed/8-1/result.json" >edited
! cmp -s edited "$work/mixed/8-1/result.json" || fail "there is no such number"
mv edited "$work/mixed/8-1/result.json"
expect 0 "$TUTTI" analyze "$work/mixed" --metric runtime
said 'mixed: 15 runs of 2 configurations'
one_line 'directories that are damaged or of another version: 1 \(tutti index names them\)'
no_wrong_number

expect 1 "$TUTTI" analyze "$results" frames.edge=99
one_line 'no run matches .*frames.edge=99'
expect 1 "$TUTTI" analyze "$results"
one_line "none of 16 runs has a write time of a frame; the first one is left out: opendir of .*records"
expect 1 "$TUTTI" analyze "$results" --metric create_rate
one_line 'none of 16 runs has a create rate; the first one is left out: not measured'
mkdir "$work/empty"
expect 1 "$TUTTI" analyze "$work/empty"
one_line "no runs in '.*empty'"
expect 1 "$TUTTI" analyze "$work/nowhere"
one_line 'nowhere'
usage "'rutime' is neither a metric .* did you mean 'runtime'" "$TUTTI" analyze "$results" --metric rutime
usage "\-\-by: unknown key 'frames.edgy' .*frames.edge" "$TUTTI" analyze "$results" --by frames.edgy
usage "'runtime' has one value a run" "$TUTTI" analyze "$results" --metric runtime --by rank
for i in 0 1 2 3 4 5 6 7; do
    jq '.metrics.runtime.value = null' "$results/8-$i/result.json" >x && mv x "$results/8-$i/result.json"
    jq '.metrics.runtime.value = 5' "$results/16-$i/result.json" >x && mv x "$results/16-$i/result.json"
done
expect 0 "$TUTTI" index "$results" --rebuild
expect 0 "$TUTTI" analyze "$results" --metric runtime --by frames.edge
no_wrong_number
said 'left out 8:.*not measured'
said 'not tested: it is the same in all runs'
expect 0 "$TUTTI" analyze "$results" --metric runtime --by label
said 'normal\? not tested'
# What may be 0 has differences, not ratios.
for i in 0 1 2 3 4 5 6 7; do
    jq ".metrics.hidden_fraction.value = $i / 100" "$results/8-$i/result.json" >x && mv x "$results/8-$i/result.json"
    jq ".metrics.hidden_fraction.value = 0.5 + $i / 100" "$results/16-$i/result.json" >x && mv x "$results/16-$i/result.json"
done
expect 0 "$TUTTI" index "$results" --rebuild
expect 0 "$TUTTI" analyze "$results" --metric hidden_fraction
said '16 against 8: 0.5 more, delta \+1.00'
