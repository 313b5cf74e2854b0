# SPDX-License-Identifier: GPL-3.0-or-later
# Ctrl-C: partial records are kept, data files cleaned, status 1, one line.
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq pgrep
hydra=$("${ranks[0]}" --version 2>/dev/null | grep HYDRA || true)
set -m # a background job with default signals, as from a terminal

for launcher in driver mpirun; do
    rm -rf "$runs"
    job=("$TUTTI" run stencil --size 128 --iterations 100000000 --write every=50 --mode async "${here[@]}")
    if [ $launcher = driver ]; then
        "${job[@]}" -n 2 >out 2>err &
    else
        "${ranks[@]}" 2 "${job[@]}" >out 2>err &
    fi
    pid=$!
    wait_for_data $pid +1k
    kill -INT $pid
    timeout 60 tail --pid=$pid -f /dev/null || fail "hangs after Ctrl-C ($launcher)"
    status=0
    wait $pid || status=$?
    # The status of MPICH's launcher is now and then 0, whatever its ranks end with.
    [ $status != 0 ] || { [ $launcher = mpirun ] && [ -n "$hydra" ]; } || fail "status 0 after Ctrl-C ($launcher)"
    if [ $launcher = driver ]; then
        equal 1 $status status
        one_line "interrupted"
    elif [ -z "$hydra" ]; then
        grep -q "tutti: interrupted; what was measured: tutti show $runs/" err || { cat err; fail "said nothing"; }
    fi
    no_data_left
    no_process_left
    expect 0 "$TUTTI" show "$(last_run)"
    holds '$n > 0' n="$(jq '.metrics.bytes_written.value' "$(last_run)/result.json")"
done

# What is under way when it ends was measured, too.
rm -rf "$runs"
"$TUTTI" run bulk -n 2 --block 1g --layers throttle --throttle.rate 4m "${here[@]}" >out 2>err &
pid=$!
wait_for_data $pid +1M
kill -INT $pid
wait $pid || true
expect 0 "$TUTTI" show "$(last_run)"
holds '$n >= 1048576' n="$(jq '.metrics.bytes_written.value' "$(last_run)/result.json")"
no_data_left

# The driver is gone, and the ranks are told to end more than once: they clean up all the same. Not so their launcher,
# which kills them the second time (prterun).
rm -rf "$runs"
"$TUTTI" run stencil -n 2 --size 128 --iterations 100000000 --write every=50 --mode async+bg "${here[@]}" \
    >out 2>err &
driver=$!
wait_for_data $driver +1k
kill -9 $driver
for ((i = 0; i < 300; i++)); do
    pids=$(pgrep -f "^[^ ]*tutti perform.*$runs") || break
    # shellcheck disable=SC2086 # a list of numbers
    [ $i -gt 5 ] || kill $pids 2>/dev/null || true
    sleep 0.1
done
no_process_left
no_data_left
