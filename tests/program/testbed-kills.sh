# SPDX-License-Identifier: GPL-3.0-or-later
# Twenty kills at random moments, of the driver or of a rank: never data files, processes or a hang,
# always one clear line.
# timeout: 400
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs pgrep
RANDOM=20 # the same moments in every run, as far as the machine allows
backends=(posix mpiio)
! "$TUTTI" list backends | grep -qw hdf5 || backends+=(hdf5)
modes=(sync+imm sync async async+bg)
sleep_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
left() { pgrep -f "$runs" || true; }

for ((i = 0; i < 20; i++)); do
    rm -rf "$runs"
    "$TUTTI" run stencil -n 3 --size 256 --iterations 100000000 --write every=20 \
        --backend "${backends[RANDOM % ${#backends[@]}]}" --mode "${modes[RANDOM % 4]}" "${here[@]}" >out 2>err &
    driver=$!
    sleep_ms $((RANDOM % 1500 + 100))
    signal=TERM victim=$driver
    if ((i % 2)); then
        rank=$(pgrep -f "perform.*$runs" | sort -R --random-source=<(yes) | head -n 1)
        if [ -n "$rank" ]; then signal=KILL victim=$rank; fi
    fi
    kill -$signal "$victim"
    timeout 30 tail --pid=$driver -f /dev/null || fail "kill $i ($signal): the driver hangs"
    status=0
    wait $driver || status=$?
    equal 1 $status "status after kill $i ($signal)"
    one_line '^tutti: '
    for ((wait = 0; wait < 50; wait++)); do
        [ -n "$(left)" ] || break
        sleep 0.1
    done
    [ -z "$(left)" ] || fail "processes left after kill $i ($signal): $(pgrep -af "$runs")"
    no_data_left
done
