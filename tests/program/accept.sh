# SPDX-License-Identifier: GPL-3.0-or-later
# A suite: parts that pass, fail and cannot be told, one that cannot run, what is resumed, and what is refused beforehand.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

cat >suite.yaml <<END
settle: 0s
suite:
  met: {workload: bulk, block: 256k, repeat: 6, require: [write_rate >= 1 KiB/s, bytes_written >= 256 KiB]}
  unmet: {workload: bulk, block: 256k, repeat: 6, require: [bytes_written >= 1 GiB]}
  unsure: {workload: bulk, block: 256k, repeat: 2, require: [variation <= 5 %]}
  beside:
    reference: {workload: bulk, block: 256k}
    load: {same: reference}
    others: [1]
    alone: 1
    warmup: 0s
    repeat: 1
sizes:
  large: {met: {block: 1t}}
END
accept() { # STATUS [OPTION...]
    local status=$1
    shift
    expect "$status" "$TUTTI" accept suite.yaml --quiet --json out.json "${here[@]}" "$@"
}

# Every verdict, in one table; what does not pass is said on stderr besides.
accept 3
grep -qE '^  met +pass +write_rate >= 1 KiB/s: ' out || fail "$(cat out)"
grep -qE '^ +pass +bytes_written >= 256 KiB: 256 KiB, 95 % interval 256$' out || fail "$(cat out)"
grep -qE '^  unmet +fail +bytes_written >= 1 GiB: ' out || fail "$(cat out)"
grep -qE '^  unsure +cannot be told +variation <= 5 %: ' out || fail "$(cat out)"
grep -qE '^  beside +done$' out || fail "$(cat out)"
grep -q '^  in short   the machine does not meet the conditions$' out || fail "$(cat out)"
[ "$(wc -L <out)" -le 80 ] || fail "wider than 80 columns"
equal 2 "$(grep -c '^tutti: require: ' err)" "lines on stderr"
# A verdict is not told without its caution: this part takes milliseconds.
grep -qE '^ +! [0-9]+ cautions? +alone: the reference takes only' out || fail "$(cat out)"
jq -e '.status == 3 and [.parts[].name] == ["met", "unmet", "unsure", "beside"] and .parts[0].answer.require[0].verdict == "pass"' out.json >/dev/null
no_data_left

# The table again, with the same exit status.
suite=$(echo "$runs"/accept-*)
cp out first
expect 3 "$TUTTI" show "$suite" --json again.json
equal "$(cat first)" "$(cat out)" "the table"
equal "$(jq -S . out.json)" "$(jq -S . again.json)" "the answers"
usage "a suite has no --csv" "$TUTTI" show "$suite" --csv -

# What is resumed in part keeps the other verdicts. Another suite, and another part of the same name, are refused, and change nothing.
accept 3 --part met --resume "$suite"
equal "$(cat first)" "$(cat out)" "the table after one part was resumed"
sum=$(cat "$suite"/*.json | md5sum)
other() { # WHY SUITE
    usage "$1" "$TUTTI" accept <(echo "$2") "${here[@]}" --resume "$suite"
    equal "$sum" "$(cat "$suite"/*.json | md5sum)" "the directory of the suite"
}
other "accept-.*' is of another suite, which begins with part 'met'" 'suite: {else: {workload: bulk, block: 256k}}'
other "part 'met': .*block" "$(sed 's/met: {workload: bulk, block: 256k/met: {workload: bulk, block: 512k/' suite.yaml)"

# Of a part that was not begun, too, the settings are those of the first call.
rm -r "$runs"
accept 0 --part met
suite=$(echo "$runs"/accept-*)
sum=$(cat "$suite"/*.json | md5sum)
other "part 'unmet': .*block would change what is measured" "$(sed 's/unmet: {workload: bulk, block: 256k/unmet: {workload: bulk, block: 512k/' suite.yaml)"
other "part 'unmet': .*block would change what is measured" "$(sed 's/unmet: {workload: bulk, block: 256k,/unmet: {workload: bulk,/' suite.yaml)"
accept 3 --part unmet --resume "$suite"
grep -qE '^  met +pass ' out || fail "$(cat out)"
rm -r "$runs"

# Some of it.
accept 0 --part met
grep -q '^  in short   the machine meets the conditions of these parts$' out || fail "$(cat out)"
accept 4 --part met,unsure
accept 0 --part met --dry-run --size large
grep -q '^  not here ' out || fail "$(cat out)"
tail -n 2 out | tr -s "\n " " " | grep -q "in all 6 runs write at least 6.00 TiB, and take at least 12290 s if storage moves 1 GiB/s" || fail "$(cat out)"

# A baseline that nothing matches is told before the first run.
expect 0 "$TUTTI" accept <(echo 'suite: {a: {workload: bulk, repeat: 6, require: [write_rate >= baseline(label=goldn)]}}') "${here[@]}" --dry-run
grep -q '^tutti: require: no stored run matches baseline(label=goldn) yet' err || fail "$(cat err)"

# A part that cannot run does not keep the others from it.
accept 1 --part met,unsure --size large
grep -qE '^  met +not done +.* has .* free' out || fail "$(cat out)"
grep -qE '^  unsure +cannot be told ' out || fail "$(cat out)"
grep -q '^tutti: go on with: tutti accept suite.yaml --resume ' err || fail "$(cat err)"

# What was interrupted is gone on with, and no finished repetition is run again.
rm -r "$runs"
timeout -s INT 2 "$TUTTI" accept suite.yaml --quiet "${here[@]}" --part met --repeat 12 >out 2>err || true
suite=$(echo "$runs"/accept-*)
before=$(cat "$runs"/ensemble-*/journal)
accept 0 --part met --repeat 12 --resume "$suite"
equal 1 "$(find "$runs" -maxdepth 1 -name 'ensemble-*' | wc -l)" "ensembles: the part is not begun anew"
equal 12 "$(jq '.parts[0].answer.steps[0].runs' out.json)" "runs"
equal "$before" "$(head -c ${#before} "$runs"/ensemble-*/journal)" "the journal, which only grows"

# Refused beforehand, in one line.
usage "accept what\?" "$TUTTI" accept
usage "this file has no suite" "$TUTTI" accept <(echo 'repeat: 6')
usage "belongs inside a part" "$TUTTI" accept <(echo 'workload: bulk')
usage "part 'a' has neither a workload nor a reference" "$TUTTI" accept <(echo 'suite: {a: {repeat: 6}}')
usage "part 'a': .*did you mean 'write_rate'" "$TUTTI" accept <(echo 'suite: {a: {workload: bulk, require: [wriet_rate > 1]}}')
usage "unknown key 'requier' \(did you mean 'require'\?\)" "$TUTTI" accept <(echo 'suite: {a: {workload: bulk, requier: [runtime < 1]}}')
usage "part 'a': .*blok" "$TUTTI" accept <(echo 'suite: {a: {workload: bulk, blok: 1m}}')
usage "the suite has no part 'b'" "$TUTTI" accept <(echo '{suite: {a: {workload: bulk}}, sizes: {x: {b: {block: 1m}}}}') --size x
usage "the suite has no part 'mett' \(did you mean 'met'\?\)" "$TUTTI" accept suite.yaml --part mett
usage "no 'sizes: \{small" "$TUTTI" accept suite.yaml --size small
expect 1 "$TUTTI" accept suite.yaml --resume "$work"
one_line "suite.json"
echo '{"format": 2, "parts": 5}' >"$suite/report.json"
expect 1 "$TUTTI" show "$suite"
one_line "report.json' has no parts"
rm "$suite/report.json"
expect 1 "$TUTTI" show "$suite"
one_line "has no verdicts yet; go on with"
jq '.parts.met = "../elsewhere"' "$suite/suite.json" >edited
mv edited "$suite/suite.json"
expect 1 "$TUTTI" accept suite.yaml "${here[@]}" --resume "$suite"
one_line "part 'met' is no ensemble"
echo '{"format": 9}' >"$suite/suite.json"
expect 1 "$TUTTI" accept suite.yaml "${here[@]}" --resume "$suite"
no_data_left
