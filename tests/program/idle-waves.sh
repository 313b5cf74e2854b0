# SPDX-License-Identifier: GPL-3.0-or-later
# A rank that is late in one iteration: the idle wave that follows is found with its origin and speed.
# timeout: 240
. "$(dirname "$0")/lib.sh"
needs jq
[ -n "${MPI_CALLS:-}" ] || skip "a preloaded library does not go with the sanitizers"

# A delay far above what a busy machine does to 16 ranks on few cores. Rank 0 tells the others a few times a second how it goes on,
# by a tree; ranks 5 and 15 pass nothing on in it. A machine that holds up another rank for as long makes a second wave: so three
# attempts, of which a search that does not work would fail all.
finds() { # RANK ITERATION CONDITION on the wave
    local attempt
    for attempt in 1 2 3; do
        rm -rf "${runs:?}"
        expect 0 env OMP_WAIT_POLICY=passive LD_PRELOAD="$MPI_CALLS" TUTTI_MPI_DELAY="$1 $2 1.5" "$TUTTI" run stencil -n 16 --threads 2 \
            --size 66 --iterations 80 --write every=0 "${here[@]}" --json out.json
        if jq -e --argjson rank "$1" --argjson iteration "$2" "def near_one: . > 0.75 and . < 1.25; .idle_waves.waves[0] |
            .rank == \$rank and .iteration == \$iteration and ($3)" out.json >/dev/null; then return 0; fi
        jq -c .idle_waves out.json
    done
    fail "a delay of rank $1 in iteration $2 was not found"
}

finds 5 40 '([.up, .down | [.first_rank, .first_iteration]] == [[6, 41], [4, 41]]) and
    ([.up, .down | (.speed | near_one) and .r2 > 0.9 and .ranks >= 3 and .ranks_per_second > 0] | all) and
    .up.last_rank > 6 and .down.last_rank < 4 and .seconds > 0'
# The waiting is that of the samples: nobody waited longer in that iteration than the first two of the fronts.
equal '[4,6]' "$(jq -c '.samples | (.columns | [index("iteration", "halo_ns")]) as [$i, $h] | [.ranks | to_entries[] | .key as $r | .value.rows[] |
    select(.[$i] == 41) | [.[$h], $r]] | sort | .[-2:] | map(.[1]) | sort' out.json)" "ranks that waited longest in iteration 41"
sentence='An idle wave began on rank 5 in iteration 40 \([0-9.]* s\) and travelled (1\.|0\.[789])[0-9]* ranks per iteration (both ways, as far as ranks|to higher)'
tr -s ' \n' ' ' <out | grep -qE "idle wave $sentence" || fail "the report does not say it: $(cat out)"
run=$(find "$runs" -mindepth 1 -maxdepth 1 -type d)
expect 0 "$TUTTI" show "$run" --all
tr -s ' \n' ' ' <out | grep -qE "idle wave $sentence" || fail "show does not say it: $(cat out)"
# The page's map has a line from there each way.
expect 0 "$TUTTI" report "$run" --format json -o report.json
jq -e '[.figures[] | select(.kind == "heat").lines[:2][] | [.x[0], .y[0]]] == [[40, 5], [40, 5]]' report.json >/dev/null || fail "lines of the map"
jq -e '.answer | any(startswith("An idle wave began on rank 5 in iteration 40"))' report.json >/dev/null || fail "the report's answer"

# At the end of the chain it has one way only.
finds 15 30 '.up == null and [.down.first_rank, .down.first_iteration] == [14, 31] and (.down.speed | near_one)'
for word in 'idle wave' stall; do expect 0 "$TUTTI" explain "$word"; done
no_data_left
