# SPDX-License-Identifier: GPL-3.0-or-later
# What pattern and verify find, in the same run and in a later one.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq

pattern=("$TUTTI" run pattern -n 2 --quiet --seed 3 --series append "${here[@]}")

# One bit on the way to storage: found by reading back, with its place.
expect 1 "${pattern[@]}" --layers fault --fault.nth 3 --fault.rank 1 --fault.action flip
one_line "rank 1: variable 'v0', step 1, element [0-9]+: expected 0x[0-9a-f]{16}, found 0x[0-9a-f]{16}"
# The same with nobody reading: verify does, after the measured time.
expect 1 "${pattern[@]}" --phase write --layers verify,fault --fault.nth 3 --fault.rank 1 --fault.action flip
one_line "rank 1: .*variable 'v0', step 1: the content is not what rank 1 wrote"
no_data_left

# Kept files are read by another run: with the right seed, from the other rank's place, with another.
expect 0 "${pattern[@]}" --phase write --keep --layers verify --path "$data/kept"
kept=$(last_run)
expect 0 "${pattern[@]}" --phase read --path "$data/kept" --shift yes
expect 1 "${pattern[@]}" --phase read --path "$data/kept" --seed 4
one_line "variable 'v0', step 0, element 0: expected"
expect 0 "$TUTTI" verify "$kept"
printf x | dd of="$data/kept" bs=1 seek=40000 conv=notrunc status=none
expect 1 "$TUTTI" verify "$kept"
one_line "variable 'v0', step 1"
rm "$data/kept"

# Files of several steps are open at once; none may be taken for another.
expect 0 "${pattern[@]}" --series file --steps 6 --layers verify --mode async --inflight 3

# Reads in the background are known by their own duration, not by what was waited for.
expect 0 "${pattern[@]}" --prefetch yes --mode async --json out.json
holds '($bytes / $seconds / $rate - 1 | fabs) < 1e-6' bytes="$(metric bytes_read)" seconds="$(slowest io_read)" rate="$(metric read_rate)"

usage "pattern.dims" "${pattern[@]}" --dims 0:3
usage "1 to 4 dimensions" "${pattern[@]}" --dims 1:2:3:4:5
usage "'f65' is not a type" "${pattern[@]}" --element f65
usage "two fields are called 'x'" "${pattern[@]}" --element x:f64,x:i32
usage "no room for 100 runs" "${pattern[@]}" --selection runs --dims 99
usage "needs pattern.path" "${pattern[@]}" --phase read
usage "must stand before layout layer" "${pattern[@]}" --layers align,verify
usage "discard does not" "${pattern[@]}" --layers align --backend discard
usage "throttle.rate" "${pattern[@]}" --layers throttle --throttle.buffer 1m
