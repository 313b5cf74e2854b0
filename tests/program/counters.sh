# SPDX-License-Identifier: GPL-3.0-or-later
# labels: sanitize
# The nodes' counters of a whole run: series in the directory, a summary in the result, nothing lost if they fail.
. "$(dirname "$0")/lib.sh"
needs jq
job=(stencil --size 128 --iterations 100000000 --max-time 2s "${here[@]}")

# Stopped by its limit, so that it lasts long enough to be judged.
echo "level 42" >level
expect 1 "$TUTTI" run "${job[@]}" -n 2 --counters.watch level="$work/level",gone="$work/gone"
run=$(last_run) series=$(echo "$(last_run)"/counters/*.csv)
expect 0 "$TUTTI" show "$run"
result=$run/result.json
host=$(jq -c '.counters.hosts[]' "$result")
value() { jq -e "$1" <<<"$host"; }

# One node, one file: whole rows, the time in the first column, not more often than asked.
equal "$(basename "$series" .csv)" "$(hostname)" "name of the series and of the host"
equal 1 "$(awk -F, '{ print NF }' "$series" | sort -u | wc -l)" "number of columns in rows"
head -n 1 "$series" | tr , '\n' >columns
for column in 'wall\[ns\]' 'cpu\.user\[ms\]' 'job\.cpu\[ms\]' 'queue\.running\[1\]' 'memory\.dirty\[B\]' \
    'watched\.level\.value\[1\]' 'collector\.cpu\[us\]'; do
    grep -qx "$column" columns || fail "no column $column"
done
tail -n +2 "$series" | cut -d , -f 1 >times
sort -n -c times
holds '$rows >= 5 and $rows <= ($to - $from) / 1e8 + 3' rows="$(wc -l <times)" from="$(head -n 1 times)" \
    to="$(tail -n 1 times)"

# The same CPU time as the ranks' own accounts, but for ticks, the time around the window and the sampling.
holds '($cpus * $seconds - $ranks | fabs) < 0.3 + 0.1 * $ranks' cpus="$(value .job_cpus)" seconds="$(value .seconds)" \
    ranks="$(metric cpu_time "$result")"
holds '$covered > 0.9 and $busy > 0 and $busy <= 1' covered="$(value .covered)" busy="$(value .cpu_busy)"
equal 42 "$(value '.watched.level | select(.min == .max) | .mean | round')" "the user's series"
# A series that was never read is a warning, not an error.
jq -e '[.warnings[].text | select(test("watch.*gone"))] | length == 1' "$result" >/dev/null
# Whatever is said to be used up stands in the report, and nothing else is.
if jq -e '.counters.saturated == []' "$result" >/dev/null; then
    ! grep -q '^  saturated' out || fail "the report names a resource that was not used up"
else
    grep -q '^  saturated' out || fail "the report names no resource"
fi

# Counters do not make another plan of it; switched off, there are none.
expect 1 "$TUTTI" run "${job[@]}" -n 2 --max-time 0.2s --counters.interval 0
[ ! -e "$(last_run)/counters" ] || fail "counters although they are switched off"
equal "$(jq '.counters.hosts' "$(last_run)/result.json")" '{}' "hosts without counters"
short=(stencil --size 64 --iterations 10 "${here[@]}")
expect 0 "$TUTTI" run "${short[@]}"
hash=$(jq .hash "$(last_run)/plan.json")
expect 0 "$TUTTI" run "${short[@]}" --counters interval=50ms
equal "$hash" "$(jq .hash "$(last_run)/plan.json")" "hash of the plan"

# A collector that cannot start is a warning; the run is as good as ever.
plan=$(last_run)/plan.json again=$runs/20260101T000000Z-000a9a14
mkdir -p "$again/records"
cp "$plan" "$again/"
touch "$again/manifest" "$again/counters"
expect 0 "${ranks[@]}" 1 "$TUTTI" perform "$again"
expect 0 "$TUTTI" show "$again"
jq -e '.status == "done" and .valid and ([.warnings[].text | select(test("no counters"))] | length == 1)' \
    "$again/result.json" >/dev/null || fail "$(jq -c '{status, warnings}' "$again/result.json")"

# Garbage in a series is named, and the rest of the result stands.
echo 'wall[ns],cpu.user[ms]' >"$run/counters/zzz.csv"
echo '12,13,14' >>"$run/counters/zzz.csv"
rm "$run/result.json"
expect 0 "$TUTTI" show "$run"
jq -e '.counters | .unreadable.zzz and (.hosts | length == 1)' "$result" >/dev/null
grep -q 'some counters could not be read' out

usage 'counters.watch.*NAME=PATH' "$TUTTI" run "${short[@]}" --counters.watch /proc/uptime
usage 'counters.watch.*twice' "$TUTTI" run "${short[@]}" --counters.watch a=/x,a=/y
usage 'counters.interval.*1ms' "$TUTTI" run "${short[@]}" --counters.interval 1us
