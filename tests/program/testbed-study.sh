# SPDX-License-Identifier: GPL-3.0-or-later
# A study of 1,000 points whose driver is killed at random goes on without running a finished point again.
# labels: testbed
# timeout: 900
. "$(dirname "$0")/lib.sh"
needs jq

points=1000
cat >study.yaml <<END
reference: {command: [true]}
others: 0
settle: 0
vary: {reference.seed: 1..$points}
repeat: 1
END
"$TUTTI" study study.yaml "${here[@]}" --quiet >/dev/null 2>err &
driver=$!
RANDOM=1
killed=0
# Every line that was in the journal when the driver died stays where it is.
: >kept
while [ $killed -lt 12 ] && sleep "$(printf '%d.%02d' $((RANDOM % 12)) $((RANDOM % 100)))" && kill -9 $driver 2>/dev/null; do
    wait $driver 2>/dev/null || true
    directory=$(echo "$runs"/study-*)
    [ -e "$directory/study.json" ] || fail "killed before the study was written"
    if [ -e "$directory/journal" ]; then
        head -n "$(wc -l <kept)" "$directory/journal" | cmp - kept || fail "the journal was changed"
        sed '$ { /}$/!d }' "$directory/journal" >kept
    fi
    killed=$((killed + 1))
    "$TUTTI" study study.yaml --resume "$directory" --quiet >/dev/null 2>err &
    driver=$!
done
wait $driver || fail "the study that was killed $killed times does not end well: $(cat err)"
directory=$(echo "$runs"/study-*)
[ $killed -ge 5 ] || fail "killed only $killed times"
equal "$(wc -l <"$directory/journal")" $points "repetitions"
equal "$(jq -r .point "$directory/journal" | sort -u | wc -l)" $points "points"
equal "$(jq -s 'all(.[]; .complete and .number == 1)' "$directory/journal")" true "first attempts that are complete"
# A run that was under way when the driver died is the only one that was begun twice.
begun=$(find "$directory" -mindepth 1 -maxdepth 1 -type d -name '*-run*' | wc -l)
holds '$begun <= $points + $killed' begun="$begun" points=$points killed=$killed
equal "$(pgrep -f "tutti hold .*$runs" | wc -l)" 0 "processes that are left"
