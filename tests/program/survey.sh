# SPDX-License-Identifier: GPL-3.0-or-later
# A survey finds the speed behind a known write buffer, says beforehand what it writes, goes on where it was stopped,
# and leaves no data.
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
    --job.layers throttle --job.throttle.rate 20m --job.throttle.buffer 12m --job.throttle.tier "$work/tier")
expect 0 "${survey[@]}" "${throttled[@]}"
read_rate() { jq -e "[.summary[] | select(.table == \"bandwidth, $1\" and .access == \"read\")][0].mean" out.json; }
holds '$aged <= 20 * 1048576 * 1.02 and $naive >= 2 * $aged' aged="$(read_rate aged)" naive="$(read_rate naive)"
no_data_left

# What it may write is announced, and capped before anything is written.
expect 0 "${survey[@]}" flash.yaml --dry-run
grep -q '^writes      8.91 MiB at most, of which ' out || fail "the announcement: $(cat out)"
equal "$(find "$runs" -name 'survey-*' | wc -l)" 1 "folders after a dry run"
expect 1 "${survey[@]}" flash.yaml --max-bytes 8m
one_line 'may write 8.91 MiB, more than --max-bytes 8.00 MiB'

newest() { mkdir -p "$work/$1"; find "$work/$1" -maxdepth 1 -name "survey-*"; }
# Stopped somewhere, it is completed: no more and no fewer samples than one that was never stopped.
"${survey[@]}" flash.yaml --results "$work/stopped" >out 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do
    folder=$(newest stopped)
    [ -e "$folder/aged-write" ] && break
    sleep 0.1
done
kill -TERM $pid
! wait $pid || fail "an interrupted survey ends with status 0"
grep -q "go on with: tutti survey --resume $folder" err || fail "no word how to go on: $(cat err)"
expect 0 "$TUTTI" survey --resume "$folder" --quiet --json out.json
equal "$(jq -c '[.summary[] | [.table, .access, .n]] | sort' out.json)" "$(jq -nc '[
    ["bandwidth, naive", "write", 2, 2], ["bandwidth, naive", "read", 2, 2], ["bandwidth, aged", "write", 2, 2],
    ["bandwidth, aged", "read", 2, 2], ["IOPS, buffered", "write", 2, 2], ["IOPS, buffered", "read", 2, 2],
    ["IOPS over size", "read", 2, 3]] | map(. as $r | range($r[3]) | $r[:3]) | sort')" "samples"
no_data_left
# A survey that is given up: its data goes when told so.
"${survey[@]}" flash.yaml --parts sizes --results "$work/given-up" >out 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do
    folder=$(newest given-up)
    [ -e "$folder/sizes-flush" ] && break
    sleep 0.1
done
kill -TERM $pid
! wait $pid || true
expect 0 "$TUTTI" clean "$folder"
no_data_left

usage "unknown key 'transfer' .did you mean 'transfers'" "${survey[@]}" --transfer 1m
usage "'random' is none of bandwidth" "${survey[@]}" --parts random
usage 'no multiple of a transfer' "${survey[@]}" --size 100k --transfers 64k
usage 'tutti survey flash FILE.yaml' "$TUTTI" survey
