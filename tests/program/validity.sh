# SPDX-License-Identifier: GPL-3.0-or-later
# Each doubt about a number is provoked, and stands beside it; without its cause it does not.
# processors: 1
# timeout: 120
. "$(dirname "$0")/lib.sh"
needs jq strace

bulk=("$TUTTI" run bulk --block 1m --quiet "${here[@]}" --json "$work/out.json")
warns() { jq -e --arg text "$1" 'any(.warnings[]; .text | test($text))' out.json >/dev/null; }
doubt() { warns "$1" || fail "no warning like '$1': $(jq -c .warnings out.json)"; }
no_doubt() { ! warns "$1" || fail "a warning like '$1': $(jq -c .warnings out.json)"; }

# Nothing but what is always said of a run in memory.
expect 0 "${bulk[@]}" --read no --segments 8
for text in 'still be in memory' compresses 'was touched' straggler holes 'without effect' 'faster than'; do no_doubt "$text"; done

expect 0 "${bulk[@]}" --cold no
doubt 'reads came from the page cache: it held 1.00 MiB, 100 %'
expect 0 "${bulk[@]}" --read no --sync never
doubt 'data may still be in memory: sync=never'
# What makes a run longer has another name in every workload.
doubt 'too short to trust: .* raise bulk.repetitions or bulk.block$'
expect 0 "${bulk[@]}" --read no --compressible 0.7
doubt 'data compresses to 3[0-9] %'
expect 0 "${bulk[@]}" --read no --data timestamp --segments 8
doubt '[0-9]+ % of its 4 KiB chunks repeat'
expect 0 "${bulk[@]}" --order repeated --transfer 4k --segments 4 --read no
doubt 'only 6[0-9] % of the data was touched'
expect 0 "${bulk[@]}" -n 5 --files process --reorder random --seed 3
doubt 'of the data was touched'

# A burst buffer that is full after a third of the data; and the same rate from beginning to end.
slow=(--read no --sync never --transfer 256k --layers throttle --throttle.rate 30m)
expect 0 "${bulk[@]}" "${slow[@]}" --block 60m --throttle.buffer 24m
doubt 'writing slowed down: .* for the last quarter of its bytes, .* for the first, as when a burst buffer is full'
expect 0 "${bulk[@]}" "${slow[@]}" --block 36m
no_doubt 'quarter of its bytes'

# What was asked for and could not be.
expect 0 "$TUTTI" run stencil --quiet --size 16 --iterations 10 --write every=100 "${here[@]}" --json out.json
doubt 'nothing was written: a dump every 100 iterations, of which there are 10'
jq -e '.metrics.cpu_others.value == null' out.json >/dev/null || fail "CPUs of others in a run of microseconds: $(jq -c .metrics.cpu_others out.json)"
expect 0 "$TUTTI" run metadata --quiet --items 10 --read 100 "${here[@]}" --json out.json
doubt 'raise metadata.repetitions or metadata.items$'
doubt 'short files: they hold less than the 100 bytes'
expect 0 "$TUTTI" run metadata --quiet --items 10 --write 100 --read 100 "${here[@]}" --json out.json
no_doubt 'short files'

# Parts that were never written.
truncate -s 1m "$data/sparse"
expect 0 "${bulk[@]}" --write no --paths "$data/sparse"
doubt 'a file had holes when it was read'
rm "$data/sparse"

# A buffer that is full after a part of the data.
expect 0 "${bulk[@]}" --read no --segments 6 --transfer 64k --sync never --layers throttle --throttle.rate 4m --throttle.buffer 4m
doubt 'a fast start: the first tenth of an access went'
no_doubt 'a slow start'

# One rank whose calls are slow.
cat >slow <<'END'
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || exec strace -f -qq -o /dev/null -e trace=pwritev -e inject=pwritev:delay_exit=30000 "$@"
exec "$@"
END
expect 0 "${ranks[@]}" 2 bash slow "${bulk[@]}" --read no --segments 3
doubt 'a straggler: the I/O of rank 1 took'

# A hint that the library cannot follow.
if has_backend mpiio; then
    expect 0 "$TUTTI" run stencil --quiet "${here[@]}" --json "$work/out.json" -n 2 --size 64 --iterations 4 --write every=2 --backend mpiio \
        --mpiio.method independent --mpiio.hints cb_nodes=1
    doubt 'without effect: .*cb_nodes=1'
fi
no_data_left
