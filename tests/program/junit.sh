# SPDX-License-Identifier: GPL-3.0-or-later
# Verdicts as JUnit XML, of every command whose exit status tells of conditions: read by an XML parser, they say what the JSON and
# the exit status say.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq python3

# cases FILE: a JSON line per test, [suite, condition, verdict, text]; fails unless the counts of all levels are those of the cases.
cat >cases.py <<'END'
import json, sys
import xml.etree.ElementTree as xml

def kinds(element):
    found = [case[0].tag for case in element.iter("testcase")]
    return {"tests": len(found), "failures": found.count("failure"), "errors": found.count("error"), "skipped": found.count("skipped")}

root = xml.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites", root.tag
for element in [root, *root]:
    for name, n in kinds(element).items():
        assert int(element.get(name)) == n, (element.tag, name, element.get(name), n)
for suite in root:
    for case in suite:
        assert case.get("classname").startswith("tutti."), case.get("classname")
        end = case[0]
        told = ["pass", end.text] if end.tag == "system-out" else [end.get("type"), end.get("message")]
        print(json.dumps([suite.get("name"), case.get("name"), *told]))
END
cases() { python3 cases.py "$1"; }
# A file has a failure or an error if, and only if, the command's exit status is not 0.
agrees() { # STATUS FILE
    local bad
    bad=$(python3 -c 'import sys, xml.etree.ElementTree as x; r = x.parse(sys.argv[1]).getroot(); print(int(r.get("failures")) + int(r.get("errors")))' "$2")
    if [ "$1" = 0 ]; then equal 0 "$bad" "failures and errors of a status of 0"; else [ "$bad" -gt 0 ] || fail "nothing in $2 says why the status is $1"; fi
}
required() { jq -c '.require[] | [.condition, .verdict, .text]' "$1"; }

# An ensemble, and a job that is repeated: conditions with characters that XML knows.
job=("$TUTTI" run bulk --block 256k --settle 0 --quiet "${here[@]}")
expect 3 "${job[@]}" --repeat 6 --json out.json --junit out.xml \
    --require 'write_rate >= 1 KiB/s,bytes_written>=1 GiB,bytes_written < 1 GiB,variation <= 0.0001 %'
cases out.xml >cases
equal "$(required out.json)" "$(jq -c 'select(.[1] != "all repetitions are measured") | .[1:]' cases)" "the conditions"
equal "$(basename "$(jq -r .directory out.json)")" "$(jq -r '.[0]' cases | sort -u)" "the name of the suite"
grep -q '"fail", ".*95 % interval' cases || fail "no interval in the message: $(cat cases)"
agrees 3 out.xml
directory=$(jq -r .directory out.json)
expect 3 "$TUTTI" show "$directory" --junit again.xml
cmp out.xml again.xml
expect 3 "$TUTTI" ensemble show "$directory" --junit -
cmp out.xml out
expect 0 "${job[@]}" --repeat 6 --junit out.xml --require 'write_rate >= 1 KiB/s'
agrees 0 out.xml
expect 4 "${job[@]}" --repeat 1 --junit out.xml --require 'write_rate >= 1 KiB/s'
agrees 4 out.xml
equal '"cannot be told"' "$(cases out.xml | jq 'select(.[1] == "write_rate >= 1 KiB/s")[2]')" "a verdict of one run"
# Nothing was measured: the file does not say that all is well, nor what it said before.
expect 1 "$TUTTI" ensemble <(echo 'reference: {command: ["false"]}') --others 0 --repeat 1 --junit out.xml --quiet "${here[@]}"
agrees 1 out.xml
equal '"not measured"' "$(cases out.xml | jq '.[2]')" "a reference that failed"
usage "^tutti: junit is for conditions" "$TUTTI" run bulk --junit out.xml "${here[@]}"
usage "only one of --csv and --junit can go to stdout" "${job[@]}" --repeat 1 --csv - --junit -
usage "a study has no junit" "$TUTTI" run bulk --sweep block=256k,512k --junit out.xml "${here[@]}"
usage "is neither" "$TUTTI" show "$(find "$runs" -name result.json -printf '%h\n' -quit)" --junit -
expect 1 "${job[@]}" --repeat 1 --require 'write_rate >= 1 KiB/s' --junit "$work/none/out.xml"
one_line "none/out.xml"
[ ! -w /dev/full ] || { expect 1 "${job[@]}" --repeat 6 --require 'write_rate >= 1 KiB/s' --junit /dev/full; one_line "No space left"; }

# A suite: parts with verdicts, one without conditions, one that cannot be run, one that is left out. Names are anybody's.
cat >suite.yaml <<'END'
settle: 0s
suite:
  met: {workload: bulk, block: 256k, repeat: 6, require: [write_rate >= 1 KiB/s]}
  unmet<&"': {workload: bulk, block: 256k, repeat: 6, require: [bytes_written >= 1 GiB]}
  plain: {workload: bulk, block: 256k, repeat: 1}
  large: {workload: bulk, block: 1p, repeat: 1}
END
expect 3 "$TUTTI" accept suite.yaml --quiet --json out.json --junit out.xml "${here[@]}"
agrees 3 out.xml
cases out.xml >cases
equal "$(jq -c '.parts[] | .name as $n | .answer.require // [] | .[] | [$n, .condition, .verdict, .text]' out.json)" \
    "$(jq -c 'select(.[1] != "all repetitions are measured")' cases)" "the conditions of the parts"
equal '"pass" "pass" "pass" "not measured"' "$(jq 'select(.[1] == "all repetitions are measured")[2]' cases | paste -sd ' ')" "whether parts are measured"
expect 3 "$TUTTI" show "$(echo "$runs"/accept-*)" --junit again.xml
cmp out.xml again.xml
expect 0 "$TUTTI" accept suite.yaml --quiet --part met --junit out.xml "${here[@]}"
agrees 0 out.xml
equal 3 "$(cases out.xml | grep -c '"left out"')" "parts that are left out"

# A comparison, and a canary.
for i in 1 2; do expect 0 "$TUTTI" run bulk --block 256k --quiet --label "set$i" "${here[@]}"; done
expect 4 "$TUTTI" compare --dir "$runs" label=set1 label=set2 --fail-if worse --metric write_rate --json out.json --junit out.xml
agrees 4 out.xml
equal "$(jq -c '.plans[0] | .workload + " " + .plan, .metrics[0].text' out.json)" "$(cases out.xml | jq -c '.[0], .[3]')" "the comparison"
usage "^tutti: --junit needs --fail-if" "$TUTTI" compare --dir "$runs" label=set1 label=set2 --junit out.xml
printf '%s\n' 'workload: bulk' 'block: 256k' 'watch: {metric: [write_rate, read_rate]}' $'label: "a\\u0001\\uFFFF<b>\\nc"' >canary.yaml
expect 4 "$TUTTI" watch canary.yaml --junit out.xml "${here[@]}"
agrees 4 out.xml
cases out.xml >cases
equal '"write_rate" "cannot be told" "read_rate" "cannot be told"' "$(jq '.[1], .[2]' cases | paste -sd ' ')" "the canary"
grep -q '1 run of this plan; 15 more nights' cases || fail "$(cat cases)"
expect 1 "$TUTTI" watch canary.yaml --block 1p --junit out.xml "${here[@]}"
agrees 1 out.xml
no_data_left
