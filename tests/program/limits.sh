# SPDX-License-Identifier: GPL-3.0-or-later
# --max-bytes, --max-time and --min-free: checked before the run where it is known, else per dump.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq
job=(stencil -n 2 --size 64 --write every=5 --dir "$data" --results "$runs")

# Six dumps of 32 KiB are more than 100 KiB, and that is known beforehand.
expect 1 "$TUTTI" run "${job[@]}" --iterations 30 --min-free 0 --max-bytes 100k
one_line "max-bytes"
expect 0 "$TUTTI" run "${job[@]}" --iterations 30 --min-free 0 --max-bytes 192k
# No file system has this much to spare.
expect 1 "$TUTTI" run "${job[@]}" --iterations 30 --min-free 100%
one_line "min-free"
expect 1 "$TUTTI" run "${job[@]}" --iterations 30 --min-free 8000000t
one_line "min-free"
# The file system that counts is that of the files.
expect 1 "$TUTTI" run "${job[@]}" --iterations 30 --min-free 100% --dir /proc --write.path "$data/f"
one_line "'$data' has .*min-free"
expect 1 "$TUTTI" run bulk -n 1 --block 1000t --transfer 1m --min-free 0 "${here[@]}"
one_line "do not fit"
# What stores nothing needs no room.
expect 0 "$TUTTI" run "${job[@]}" --iterations 30 --min-free 100% --backend discard
# Time runs out inside the loop: what was recorded until then is kept, the data is not.
expect 1 "$TUTTI" run "${job[@]}" --iterations 100000000 --min-free 0 --max-time 1s
one_line "^tutti: stopped by --max-time 1 s at iteration"
grep -qE '^tutti stencil .*stopped$' out || fail "no table of what was measured"
grep -q 'update rate' out || fail "the table is empty"
expect 0 "$TUTTI" show "$(last_run)"
jq -e '.status == "stopped"' "$(last_run)/result.json" >/dev/null
holds '$n > 0' n="$(metric bytes_written "$(last_run)/result.json")"
no_data_left

# The first iterations are fast, and those with a dump are not: the clock is looked at soon enough all the same. A dump
# of 2 KiB takes a tenth of a second here, so that a second has a thousand iterations.
expect 1 "$TUTTI" run stencil -n 1 --size 16 --iterations 100000000 --write every=100 --layers throttle --throttle.rate 20k \
    --max-time 1s "${here[@]}"
one_line "^tutti: stopped by --max-time 1 s at iteration"
holds '$n < 2000' n="$(sed -nE 's/.*at iteration ([0-9]+) of.*/\1/p' err)"
no_data_left

# Nor has any node this much memory; what is only planned here may run elsewhere.
expect 1 "$TUTTI" run stencil -n 2 --size 2000000 --iterations 1 "${here[@]}"
one_line "the run needs .* of memory on this node, which has"
expect 0 "$TUTTI" run stencil -n 2 --size 2000000 --iterations 1 "${here[@]}" --dry-run
grep -q "^memory .*: more in all than this node has" out || fail "$(cat out)"

# The shell's own limits: too small files are an error like any other, too few files are known before.
expect 1 bash -c 'ulimit -f 8192; exec "$@"' - "$TUTTI" run stencil --size 2048 --iterations 4 --write every=2 "${here[@]}"
one_line "File too large"
no_data_left
expect 1 bash -c 'ulimit -n 32; exec "$@"' - "$TUTTI" run stencil --size 64 --iterations 4 "${here[@]}"
one_line "ulimit -n"

# Copies of dumps in flight keep to their memory: four of them would be 32 MB.
for limit in 0 1m; do
    expect 0 "$TUTTI" run stencil -n 1 --size 1000 --iterations 12 --write every=1 --mode async --inflight 4 --baseline 0 \
        --layers throttle --throttle.rate 200m --staging-limit $limit "${here[@]}" --json out.json
    memory+=("$(metric peak_memory)")
done
holds '$free - $limited > 16e6' free="${memory[0]}" limited="${memory[1]}"
