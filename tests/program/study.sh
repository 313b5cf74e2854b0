# SPDX-License-Identifier: GPL-3.0-or-later
# A study runs every point of its grid, tells what matters, grows, and goes on after its driver was killed without
# running again what is done.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq

cat >study.yaml <<END
workload: bulk
backend: discard
block: 64k
segments: 1
read: no
settle: 0
vary:
  transfer: 4k..64k*4
  seed: [1, 2]
skip: transfer == 64k and seed == 2
repeat: 2
metrics: write_rate
END
study=("$TUTTI" study)
names() { jq -r '.point' "$1/journal" | sort; }
twice() { names "$1" | uniq -c | awk -v n="$2" '$1 != n' | wc -l; } # points without N lines in the journal

# The budget is said and kept beforehand, and nothing is made then.
expect 0 "${study[@]}" study.yaml "${here[@]}" --dry-run
grep -qx 'study       5 points, 1 skipped' out || fail "the announcement: $(cat out)"
grep -qx 'runs        10' out || fail "the announcement: $(cat out)"
grep -qx 'writes      640 KiB' out || fail "the announcement: $(cat out)"
expect 1 "${study[@]}" study.yaml "${here[@]}" --max-bytes 600k --quiet
one_line '^tutti: the study writes 640 KiB in all, more than --max-bytes 600 KiB; '
expect 1 "${study[@]}" study.yaml "${here[@]}" --max-time 1s --quiet
one_line '^tutti: the study takes at least 3.00 s, more than --max-time 1.00 s; '
[ ! -e "$runs" ] || fail "a refused study has left something"

expect 0 "${study[@]}" study.yaml "${here[@]}" --json out.json --csv long.csv
done=$(jq -r .directory out.json)
equal "$(wc -l <"$done/journal")" 10 "repetitions"
equal "$(twice "$done" 2)" 0 "points that were not run twice"
equal "$(jq -r '.round' "$done/journal" | tr '\n' ' ')" '1 1 1 1 1 2 2 2 2 2 ' "rounds"
equal "$(jq -c '[.rows[] | [.values.transfer, .values.seed, .metrics.write_rate.n]]' out.json)" \
    '[["4k","1",2],["4k","2",2],["16k","1",2],["16k","2",2],["64k","1",2]]' "rows"
! grep -E '.{81}' out || fail "wider than 80 columns"
tail -n 4 out | tr '\n' ' ' | grep -qE 'With 2 runs a point it cannot be told which keys matter for write_rate \(at least 6 are needed\); the best of 5 points is .*\. $' ||
    fail "no sentence at the end: $(cat out)"
jq -e '[.findings[].variance.shares[] | has("low")] | any | not' out.json >/dev/null || fail "two runs have an interval"

# Long and wide have plain headers and a row each, and the directories in them are runs that the index knows.
equal "$(head -n 1 long.csv)" point,transfer,seed,repetition,round,directory,metric,unit,value "header"
equal "$(wc -l <long.csv)" 11 "lines of the long form"
expect 0 "${study[@]}" show "$done" --csv wide.csv --csv-form wide --metrics write_rate,runtime
equal "$(head -n 1 wide.csv)" point,transfer,seed,repetition,round,directory,write_rate,runtime "header"
equal "$(wc -l <wide.csv)" 11 "lines of the wide form"
id=$(awk -F, 'NR == 2 { sub(".*/", "", $6); print $6 }' long.csv)
expect 0 "$TUTTI" runs "$runs" bulk.transfer=4096 --json found.json
equal "$(jq --arg id "$id" '[.runs | length, any(.[]; .id == $id)]' -c found.json)" '[4,true]' "runs of 4 KiB in the index"

for word in factor explains repetitions runs median '(least to most)' '95 % interval'; do
    expect 0 "$TUTTI" explain "$word"
done

# What no run measures is said to be so.
expect 0 "${study[@]}" show "$done" --metrics create_rate
grep -qx 'No run measures create_rate\.' out || fail "an unknown metric: $(cat out)"

# A metric or key that does not exist is refused, with the nearest one.
usage "^tutti: metrics: there is no metric 'wrte_rate' \(did you mean 'write_rate'\?\)" \
    "${study[@]}" show "$done" --metrics wrte_rate
usage "^tutti: sort: 'wrte_rate' is neither varied nor a metric \(did you mean 'write_rate'\?\)" \
    "${study[@]}" show "$done" --sort wrte_rate
usage "^tutti: pivot: 'tranfer' is not varied \(did you mean 'transfer'\?\)" "${study[@]}" show "$done" --pivot tranfer

# The scripts for R and Python read the long form, and find as many runs of a point.
if command -v python3 >/dev/null; then
    expect 0 python3 "$SOURCE/examples/study.py" long.csv
    equal "$(awk '$1 == "16k" && $2 == 2 { print $3 }' out)" 2 "runs in the summary of Python"
    expect 1 python3 "$SOURCE/examples/study.py" wide.csv
fi
if command -v Rscript >/dev/null; then
    expect 0 Rscript "$SOURCE/examples/study.R" long.csv write_rate
    equal "$(awk '$1 == "16k" && $2 == 2 { print $3 * 1 }' out)" 2 "runs in the summary of R"
fi

# Sorted and pivoted, and the same by tutti show.
expect 0 "${study[@]}" show "$done" --sort write_rate --json again.json
equal "$(jq -S 'del(.tutti)' again.json)" "$(jq -S 'del(.tutti)' out.json)" "a study shown again"
expect 0 "${study[@]}" show "$done" --pivot transfer
grep -qE '^  seed +4k +16k +64k$' out || fail "not pivoted: $(cat out)"
grep -qE '^ +2 .* -$' out || fail "a skipped point has a number: $(cat out)"
expect 0 "${study[@]}" show "$done" --sort write_rate --pivot seed
equal "$(awk '$1 == "transfer" { on = NF == 3 } on && $1 ~ /^(4|16|64)k$/ { print $1 }' out | head -n 3 | tr '\n' ' ')" \
    "$(jq -r '[.rows[] | {t: .values.transfer, m: .metrics.write_rate.median}] | group_by(.t) |
        sort_by(-(map(.m) | max))[] | .[0].t' out.json | tr '\n' ' ')" "sorted rows of a pivoted table"
expect 0 "$TUTTI" show "$done" --csv -
grep -q '^point,' out || fail "tutti show has no CSV"

# What is there is not run again; more values and more repetitions are.
expect 0 "${study[@]}" --resume "$done" --quiet
equal "$(wc -l <"$done/journal")" 10 "repetitions after nothing was to be done"
expect 0 "${study[@]}" --resume "$done" --sweep transfer=8k --quiet
equal "$(wc -l <"$done/journal")" 14 "repetitions of a grid that grew"
expect 0 "${study[@]}" --resume "$done" --add 1 --quiet
equal "$(twice "$done" 3)" 0 "points that were not run three times"
expect 0 "${study[@]}" --resume "$done" --quiet --json out.json
equal "$(wc -l <"$done/journal")" 21 "repetitions that were added once"
expect 0 "${study[@]}" study.yaml --resume "$done" --quiet "${here[@]}"
equal "$(wc -l <"$done/journal")" 21 "repetitions although the file asks for fewer"
equal "$(jq -c '[.factors[0].values]' out.json)" '[["4k","8k","16k","64k"]]' "values of a grid that grew"

# A directory of studies is not a study.
for command in show --resume; do
    expect 1 "${study[@]}" "$command" "$runs"
    one_line "^tutti: '$runs' is not a study: it has no study.json; name the directory study-"
done

# Another base is another study, and a directory may be anybody's.
usage '^tutti: --block: block would change what is measured by a resumed study' \
    "${study[@]}" --resume "$done" --block 128k
cp "$done/study.json" kept
jq '.points[0].hash = "0123456789abcdef"' kept >"$done/study.json"
expect 1 "${study[@]}" --resume "$done" --quiet
one_line 'plans its points otherwise'
for broken in '{}' '.format = 99' '.points = []' '.points[0].values = []' '.points[0].hash = "../x"' \
    '.factors[0].values = 3' '.steps = []' '.steps[0].base = 7' '.steps[0].base = -1' '.steps = [range(60000) as $i | .steps[0]]' '.steps += [.steps[0] + {again: true}, .steps[0]]' \
    '.steps[0].again = true' '.options.grid = "x"' '.options.nonsense = "x"' '.settings = 1'; do
    jq "$broken" kept >"$done/study.json"
    expect 1 "${study[@]}" show "$done"
    [ "$(wc -l <err)" = 1 ] || fail "$broken: $(cat err)"
done 2>"$work/broken" || { cat "$work/broken" >&2; fail "a broken plan is taken: $broken"; }
mv kept "$done/study.json"
echo '{"point": "fedcba9876543210"}' >>"$done/journal"
expect 1 "${study[@]}" show "$done"
one_line 'journal:22: is not a repetition'
sed -i '$d' "$done/journal"

# Which program is started, or how, is never taken from a directory.
jq '.factors[0] = {"key": "launch.template", "place": "x", "values": ["touch", "proof"]} | .points[].values[0] = "touch"' \
    "$done/study.json" >evil.json
cp "$done/study.json" kept
cp evil.json "$done/study.json"
usage '^tutti: launch.template=touch says what is executed' "${study[@]}" --resume "$done" --quiet
usage '^tutti: launch.template=proof says what is executed' "${study[@]}" --resume "$done" --quiet --sweep launch.template=touch
mv kept "$done/study.json"

# Words that mean nothing are refused in one line.
bad=("${study[@]}" bulk "${here[@]}")
usage '^tutti: --sweep transfr: unknown key .transfr. \(did you mean .transfer.\?\)' "${bad[@]}" --sweep transfr=4k
usage '^tutti: --sweep ranks: .9\.\.1.: the range is empty' "${bad[@]}" --sweep ranks=9..1
usage '^tutti: skip leaves none of 2 points' "${bad[@]}" --sweep ranks=1,2 --skip 'ranks > 0'
usage '^tutti: skip: .rank > 1.: .* \(did you mean .ranks.\?\)' "${bad[@]}" --sweep ranks=1,2 --skip 'rank > 1'
usage '^tutti: pivot: .rank. is not varied' "${bad[@]}" --sweep ranks=1,2 --pivot rank
usage '^tutti: add: more repetitions than what' "${bad[@]}" --sweep ranks=1,2 --add 1
usage 'study show takes the directory of one study' "${study[@]}" show
cat >typo.yaml <<END
workload: bulk
vary: {tranfer: [4k]}
END
usage '^tutti: typo.yaml:2:8: unknown key .tranfer. \(did you mean .transfer.\?\)' "${study[@]}" typo.yaml "${here[@]}"

# The same by tutti run, and a point that is not possible leaves the others.
expect 1 "$TUTTI" run bulk --sweep launch.start_timeout=0,60s --repeat 1 --backend discard --block 4k --transfer 4k --settle 0 \
    --quiet --json some.json "${here[@]}"
equal "$(jq '[.rows[].runs] | add' some.json)" 1 "runs that can be used"

# A launcher that fails for a while: the answer says why, and --resume recovers.
cat >launcher <<END
#!/bin/sh
[ ! -e "$work/fault" ] || exit 3
shift
exec "\$@"
END
chmod +x launcher
cat >fault.yaml <<END
reference: {command: [true], launch: {by: template, template: ["$work/launcher", "{ranks}", "{command}"]}}
others: 0
settle: 0
vary: {reference.seed: 1}
repeat: 1
END
touch fault
expect 1 "${study[@]}" fault.yaml "${here[@]}" --results faulty --quiet
grep -q 'has no usable run: ' err || fail "why all runs failed is not said: $(cat err)"
rm fault
expect 0 "${study[@]}" fault.yaml --resume faulty/study-* --json out.json
equal "$(jq '[.rows[].runs] | add' out.json)" 1 "runs after the launcher works again"
grep -qE '^! [0-9]+ runs failed and do not count; the first: ' out || fail "failed runs are not said: $(cat out)"

# An interval that says nothing is no reason to say which key matters: each of two points has one run that is like the other's.
expect 0 "${study[@]}" fault.yaml --resume faulty/study-* --sweep reference.seed=2 --add 5 --quiet --json out.json
before=
jq -r '.directory as $study | .runs[] | "\(.row) \($study)/\(.directory)"' out.json | while read -r row run; do
    if [ "$row" = "$before" ]; then value=$((1 + row)); else value=$((2 - row)); fi
    before=$row
    jq --argjson value $value '.jobs[0].metrics.runtime = $value' "${run%/*}/repetition.json" >edited
    cp edited "${run%/*}/repetition.json"
done
expect 0 "${study[@]}" show faulty/study-* --metrics runtime
tr '\n' ' ' <out | grep -q 'With 6 runs a point it cannot be told which keys matter for runtime (at least 24 are needed); the best of 2' ||
    fail "an interval of everything tells something: $(cat out)"

# An ensemble: point x step, with others as one more column.
cat >ensemble.yaml <<END
reference: {workload: bulk, backend: discard, block: 64k, segments: 1, read: no}
load: {same: reference}
others: [0, 1]
warmup: 0
settle: 0
vary: {reference.transfer: [4k, 64k]}
repeat: 1
END
expect 0 "${study[@]}" ensemble.yaml "${here[@]}" --quiet --json out.json
equal "$(jq -c '[.rows[] | [.values["reference.transfer"], .values.others, .runs]]' out.json)" \
    '[["4k","0",1],["4k","1",1],["64k","0",1],["64k","1",1]]' "rows of an ensemble"
jq -e '[.runs[].metrics.slowdown | select(. > 0)] | length == 2' out.json >/dev/null || fail "no slowdown"

# A driver that is killed at any place: what is in the journal stays as it is, and nothing is left running.
cat >kill.yaml <<END
reference: {command: [true]}
others: 0
settle: 0
vary: {reference.seed: 1..24}
repeat: 1
END
"${study[@]}" kill.yaml "${here[@]}" --results killed --quiet >/dev/null 2>err &
driver=$!
killed=0
for pause in 0.45 0.7 0.3 0.9 0.55; do
    sleep $pause
    kill -9 $driver 2>/dev/null || true
    wait $driver 2>/dev/null || true
    directory=$(echo killed/study-*)
    [ -e "$directory/journal" ] || fail "the study has not begun after $pause s"
    head -c "$(stat -c %s "$directory/journal")" "$directory/journal" | sed '$ { /}$/!d }' >before
    "${study[@]}" kill.yaml --resume "$directory" --quiet >/dev/null 2>err &
    driver=$!
    killed=$((killed + 1))
done
wait $driver || fail "the study that was killed $killed times does not end well: $(cat err)"
head -n "$(wc -l <before)" "$directory/journal" | cmp - before || fail "the journal was changed"
equal "$(names "$directory" | wc -l)" 24 "repetitions"
equal "$(names "$directory" | uniq -d)" "" "points that were run twice"
equal "$(jq -s 'all(.[]; .complete)' "$directory/journal")" true "complete repetitions"
no_data_left
