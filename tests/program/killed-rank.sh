# SPDX-License-Identifier: GPL-3.0-or-later
# One rank is killed in the middle: one line, status 1, records kept, no data, no processes left.
# processors: 1
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq pgrep

# The first dump is over: a library may make its file long before.
has_dumped() { [ "$(cut -d ' ' -f 1 "$runs"/*/progress 2>/dev/null || true)" -gt 50 ] 2>/dev/null; }
for backend in posix mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    rm -rf "$runs"
    "$TUTTI" run stencil -n 2 --size 128 --iterations 100000000 --write every=50 --backend $backend \
        "${here[@]}" >out 2>err &
    driver=$!
    until rank=$(pgrep -f "perform.*$runs" | tail -n 1) && has_dumped; do
        kill -0 $driver || { cat err; fail "the run ended by itself"; }
        sleep 0.1
    done
    kill -9 "$rank"
    status=0
    timeout 60 tail --pid=$driver -f /dev/null || fail "the driver hangs after a rank was killed"
    wait $driver || status=$?
    equal 1 $status "status"
    one_line "rank [01] .*died"
    no_data_left
    sleep 0.2
    no_process_left
    expect 0 "$TUTTI" show "$(last_run)"
    holds '$n > 0' n="$(jq '.metrics.bytes_written.value' "$(last_run)/result.json")"
done

# One that is told to end is not one that died, and neither are the others, which the launcher ends.
rm -rf "$runs"
"$TUTTI" run stencil -n 2 --size 128 --iterations 100000000 --write every=50 "${here[@]}" >out 2>err &
driver=$!
until rank=$(pgrep -f "perform.*$runs" | tail -n 1) && has_dumped; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
who=$(tr '\0' '\n' <"/proc/$rank/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
kill -INT "$rank"
wait $driver || true
[ -z "$who" ] || one_line "(rank $who .pid $rank on .* was told to end by a signal, and the others ended with it|the ranks were told to end before they were done)"
no_process_left
no_data_left

# A rank that hangs: the limit of time ends the others' waiting.
rm -rf "$runs"
"$TUTTI" run bulk -n 2 --block 1g --layers throttle --throttle.rate 4m --max-time 1 --patience 1 "${here[@]}" >out 2>err &
driver=$!
until rank=$(pgrep -f "perform.*$runs" | tail -n 1) && [ -n "$(find "$data" -type f -size +100k)" ]; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
kill -STOP "$rank"
timeout 60 tail --pid=$driver -f /dev/null || fail "hangs with a rank that is stopped"
status=0
wait $driver || status=$?
equal 1 $status status
one_line "rank [01] on .* has not answered for [0-9]+ s; its last note is write of .*; the run was ended by --max-time 1 s and twice --patience 1 s"
no_process_left
no_data_left

# Everything is killed at once, the writer of records among it: they lie in memory of this node, and whoever looks at the
# run gets them, up to the last iteration. Then nothing stays in memory.
rm -rf "$runs"
"$TUTTI" run stencil -n 2 --size 128 --iterations 100000000 --write every=50 --backend posix "${here[@]}" >out 2>err &
driver=$!
until [ "$(cut -d ' ' -f 1 "$runs"/*/progress 2>/dev/null || true)" -gt 500 ] 2>/dev/null; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
# shellcheck disable=SC2046
kill -9 $driver $(pgrep -f "$runs")
wait $driver 2>/dev/null || true
no_process_left
seen=$(cut -d ' ' -f 1 "$(last_run)/progress")
in_memory() { find /dev/shm "${TMPDIR:-/tmp}" -maxdepth 1 -name "tutti-$(basename "$(last_run)")-*" 2>/dev/null; }
[ -n "$(in_memory)" ] || fail "no records in memory"
expect 0 "$TUTTI" show "$(last_run)/"
[ -z "$(in_memory)" ] || fail "records stay in memory: $(in_memory)"
kept=$(jq -r .error "$(last_run)/result.json" | sed -n 's/.*records end at iteration \([0-9]*\).*/\1/p')
holds '$kept >= $seen' kept="$kept" seen="$seen"
expect 0 "$TUTTI" clean "$(last_run)"
no_data_left
