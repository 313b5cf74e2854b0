# SPDX-License-Identifier: GPL-3.0-or-later
# overlap=auto decides, says what and why, and writes the same data in whatever mode. What decisions cost is replayed in
# tests/unit/overlap_choice.c.
# processors: 2
# timeout: 120
. "$(dirname "$0")/lib.sh"
needs jq

shows() { grep -qF -- "$1" out || fail "not shown: $1"; }
job() { # DUMPS OPTIONS...
    expect 0 "$TUTTI" run stencil -n 2 --iterations "$1" --write every=1 --mode auto --min-free 0 --dir "$data" \
        --results "$runs" --json out.json "${@:2}"
    equal "$1" "$(jq '.overlap.auto[0] | .sync + .async' out.json)" "an epoch of a mode for every dump"
    # A mode is taken since it was predicted to be the better one; a probe is one epoch of the other.
    equal "" "$(jq -r '.overlap.auto[0].decisions[] | select(.why == "pays") | select(.[.mode] > ([.sync, .async] | max)
        or .[.mode] != ([.sync, .async] | min)) | .epoch' out.json)" "decisions for the worse mode"
    equal "$(jq '.overlap.auto[0].switches' out.json)" \
        "$(jq '[.overlap.auto[0].decisions[] | select(.why == "pays")] | length' out.json)" "switches that have a reason"
}

# A slow store, and as much computation: overlap pays.
job 40 --size 128 --compute 10ms --layers throttle --throttle.rate 6m
jq -e '.overlap.auto[0] | .async > .sync' out.json >/dev/null || fail "overlap should have paid: $(cat out)"
shows "auto: helper thread"
shows "of one epoch"
# The answer says what that was good for, by the last prediction.
equal "$(jq -r '.overlap.auto[0] | "  auto       \(.async) of \(.sync + .async) epochs async; predicted"' out.json)" \
    "$(sed -n '3,/^$/p' out | grep -oE '^  auto .* predicted')" "the answer"
jq -r '.overlap.auto[0].decisions[-1] | (.sync / .async) | if . >= 1.02 then "faster" elif . > 0.98 then "no faster" else "slower" end' \
    out.json | { read -r expected; grep -qE "^  auto .* $expected than sync$" out; } || fail "another prediction than the last"

# A store that takes no time: a copy is all that overlap does.
job 60 --size 1024 --backend discard
equal sync "$(jq -r '[.overlap.auto[0].decisions[] | select(.why == "pays")][0].mode' out.json)" "first switch"
shows "if async"

# All bytes are right, with probes of both kinds among the dumps, and several dumps in flight.
job 40 --size 256 --layers verify --inflight 3 --write series=file
jq -e '.verified.ok // .valid' out.json >/dev/null || fail "wrong data"

# What cannot be.
usage "use sync=background, close or never" "$TUTTI" run stencil --overlap auto --sync dump "${here[@]}"
usage "overlap=auto has nothing to decide for bulk" "$TUTTI" run bulk --overlap auto "${here[@]}"
