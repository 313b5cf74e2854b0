# SPDX-License-Identifier: GPL-3.0-or-later
# Reports of real runs, of an ensemble and a study, in every format: their numbers are those that other commands show. What
# the page draws of them is tested in tests/page.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

narrow() { [ "$(LC_ALL=C.UTF-8 wc -L <out)" -le 80 ] || fail "wider than 80 columns: $(cat out)"; }
figure() { jq -e ".figures[] | select(.id == \"$1\")" doc.json || fail "no figure $1 in $(jq -c '[.figures[].id]' doc.json)"; }
has_page() { ! "$TUTTI" report "$1" -o - 2>&1 | grep -q 'built without the page'; }

# ---- a run ----
evil='</script><img src=x onerror=alert(1)> "quotes" & '\''more'\'' {{x}}'
expect 0 "$TUTTI" run stencil -n 2 --size 64 --iterations 40 --write every=5 --mode async+bg --label "$evil" "${here[@]}"
run=$(last_run)
expect 0 "$TUTTI" show "$run" --json shown.json
expect 0 "$TUTTI" report "$run" --format json -o doc.json
grep -q '^doc.json$' out || fail "the path is not told: $(cat out)"
grep -q '^stencil on 2 ranks: write ' out || fail "the answer is not told: $(cat out)"
equal "$(jq .metrics.runtime.value shown.json)" "$(figure metrics | jq '.rows[] | select(.[0] == "runtime") | .[1]')" runtime
equal "$(jq '.phases.compute.median' shown.json)" "$(figure phases | jq '.x.categories as $c | .series[0].y[$c | index("compute")]')" "compute"
equal "$(jq '.phases.halo.max' shown.json)" "$(figure phases | jq '.x.categories as $c | .series[0].high[$c | index("halo")]')" "halo"
equal "$(jq '.rates.rows | map(.[1]) | add' shown.json)" \
    "$(figure rates | jq --argjson dt "$(jq .rates.interval shown.json)" '.series[0].y | map(. * $dt) | add | round')" "bytes over time"
equal "$(jq '.calls.write.max' shown.json)" "$(figure latencies | jq '.series[] | select(.name == "write") | .y[-1]')" "longest write"
equal "$(jq '[.warnings[].text | split(": ")[0]]' shown.json)" "$(jq '[.warnings[].text]' doc.json)" warnings
equal "$(jq -r .environment.kernel shown.json)" "$(jq -r '.runs[0].facts.kernel' doc.json)" "a fact"
jq -e '.metrics.runtime.definition and .phases[0].colour == 0' doc.json >/dev/null || fail "no definitions"
equal '["rank 0","rank 1"]' "$(figure iterations | jq -c '[.groups[].name]')" "groups of iterations"
holds '$n > 20 and $n <= 40' n="$(figure iterations-over-time | jq '.series[0].y | length')" # without baseline epochs
# The command runs the same plan again.
repeat=$(jq -r '.runs[0].repeat' doc.json)
(eval "${repeat/tutti/\"\$TUTTI\"} $(printf '%q ' "${here[@]}") --quiet")
again=$(last_run)
equal "$(jq -r .hash "$run/plan.json")" "$(jq -r .hash "$again/plan.json")" "the plan of: $repeat"

expect 0 "$TUTTI" report "$run" --format text
narrow
grep -qE '^  [a-z_]+ .* to .* [#=-]+$' out || fail "no bar: $(cat out)"
grep -q '^  write .*  *[_.:=+*#-]' out || fail "no rate over time"
! LC_ALL=C.UTF-8 grep -qP '[^\x00-\x7f]' out || fail "more than ASCII in a pipe"
if command -v script >/dev/null; then
    LC_ALL=C.UTF-8 script -qec "'$TUTTI' report '$run' --format text" /dev/null >shown
    LC_ALL=C.UTF-8 grep -qP '\x{2588}' shown || fail "no plot in Unicode on a terminal that shows it"
fi
expect 0 "$TUTTI" report "$run" --format md
grep -q '^| phase | median over ranks |' out || fail "no table: $(head -40 out)"
expect 0 "$TUTTI" report "$run" --format csv
equal 'figure,series,x,y,low,high,run' "$(head -n 1 out)" header
equal "$(jq .phases.compute.median shown.json)" "$(awk -F, '$1 == "phases" && $3 == "compute" { print $4 }' out | jq .)" "compute in CSV"

# ---- the page: one file, and nothing that a name holds is markup ----
if has_page "$run"; then
    expect 0 "$TUTTI" report "$run"
    grep -q '^tutti-report.html$' out || fail "$(cat out)"
    ! grep -q '<img src=x' tutti-report.html || fail "a label is markup"
    ! grep -qE '@TUTTI_(TITLE|DOCUMENT)@' tutti-report.html || fail "a place is not filled"
    sed -n 's/^.*id="tutti-document">//p' tutti-report.html | head -c 20 | grep -q '^{"format":1,' || fail "no document"
    [ "$(stat -c %s tutti-report.html)" -lt 800000 ] || fail "the page is large"
    expect 0 "$TUTTI" report "$run" # its own is replaced
    echo mine >tutti-report.html
    expect 1 "$TUTTI" report "$run"
    one_line "'tutti-report.html' exists, and tutti did not make it; name another place"
    equal mine "$(cat tutti-report.html)" "somebody's file"
    rm tutti-report.html
    mkfifo tutti-report.html # neither is anybody waited for
    expect 1 "$TUTTI" report "$run"
    one_line "tutti did not make it"
    rm tutti-report.html
    ln -s tutti-report.html tutti-report.html # nobody can tell whose it is
    expect 1 "$TUTTI" report "$run"
    one_line "tutti-report.html"
    [ -L tutti-report.html ] || fail "a link was replaced"
    rm tutti-report.html
else
    expect 1 "$TUTTI" report "$run"
    one_line 'built without the page'
fi

# ---- an ensemble, and nothing named: the newest answer ----
printf '%s\n' 'reference: {workload: stencil, size: 64, iterations: 100, write: {every: 10}}' \
    'load: {workload: stencil, size: 64}' 'others: [0, 1]' 'repeat: 2' >e.yaml
expect 0 "$TUTTI" ensemble e.yaml --cpus 1 --quiet --dir "$data" --results tutti-runs --min-free 0
ensemble=$(echo tutti-runs/ensemble-*)
expect 0 "$TUTTI" ensemble show "$ensemble" --json shown.json
expect 0 "$TUTTI" report --format json -o doc.json
grep -q '^With 1 other the reference takes [0-9.]* x as long' out || fail "$(cat out)"
equal "$(jq -c '[.steps[].slowdown.value]' shown.json)" "$(figure slowdown | jq -c '.series[0].y')" slowdown
equal "$(jq '1 + .steps[1].noise.value' shown.json)" "$(figure slowdown | jq '.marks[0].to')" "the A/A floor"
equal "$(jq -c '[.steps[].runtime.values]' shown.json)" "$(figure runtimes | jq -c '[.groups[].y]')" "every repetition"
equal "$(jq -c '[.steps[].runtime.median]' shown.json)" "$(figure runtimes | jq -c '[.groups[].median]')" medians
equal "$(jq '.steps[1].phases.compute.seconds' shown.json)" "$(jq '.figures[] | select(.kind == "stack") | .series[] | select(.name == "compute") | .y[1]' doc.json)" "computation with one other"
equal '["load","others","round"]' "$(jq -c '.varied | sort' doc.json)" "what can be filtered by"
expect 0 "$TUTTI" report "$ensemble" --format text
narrow
grep -qE '^  1  .*[#=-]+$' out || fail "no curve: $(cat out)"

# ---- a study, many runs, a comparison ----
expect 0 "$TUTTI" study stencil --size 32 --iterations 10 --write every=5 --sweep work=1,2 --sweep write.every=2,5 --repeat 1 --quiet "${here[@]}"
study=$(echo "$runs"/study-*)
expect 0 "$TUTTI" study show "$study" --json shown.json
expect 0 "$TUTTI" report "$study" --format json -o doc.json
equal "$(jq -c '[.rows[].metrics.runtime.median] | sort' shown.json)" \
    "$(jq -c '[.figures[] | select(.id == "runtime") | .panels[].series[].y[]] | sort' doc.json)" "medians of points"
equal 2 "$(jq '.figures[] | select(.id == "runtime") | .panels | length' doc.json)" panels
expect 0 "$TUTTI" report "$runs" --format json -o doc.json
expect 0 "$TUTTI" runs "$runs" --json shown.json
equal "$(jq '[.. | objects | select(has("directory") and has("id"))] | length' shown.json)" "$(jq '.runs | length' doc.json)" "number of runs"
jq -e '.figures[] | select(.id == "runs") | .rows | length == 6' doc.json >/dev/null || fail "$(jq -c '[.figures[] | {id, n: (.rows | length)}]' doc.json)"
expect 0 "$TUTTI" report "$runs" stencil.size=64 --format csv
equal 2 "$(grep -c '^runtime,' out)" "runs that match"
expect 0 "$TUTTI" compare "$run" "$again" --json shown.json
expect 0 "$TUTTI" report --compare "$run" "$again" --format json -o doc.json
equal "$(jq '.plans[0].metrics[] | select(.metric == "runtime") | .effect.value' shown.json)" \
    "$(figure verdicts | jq '.rows[] | select(.[0] == "runtime") | .[4]')" "B against A"

# ---- a matrix: who is slowed down by whom ----
printf '%s\n' 'set:' '  solver: {workload: stencil, size: 32, iterations: 40, write: {every: 20}}' \
    '  reader: {workload: reader, files: 1, size: 64k, passes: 2}' 'others: [1]' 'repeat: 1' 'alone: 1' >m.yaml
expect 0 "$TUTTI" ensemble matrix m.yaml --cpus 1 --warmup 0.1s --settle 0 --quiet --dir "$data" --results matrix --min-free 0
expect 0 "$TUTTI" ensemble show matrix/ensemble-* --json shown.json
expect 0 "$TUTTI" report matrix/ensemble-* --format json -o doc.json
grep -qE '^(solver|reader) beside 1 (solver|reader) takes [0-9.]+ x as long' out || fail "who beside whom is not told: $(cat out)"
for pair in solver/solver solver/reader reader/solver reader/reader; do
    equal "$(jq --arg r "${pair%/*}" --arg l "${pair#*/}" '.steps[] | select(.others == 1 and .reference == $r and .loads[0] == $l) | .slowdown.value' shown.json)" \
        "$(figure matrix | jq --arg r "${pair%/*}" --arg l "${pair#*/}" '. as $m | $m.cells[($m.rows | index($r)) * 2 + ($m.columns | index($l))].value')" "$pair"
done
equal "$(jq '[.steps[] | select(.others == 1) | .slowdown.value] | max' shown.json)" \
    "$(jq -r '.answer[0]' doc.json | sed -E 's/.* takes ([0-9.e+]+) x .*/\1/' | jq --argjson most "$(jq '[.steps[] | select(.others == 1) | .slowdown.value] | max' shown.json)" \
        'if (. / $most - 1 | fabs) < 0.01 then $most else . end')" "the answer leads with the worst"
expect 0 "$TUTTI" report matrix/ensemble-* --format text
narrow
equal 2 "$(sed -n '/^To repeat it/,$p' out | grep -c '^    tutti run ')" "commands, each once"

# ---- a search, and a survey ----
expect 0 "$TUTTI" tune bulk --block 256k --transfer 64k --read no -n 1 --layers throttle --throttle.ops 40 --fixed all --sweep transfer=256k,3m \
    --repeat 6 --quiet --dir "$data" --results search --min-free 0 --json shown.json
expect 0 "$TUTTI" report search/study-* --format json -o doc.json
equal "$(jq -r .text shown.json)" "$(jq -r '.answer[0]' doc.json)" "the answer of a search"
equal "$(jq -c '[.tried[] | [.setting, .median, .runs]]' shown.json)" "$(figure settings | jq -c .rows)" "settings"
equal "$(jq -c '[.tried[].median]' shown.json)" "$(figure tried | jq -c '.series[0].y')" "medians of settings"
jq -e '.warnings | any(.text | test("transfer=3m"))' doc.json >/dev/null || fail "nothing on what was refused: $(jq .warnings doc.json)"
expect 0 "$TUTTI" report search/study-* --format text
narrow
expect 0 "$TUTTI" survey flash --parts bandwidth --processes 1 --transfers 64k --size 128k --flushes 1 --repeat 2 --deadline 1s --quiet \
    --dir "$data" --results survey --min-free 0 --json shown.json
expect 0 "$TUTTI" report survey/survey-* --format json -o doc.json
grep -q '^bandwidth, naive: write .*B/s, read .*B/s, as the highest mean.$' out || fail "no answer of a survey: $(cat out)"
equal "$(jq -c '[.summary[] | select(.table == "bandwidth, aged") | [.access, .mean]]' shown.json)" \
    "$(figure bandwidth--aged | jq -c '[.rows[] | [.[1], .[3]]]')" "aged means"

# ---- a history of one plan whose level changes, and the model of overlap ----
# copy DIRECTORY FILTER [FILTER OF THE PLAN]: the run again, with other numbers.
copy() {
    cp -r "$run" "$1"
    jq --arg id "${1##*/}" ".id = \$id ${3:+| $3}" "$run/plan.json" >"$1/plan.json"
    jq --slurpfile plan "$1/plan.json" --arg id "${1##*/}" ".id = \$id | .plan = \$plan[0] | $2" "$run/result.json" >"$1/result.json"
}
mkdir history
for i in {10..39}; do
    copy history/202601${i}T000000Z-000000$i ".metrics.runtime.value = (if $i < 30 then 1 else 2 end) + $i % 3 / 100"
done
expect 0 "$TUTTI" report history --format json -o doc.json
figure history | jq -e '[.marks[] | select(.axis == "x")] == [{"axis": "x", "from": 19.5, "label": "the level changed with run 20"}]' >/dev/null ||
    fail "the change: $(figure history | jq -c .marks)"
figure history | jq -e '[.marks[] | select(.axis == "y") | .from] | all(. > 1 and . < 1.1) and length == 2' >/dev/null || fail "limits: $(figure history | jq -c .marks)"
expect 0 "$TUTTI" report history --format text
narrow
grep -q '^  limit of the level: 1.0[0-9]* s$' out || fail "no limit: $(grep limit out)"
mkdir model
for mib in 1 2 4 8; do
    for way in none/dump/0 async/background/1; do
        IFS=/ read -r overlap sync number <<<"$way"
        copy model/2026010${mib}T000000Z-0000000$number ".metrics.epoch_bytes.value = $mib * 1048576 | .metrics.write_rate.value = (10 + $mib) * 1048576 | .metrics.copy_rate.value = (100 + 10 * $mib) * 1048576
            | .metrics.compute_only.value = 0.1 | .metrics.epoch_compute.value = 0.1 | .metrics.epoch_time.value = 0.1 + $mib / (10 + $mib)" \
            ".parameters.overlap = \"$overlap\" | .parameters.sync = \"$sync\""
    done
done
expect 0 "$TUTTI" report model --format json -o doc.json
figure model-rates | jq -e '.rows[0] | .[0] == "storage" and .[1] == 4 and .[2] > 0.999999 and .[3] < 1e-6' >/dev/null || fail "the fit: $(figure model-rates | jq -c .rows)"
figure model-epochs | jq -e '(.series[] | select(.name == "sync") | [.x, .y] | transpose | length == 4 and all(.[1] / .[0] - 1 | fabs < 1e-6)) and
    (.series[-1].dashed and .series[-1].x == .series[-1].y)' >/dev/null || fail "predicted and measured: $(figure model-epochs | jq -c .series)"

# ---- bad input: a line that says what to do ----
expect 1 "$TUTTI" report "$runs" label=none --format text
one_line "no run matches"
expect 1 "$TUTTI" report "$work/nothing" --format text
one_line "no results directory"
expect 1 "$TUTTI" report "$run" --format json -o "$data"
one_line "is a directory"
expect 2 "$TUTTI" report "$run" --format pdf
one_line "pdf"
expect 2 "$TUTTI" report --compare "$run" --format text
one_line "two sets of runs"
expect 1 "$TUTTI" report "$run" --format json -o /dev/full
one_line "No space left"
mkdir empty
expect 1 "$TUTTI" report empty --format text
one_line "no runs in"
# One that a newer tutti made; one without a metric; one whose numbers are huge.
cp -r "$run" newer
jq '.tutti.format = 99' "$run/result.json" >newer/result.json
expect 1 "$TUTTI" report newer --format text
one_line "newer tutti"
jq 'del(.metrics) | .phases = null | .rates = null | .calls = null' "$run/result.json" >newer/result.json
expect 0 "$TUTTI" report newer --format text
grep -q 'nothing was measured' out || fail "$(cat out)"
jq '.metrics.runtime.value = 1e300 | .phases.compute.median = 1e308 | .phases.compute.max = 1.7e308' "$run/result.json" >newer/result.json
for format in text md csv json; do expect 0 "$TUTTI" report newer --format $format; done
! grep -qiwE 'nan|inf' out || fail "no number in JSON"
rm -r newer/records
expect 0 "$TUTTI" report newer --format text
grep -q 'single iterations cannot be shown' out || fail "$(cat out)"
