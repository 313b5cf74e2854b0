# SPDX-License-Identifier: GPL-3.0-or-later
# Every pattern moves exactly the bytes that arithmetic says, and stops in time.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

iterations=20 size=10007 # no multiple of a word
for n in 2 5; do
    for outstanding in 1 3; do
        round=$((outstanding * size))
        for pattern in incast=$((n - 1)) broadcast=$((n - 1)) alltoall=$((n * (n - 1))) many-to-many=$n; do
            expect 0 "$TUTTI" run traffic -n $n --pattern "${pattern%=*}" --size $size --outstanding $outstanding \
                --iterations $iterations "${here[@]}" --json out.json
            equal "$(metric bytes_communicated)" $((${pattern#*=} * round * iterations)) "bytes of $pattern on $n ranks"
            equal "$(jq .calls.collective.count out.json)" $((n * iterations)) "rounds of $pattern on $n ranks"
            holds '($rate * $one / $bytes - 1 | fabs) < 1e-6' rate="$(metric communication_rate)" \
                one="$(jq .phases.collective.max out.json)" bytes="$(metric bytes_communicated)"
        done
    done
done
no_data_left

usage "two ranks or more" "$TUTTI" run traffic "${here[@]}"
expect 2 "${ranks[@]}" 1 "$TUTTI" run traffic "${here[@]}"
grep -q "two ranks or more" err
usage "traffic.size|--size" "$TUTTI" run traffic -n 2 --size 15 "${here[@]}"
usage "many-to-many" "$TUTTI" run traffic -n 2 --pattern many-to-one "${here[@]}"

# 64 MiB at the root from each of three others, and nothing elsewhere.
expect 0 "$TUTTI" run traffic -n 4 --pattern incast --size 16m --outstanding 4 --dry-run "${here[@]}"
grep -q '^memory  *192 MiB per rank' out || fail "the estimate is wrong: $(grep memory out)"

# A run that is to stop ends on all ranks, pauses or not, with what it has done.
for pattern in incast broadcast alltoall many-to-many; do
    expect 1 "$TUTTI" run traffic -n 3 --pattern $pattern --size 1k --pause 1ms --iterations 1000000000 --max-time 0.5 "${here[@]}"
    one_line "max-time"
    holds '$n > 0' n="$(metric bytes_communicated "$(last_run)/result.json")"
done
for pattern in incast broadcast alltoall many-to-many; do
    expect 0 "$TUTTI" run traffic -n 2 --pattern $pattern --size 1k --iterations 20 "${here[@]}"
    iterations_wanted=50 perform_endlessly 2 "$(last_run)"
    expect 0 "$TUTTI" show endless
    holds '$n >= 50 * 1024' n="$(metric bytes_communicated endless/result.json)"
done
no_process_left
