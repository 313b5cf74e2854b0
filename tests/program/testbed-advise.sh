# SPDX-License-Identifier: GPL-3.0-or-later
# On a device throttled to 30 MiB/s advice is what an exhaustive study of all combinations finds: only a sync in the
# background hides the device, and files hardly matter.
# timeout: 900
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq
disk=$work/disk status=0
"$SOURCE/testbed/throttled-disk" up 512M 30M "$disk" 2>why || status=$?
[ $status != 77 ] || skip "$(cat why)"
[ $status = 0 ] || fail "$(cat why)"
on_exit+=("$SOURCE/testbed/throttled-disk down $disk")

# 8 MiB take 270 ms, and so long the ranks sleep between two steps.
job=(particles --dims 131072 --steps 3 --pause 270ms -n 2 --dir "$disk" --results "$runs" --min-free 0)
modes=sync+imm,sync,async,async+bg files=shared,process
LIMIT=400 expect 0 "$TUTTI" study "${job[@]}" --baseline 0 --quiet --repeat 2 --metrics runtime --json study.json \
    --sweep mode=$modes --sweep files=$files
LIMIT=400 expect 0 "$TUTTI" advise "${job[@]}" --max-time 3min --repeat 6 --fixed backend --json advice.json \
    --sweep mode=$modes --sweep files=$files
equal "$(jq -r '[.recommended, .best.values.mode] | join(" ")' advice.json)" "true async+bg" "the mode that is recommended"

# The study's row of what is recommended is as good as its best one.
jq -s '.[0].best.values as $best | .[1].rows
    | map({runtime: .metrics.runtime.median, advised: (.values.mode == $best.mode
        and .values.files == ($best.files // "shared"))})
    | {best: (map(.runtime) | min), advised: (map(select(.advised).runtime) | min)}' advice.json study.json >both.json
holds '$advised <= $best * 1.15' advised="$(jq .advised both.json)" best="$(jq .best both.json)"
