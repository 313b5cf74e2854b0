# SPDX-License-Identifier: GPL-3.0-or-later
# A survey finds the speed behind a known write buffer, says beforehand what it writes and afterwards what its runs
# warn of, goes on where it was stopped, also when its data is gone, and leaves no data.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq

cat >flash.yaml <<END
processes: [1, 2]
transfers: [64k]
size: 256k
flushes: 2
repeat: 2
deadline: 5s
buffered_only: yes
END
survey=("$TUTTI" survey flash --dir "$data" --results "$runs" --min-free 0 --quiet --json out.json)

# Twice 8 MiB behind a buffer of 12 MiB: just written they are in it, after another 16 MiB they are not.
throttled=(--parts bandwidth --processes 1 --transfers 1m --size 8m --flushes 2 --repeat 1
    --job.layers throttle --job.throttle.rate 20m --job.throttle.buffer 12m --job.throttle.buffer_log buffer.log)
expect 0 "${survey[@]}" "${throttled[@]}"
read_rate() { jq -e "[.summary[] | select(.table == \"bandwidth, $1\" and .access == \"read\")][0].mean" out.json; }
holds '$aged <= 20 * 1048576 * 1.02 and $naive >= 2 * $aged' aged="$(read_rate aged)" naive="$(read_rate naive)"
no_data_left
[ ! -e buffer.log ] || fail "the log of the burst buffer stays in the working directory"

# What its runs warn of stands beside it once, with the rows that it concerns, in no line of more than 80 columns.
done=$(jq -r .directory out.json)
warned='too short to trust: the run took only '
result=$(find "$done/naive" -name result.json)
jq -e --arg w "$warned" 'any(.warnings[].text; startswith($w))' "$result" >seen || fail "a short run says nothing of it"
equal "$(jq -c --arg w "$warned" '[.warnings[] | select(.text | startswith($w)) | .rows[]
    | select(.table == "bandwidth, naive") | [.access, .ranks, .runs, .of]]' out.json)" '[["write",1,1,1],["read",1,1,1]]' \
    "rows with a warning"
expect 0 "$TUTTI" show "$done" --json again.json
equal "$(jq -S . again.json)" "$(jq -S . out.json)" "a survey shown again"
equal "$(grep -c "^! $warned" out)" 1 "times that the same is said"
grep -q '^    bandwidth, naive: all runs$' out || fail "the report does not say which runs: $(cat out)"
! grep -E '.{81}' out || fail "wider than 80 columns"
usage 'a survey has no --csv' "$TUTTI" show "$done" --csv -

# Figures of other jobs, or none, do not get into its tables.
usage '^tutti: --size: size would change what is measured by a resumed survey' "$TUTTI" survey --resume "$done" --size 1m
cp "$result" "$work/result"
echo '{"a": 1}' >"$result"
expect 1 "$TUTTI" survey --resume "$done" --quiet
one_line "^tutti: $result is not a result of a run of bulk"
mv "$work/result" "$result"
cp "$done/survey.json" "$work/plan"
echo '{"format": 2}' >"$done/survey.json"
expect 1 "$TUTTI" survey --resume "$done" --quiet
one_line 'survey.json holds no settings'
mv "$work/plan" "$done/survey.json"

# What it may write is announced, and capped before anything is written.
expect 0 "${survey[@]}" flash.yaml --dry-run
grep -q '^writes      8.91 MiB at most, of which ' out || fail "the announcement: $(cat out)"
equal "$(find "$runs" -name 'survey-*' | wc -l)" 1 "directories after a dry run"
expect 1 "${survey[@]}" flash.yaml --max-bytes 8m
one_line 'may write 8.91 MiB, more than --max-bytes 8.00 MiB'

newest() { mkdir -p "$work/$1"; find "$work/$1" -maxdepth 1 -name "survey-*"; }
# Stopped somewhere, it is completed: no more and no fewer samples than one that was never stopped.
"${survey[@]}" flash.yaml --results "$work/stopped" >out 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do
    directory=$(newest stopped)
    [ -e "$directory/aged-write" ] && break
    sleep 0.1
done
kill -TERM $pid
! wait $pid || fail "an interrupted survey ends with status 0"
grep -q "go on with: tutti survey --resume $directory" err || fail "no word how to go on: $(cat err)"
mkdir elsewhere
(cd elsewhere && expect 0 "$TUTTI" survey --resume "$directory" --json "$work/out.json")
grep -q '^tutti: 4 of 4: aged-read, [12] process[es]*, 256 KiB each, transfers of 64.0 KiB$' err || fail "progress: $(cat err)"
! grep -q other err || fail "a run alone has no others: $(cat err)"
equal "$(jq -c '[.summary[] | [.table, .access, .n]] | sort' out.json)" "$(jq -nc '[
    ["bandwidth, naive", "write", 2, 2], ["bandwidth, naive", "read", 2, 2], ["bandwidth, aged", "write", 2, 2],
    ["bandwidth, aged", "read", 2, 2], ["IOPS, buffered", "write", 2, 2], ["IOPS, buffered", "read", 2, 2],
    ["IOPS over size", "read", 2, 3]] | map(. as $r | range($r[3]) | $r[:3]) | sort')" "samples"
no_data_left
# A survey that is given up: its data goes when told so.
"${survey[@]}" flash.yaml --parts sizes --results "$work/given-up" >out 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do
    directory=$(newest given-up)
    [ -e "$directory/sizes-flush" ] && break
    sleep 0.1
done
kill -TERM $pid
! wait $pid || true
expect 0 "$TUTTI" clean "$directory"
no_data_left
# Gone on with after all: what lost its data is written again, if that is allowed, and nothing counts twice.
expect 1 "$TUTTI" survey --resume "$directory" --quiet --max-bytes 1m
grep -q 'data of the survey is gone; with what is to be written again it may write 3.31 MiB' err || fail "$(cat err)"
no_data_left
expect 0 "$TUTTI" survey --resume "$directory" --json out.json
grep -q '^tutti: data of stage sizes-data is gone: it is written again$' err || fail "$(cat err)"
equal "$(jq -c '[.summary[] | .n]' out.json)" '[2,2,2]' "samples after data was lost"
no_data_left
# Killed when the last stage was complete, and its data about to go.
if command -v strace >/dev/null; then
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:signal=SIGKILL:when=1 "${survey[@]}" flash.yaml --parts sizes --repeat 1 \
        --results "$work/late" >out 2>err || true
    [ -n "$(find "$data" -type f)" ] || fail "it was not killed before its data went"
    expect 0 "$TUTTI" survey --resume "$(newest late)" --quiet
    no_data_left
fi

usage "unknown key 'transfer' .did you mean 'transfers'" "${survey[@]}" --transfer 1m
usage "'random' is none of bandwidth" "${survey[@]}" --parts random
usage 'no multiple of a transfer' "${survey[@]}" --size 128k --transfers 64k,100k
usage 'nothing to measure' "${survey[@]}" --parts ''
usage "unknown key 'bakend'" "${survey[@]}" flash.yaml --job.bakend posix
usage 'tutti survey flash FILE.yaml' "$TUTTI" survey
# Nodes that are not there are refused before anything is written, and can be planned for.
(
    unset "${!SLURM_@}"
    before=$(find "$runs" -name 'survey-*' | wc -l)
    usage 'nodes: 2, but this is no Slurm allocation; run it within salloc -N 2' "${survey[@]}" flash.yaml --nodes 1,2
    equal "$(find "$runs" -name 'survey-*' | wc -l)" "$before" "directories after a refusal"
    expect 0 "${survey[@]}" flash.yaml --nodes 1,2 --dry-run
    grep -q '^needs       a Slurm allocation of 2 nodes' out || fail "the announcement: $(cat out)"
)
