# SPDX-License-Identifier: GPL-3.0-or-later
# Writes and reads every byte where it belongs, in every order; a wrong byte, a hole and a deadline are noticed.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq strace

bulk=("$TUTTI" run bulk --quiet "${here[@]}" --block 32k --transfer 8k --segments 3 --json out.json)
checked=(--check-write yes --check-read yes)
column() { jq ".tables.accesses[$1] | [.[]] | .[$2] * 1" out.json; } # ROW COLUMN, see src/workloads/bulk/bulk.h

# A file each, by other ranks than those that wrote it.
expect 0 "${bulk[@]}" "${checked[@]}" -n 5 --files process --reorder permutation --order random
equal "$(column 0 3)" 60 "transfers"
# Checking what was written is no part of the run. On a slow store it takes longer than ranks differ in their start.
expect 0 "${bulk[@]}" --check-write yes -n 2 --layers throttle --throttle.rate 1m
equal "$(metric bytes_read) $(jq .calls.read.count out.json)" "196608 24" "bytes and calls of reading"
holds '$check > 0.1 and $runtime + $check / 2 < $wall and $runtime >= $write + $read' runtime="$(metric runtime)" write="$(column 0 7)" \
    check="$(column 1 7)" read="$(column 2 7)" wall="$(jq '[.samples.ranks[].rows[-1] | .[1] + .[2]] | max / 1e9' out.json)"
# In step.
expect 0 "${bulk[@]}" "${checked[@]}" -n 2 --backend mpiio --mpiio.method collective --order strided
usage 'in step: no deadline' "${bulk[@]}" -n 2 --backend mpiio --mpiio.method collective --deadline 1

# Several transfers in flight: by threads, by nonblocking calls, in the helper's queue.
expect 0 "${bulk[@]}" "${checked[@]}" -n 2 --depth 4 --order random
way() { equal "$(jq -r .overlap.transfers out.json)" "up to 4 $1" "what the result says of transfers"; }
way "in flight at a time, by a thread for each"
expect 0 "${bulk[@]}" "${checked[@]}" -n 2 --depth 4 --backend mpiio --mpiio.method nonblocking
way "in flight at a time, by nonblocking calls of the backend"
holds '$rate > 0' rate="$(metric write_rate)"
expect 0 "${bulk[@]}" "${checked[@]}" -n 2 --depth 4 --layers verify --mode async+bg
way "queued at a time for the helper thread, which makes one after the other"
jq -e '.facts[] | select(.key == "verify.comparing") | .read_back | test("12 blocks compared")' out.json >/dev/null ||
    fail "verify does not say what it compared"
usage 'verify takes one at a time; use a depth of 1' "${bulk[@]}" --depth 4 --layers verify
usage 'or --mpiio.method nonblocking' "${bulk[@]}" --depth 4 --files process --backend mpiio
usage 'use --mpiio.method independent' "${bulk[@]}" --depth 4 --backend mpiio

# The kernel sees the same calls.
observe -e trace=pwritev,preadv -o calls "${bulk[@]}" --cold no
equal "$(grep -c 'pwritev(.* = 8192' calls) $(grep -c 'preadv(.* = 8192' calls)" "12 12" "calls counted by strace"

# Opening and closing are the calls themselves, without what tutti does around them.
expect 0 "${bulk[@]}" --read no
holds '($total - $open - $moved - $close | fabs) < 1e-9 and ($close - $call | fabs) < 1e-9 and $open >= $opened' \
    open="$(column 0 4)" moved="$(column 0 5)" close="$(column 0 6)" total="$(column 0 7)" \
    call="$(jq .calls.close.max out.json)" opened="$(jq .calls.open.max out.json)"

# A file that is there: its data is known by its signature, and a single byte that differs is found.
kept=(--paths "$data/kept" --signature 5)
expect 0 "${bulk[@]}" "${kept[@]}" --read no --keep --quiet no
grep -q "^  kept  *$data/kept$" out || fail "the result does not say where the file is"
equal "$(stat -c %s "$data/kept")" 98304 "size of the file"
[ "$(gzip <"$data/kept" | wc -c)" -ge 98304 ] || fail "the data can be compressed"
expect 0 "${bulk[@]}" "${kept[@]}" --write no --check-read yes --order random
printf x | dd of="$data/kept" bs=1 seek=70001 conv=notrunc status=none
expect 1 "${bulk[@]}" "${kept[@]}" --write no --check-read yes
one_line "kept' at offset 70001: what was read is not what was written"
# A part of it that was never written.
fallocate -p -o 16384 -l 16384 "$data/kept"
expect 0 "${bulk[@]}" "${kept[@]}" --write no
jq -e '.warnings[] | select(.text | test("holes"))' out.json >/dev/null || fail "no warning of holes"
# A foreign file is left alone.
rm "$data/kept"
echo precious >"$data/kept"
expect 1 "${bulk[@]}" "${kept[@]}"
one_line "exists and does not look like a file that tutti made"
equal "$(cat "$data/kept")" precious "the foreign file"
rm "$data/kept"

# As compressible and repeated as asked, measured.
expect 0 "${bulk[@]}" --segments 40 --compressible 0.5 --duplicate 0.5 --read no
holds '$c < 0.5 and $d > 0.3 and $d < 0.7' c="$(metric data_compressed)" d="$(metric data_duplicate)"

# A deadline: what is left of the file is read, by any rank, now and later.
expect 0 "${bulk[@]}" "${checked[@]}" -n 2 --segments 1000000 --transfer 4k --files process --order random --reorder constant \
    --deadline 0.05 --max-bytes 4g --repetitions 2
holds '$done < 16000000 and $bytes > 0 and $least <= $most' done="$(column 0 3)" bytes="$(column 0 10)" least="$(column 0 11)" \
    most="$(column 0 12)"
equal "$(column 1 3)" "$(column 0 3)" "transfers checked and written"
! jq -e '.warnings[] | select(.text | test("holes"))' out.json >/dev/null || fail "only what was written was read"
no_data_left
cut=(-n 2 --segments 1000000 --files process --order random --paths "$data/cut" --count-file "$data/count")
expect 0 "${bulk[@]}" "${cut[@]}" --deadline 0.05 --wear-out yes --read no --keep --max-bytes 4g
equal "$(column 0 11)" "$(column 0 12)" "transfers of the slowest and the fastest rank"
expect 0 "${bulk[@]}" "${cut[@]}" --write no --check-read yes
equal "$(metric bytes_read)" "$(($(sed 's/.*: //' "$data/count") * 2 * 8192))" "bytes read of what the deadline left"
rm "$data"/cut* "$data/count"
# Limits hold while it writes.
expect 1 "${bulk[@]}" --segments 1000000 --deadline 60 --max-bytes 1m
one_line 'stopped by --max-bytes'
no_data_left

# As one of several jobs, and told to stop.
expect 0 "$TUTTI" run bulk --block 1m --quiet "${here[@]}" -n 2 --segments 1000
iterations_wanted=3 perform_endlessly 2 "$(last_run)"
printf '%s\n' 'reference: {workload: bulk, block: 1m, segments: 16}' 'load: {same: reference}' 'others: [1]' >e.yaml
expect 0 "$TUTTI" ensemble e.yaml "${here[@]}" --quiet --repeat 1

usage 'not a multiple of bulk.transfer' "${bulk[@]}" --block 100k --transfer 64k
usage 'nothing is left to do' "${bulk[@]}" --read no --write no
usage 'bulk.paths has to name' "${bulk[@]}" --write no
usage 'strided: a file per process' "${bulk[@]}" --order strided --files process
usage 'wear_out needs' "${bulk[@]}" --wear-out yes
usage 'keeps nothing that could be checked' "${bulk[@]}" --backend discard --check-read yes
