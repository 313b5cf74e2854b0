# SPDX-License-Identifier: GPL-3.0-or-later
# On a store whose speed is known, advice is what an exhaustive study finds, tuning finds the transfers that the store
# forces, and what was not better, not possible or not in effect is never recommended. An interrupted search goes on.
# processors: 1
# timeout: 240
. "$(dirname "$0")/lib.sh"
needs jq

advise=("$TUTTI" advise --repeat 6 "${here[@]}")
tune=("$TUTTI" tune --repeat 6 "${here[@]}" --json out.json)
# A rank that sleeps instead of computing needs no core: 80 ms of I/O after 80 ms, whoever else is at work.
slow=(particles --dims 50000 --steps 2 --pause 80ms -n 1 --layers throttle --throttle.rate 19m)

# A search that is stopped says how to go on, and goes on only with what it was begun with.
"${advise[@]}" "${slow[@]}" --sweep mode=sync,async+bg,nosuch --fixed backend,files >out 2>err &
pid=$!
for ((i = 0; i < 200; i++)); do
    grep -q ' of .*mode=' err && break
    sleep 0.1
done
kill -INT $pid
! wait $pid || fail "an interrupted search ends with status 0"
directory=$(find "$runs" -maxdepth 1 -name 'study-*')
grep -q "^tutti: go on with: tutti advise --resume $directory$" err || fail "no word how to go on: $(cat err)"
no_data_left
expect 1 "$TUTTI" show "$directory"
one_line 'is a search without an answer'
usage 'would change what is searched' "$TUTTI" advise --resume "$directory" --repeat 7
usage 'is a search of tutti advise' "$TUTTI" tune --resume "$directory"
before=$(wc -l <"$directory/journal")

# Overlap wins by far. A value that there is not is named, and left out.
expect 0 "$TUTTI" advise --resume "$directory" --json out.json --hints hints --yaml chosen.yaml
equal "$(jq -c '[.recommended, .best.values]' out.json)" '[true,{"mode":"async+bg"}]' "what is recommended"
jq -e '.verdict.a.n == 6 and .verdict.b.n == 6 and .verdict.effect.high < 1' out.json >/dev/null || fail "the gain: $(jq .verdict out.json)"
jq -e '.refused | any(.setting == "mode=nosuch" and (.why | test("nosuch")))' out.json >/dev/null || fail "nothing on nosuch"
equal "$(wc -l <"$directory/journal")" "$(jq .runs out.json)" "runs in the journal"
[ "$(wc -l <"$directory/journal")" -gt "$before" ] || fail "nothing was run after going on"
tail -n 2 out | tr '\n' ' ' | grep -q '^Set mode=async+bg: runtime is ' || fail "no sentence at the end: $(cat out)"
! grep -E '.{81}' out || fail "wider than 80 columns"
grep -q '^# copy the dump, write and sync it in a thread' hints || fail "hints: $(cat hints)"
no_data_left
expect 0 "$TUTTI" show "$directory" --json again.json
equal "$(jq -S . again.json)" "$(jq -S . out.json)" "an answer shown again"
grep -q '^mode: "async+bg"$' chosen.yaml || fail "the job: $(cat chosen.yaml)"
expect 0 "$TUTTI" run chosen.yaml --quiet --json run.json
equal "$(jq -c '.plan.parameters | [.overlap, .sync]' run.json)" '["async","background"]' "the job that was chosen"
echo '{"format": 1, "search": "advise", "metric": "runtime", "repeat": 6, "before": [1e9, 1], "best": 99}' >"$directory/search.json"
expect 1 "$TUTTI" advise --resume "$directory" --quiet
one_line 'search.json'

# An exhaustive study of the same points has the same best one.
expect 0 "$TUTTI" study "${slow[@]}" "${here[@]}" --baseline 0 --sweep mode=sync+imm,sync,async+bg --repeat 1 --metrics runtime --json study.json
equal "$(jq -r '.findings[0].best.point' study.json)" "mode=async+bg" "best of the study"

# Where nothing can be gained the default is as good as any, and nothing is in the hints.
expect 0 "${advise[@]}" "${slow[@]}" --mode async+bg --fixed all --sweep mode=sync+imm --json out.json --hints hints
equal "$(jq -c .recommended out.json)" false "a recommendation where there is nothing to gain"
tr '\n' ' ' <out | grep -q ' The default is as good as any of 2 settings' || fail "the sentence: $(cat out)"
! grep -v '^#' hints || fail "hints without a recommendation"

# Ten operations a second: the larger the transfer the better. Values that fail are named and cost no wrong advice.
operations=(bulk --block 1m --transfer 256k --read no -n 1 --layers throttle --throttle.ops 10 --fixed all)
expect 0 "${tune[@]}" "${operations[@]}" --sweep transfer=1m,512k,3m --hints hints
equal "$(jq -c '[.recommended, .best.values]' out.json)" '[true,{"transfer":"1m"}]' "the best transfer"
jq -e '[.refused[].setting] | index("transfer=3m")' out.json >/dev/null || fail "transfer=3m: $(jq .refused out.json)"
grep -q '^# write 1048576 bytes in a call$' hints || fail "hints: $(cat hints)"

# The best transfer is the whole block, and the line through the best values says so.
expect 0 "$TUTTI" study bulk --read no -n 1 --layers throttle --throttle.ops 10 "${here[@]}" --quiet --repeat 1 --metrics runtime \
    --sweep block=256k,512k,1m --sweep transfer=128k,256k,512k,1m --skip 'transfer > block' --json study.json
study=$runs/$(jq -r .id study.json)
expect 0 "$TUTTI" study show "$study" --fit transfer~block --json fit.json
jq -e '.fit | .slope > 0.999 and .slope < 1.001 and .error < 0.001 and .low == 262144 and .high == 1048576' fit.json >/dev/null || fail "the line: $(jq .fit fit.json)"
tr '\n' ' ' <out | grep -q 'The best transfer is 0 B + 1 x block, for block from 256 KiB to 1.00 MiB; ' || fail "the sentence: $(tail out)"
usage "fit: 'files' is not varied" "$TUTTI" study show "$study" --fit files~block
usage "'transfer' is not KEY~KEY" "$TUTTI" study show "$study" --fit transfer

# A hint that the library ignores, or only echoes, does not count.
if has_backend mpiio; then
    expect 1 "${tune[@]}" stencil --size 64 --iterations 1 --write every=1 -n 1 --backend mpiio --fixed all \
        --sweep mpiio.striping_factor=4 --sweep mpiio.cb_buffer_size=1m
    grep -q '^tutti: no other setting counts: not proved to be in effect' err || fail "unproved: $(cat err)"
    jq -e '.recommended == false and (.refused | length == 2)' out.json >/dev/null || fail "unproved: $(jq .refused out.json)"
fi

# What cannot be.
usage 'what does the application do\? give --size and --every' "$TUTTI" advise --size 2g
usage '^tutti: tune what\?' "$TUTTI" tune
usage "unknown workload 'nosuch'" "$TUTTI" tune nosuch
usage "unknown key 'nokey'" "$TUTTI" tune bulk "${here[@]}" --sweep nokey=1,2
usage "'depth' is not KEY=VALUES" "$TUTTI" tune bulk "${here[@]}" --sweep depth
usage 'there is nothing to try for particles' "$TUTTI" advise particles "${here[@]}" --fixed all
usage "there is no metric 'nothing'" "$TUTTI" advise particles "${here[@]}" --metric nothing
usage 'cannot be two files at once' "$TUTTI" advise particles "${here[@]}" --json a --hints a
expect 1 "$TUTTI" tune bulk "${here[@]}" --quiet --block 64m --max-time 1s
one_line 'the smallest search 19 runs, so it needs --max-time [0-9]+s instead of 1.00 s'
expect 1 "$TUTTI" tune bulk "${here[@]}" --quiet --block 4m --max-bytes 8m
one_line 'needs 76.0 MiB instead of --max-bytes 8.00 MiB'
expect 1 "$TUTTI" advise particles --dims 1000 -n 1 "${here[@]}" --quiet --fixed all --sweep mode=sync --layers fault --fault.call write --fault.nth 1
one_line '^tutti: the default itself cannot be run: '

# An application that is only described is scaled to the budget, and the answer says how.
expect 0 "$TUTTI" advise --size 2g --every 60s --compute 50ms -n 2 "${here[@]}" --dry-run
grep -q '^  scaled     to 0\.0[0-9]* of the application, as workload stencil$' out || fail "the announcement: $(cat out)"
grep -q '^  takes      180 s at most$' out || fail "the budget: $(cat out)"
