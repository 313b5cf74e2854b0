# SPDX-License-Identifier: GPL-3.0-or-later
# A trace has a span for every call that was counted, on the track of the thread that made it; spans of a track nest.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

trace() { # WORKLOAD OPTION...
    rm -rf "${runs:?}"
    expect 0 "$TUTTI" run "$@" -n 2 --trace yes "${here[@]}" --json out.json
    expect 0 "$TUTTI" export "$runs" --trace trace.json
    # Calls: as many as the histograms have.
    equal "$(jq -cS '.calls | map_values(.count)' out.json)" "$(jq -cS '[.traceEvents[] | select(.cat == "call" or (.cat == "in flight" and
        .ph == "b"))] | group_by(.name) | map({(.[0].name): length}) | add' trace.json)" "calls counted and traced ($*)"
    # In order of their beginnings, the longer first: each lies within one that is still open, or after all of them.
    jq -e '[.traceEvents[] | select(.ph == "X")] | group_by([.pid, .tid])[] | sort_by(.ts, -.dur) |
        reduce .[] as $e ([]; until(length == 0 or .[-1] > $e.ts + 0.002; .[:-1]) |
            if length > 0 and $e.ts + $e.dur > .[-1] + 0.002 then error("\($e) overlaps") else . + [$e.ts + $e.dur] end)' \
        trace.json >/dev/null || fail "spans overlap on a track ($*)"
    jq -e '[.traceEvents[] | select(.ph == "X") | .ts >= 0 and .dur >= 0] | all' trace.json >/dev/null || fail "negative times"
}
tracks() { # NAME of calls: names of the threads that made them
    jq -c --arg n "$1" '. as $all | [.traceEvents[] | select(.name == $n and .cat == "call") | [.pid, .tid]] | unique | map(. as [$p, $t] |
        [$all.traceEvents[] | select(.name == "thread_name" and .pid == $p and .tid == $t).args.name][0])' trace.json
}

trace stencil --size 64 --iterations 24 --write every=4 --read every=8 --mode async+bg --baseline 0
equal '["helper","helper"]' "$(tracks write)" "threads that write"
equal '["main","main"]' "$(tracks halo)" "threads that exchange halos"
equal '["rank 0","rank 1"]' "$(jq -c '[.traceEvents[] | select(.name == "process_name").args.name[:6]] | sort' trace.json)" processes
# Ids of requests count through their queue.
equal '[1,2,3,4,5,6]' "$(jq -c '[.traceEvents[] | select(.name == "write" and .pid == 0).args.request]' trace.json)" "ids of writes"

trace stencil --size 64 --iterations 8 --write every=2 --mode sync+imm
equal '["main","main"]' "$(tracks write)" "threads that write without overlap"

trace bulk --block 4m --transfer 8k --depth 3 --check-write yes
holds '$n > 2' n="$(tracks write | jq length)" # two ranks, one of which at least found work for two of its threads
equal '["worker"]' "$(tracks write | jq -c unique)" "threads of a stream"

trace reader --files 6 --size 64k --transfer 8k --concurrency 2
if has_backend uring; then
    trace bulk --block 256k --transfer 8k --depth 4 --backend uring
    equal 64 "$(jq '[.traceEvents[] | select(.cat == "in flight" and .ph == "e" and .name == "write").id] | unique | length' trace.json)" \
        "writes in flight"
fi

# Mistakes.
expect 0 "$TUTTI" run stencil --size 16 --iterations 2 "${here[@]}" --quiet
usage "a trace is that of one run, but 2 match" "$TUTTI" export "$runs" --trace trace.json
usage "name the same file 'both'" "$TUTTI" export "$runs" --json both --csv both
usage "--trace is written alone" "$TUTTI" export "$runs" --trace both --csv both
expect 1 "$TUTTI" export "$runs" workload=stencil --trace none.json
one_line "has no trace; run it again with --trace, to its end: ranks that are killed leave none"
[ ! -e none.json ] || fail "a file without a trace"
no_data_left
