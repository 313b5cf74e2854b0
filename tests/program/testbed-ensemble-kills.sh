# SPDX-License-Identifier: GPL-3.0-or-later
# Twenty kills at random moments, of an ensemble's driver or of one of its jobs: no process stays, no
# finished repetition is lost, and --resume completes it with nothing left behind.
# timeout: 600
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq pgrep
RANDOM=3 # the same moments in every run, as far as the machine allows
ensemble=("$TUTTI" ensemble)
sleep_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
no_group_left() { # of a driver that is dead: others may be at work on this machine
    local group pid
    for group in $(find /sys/fs/cgroup -maxdepth 2 -type d -name 'tutti-[0-9]*-*' -printf '%f\n' 2>/dev/null || true); do
        pid=${group#tutti-} pid=${pid%%-*}
        [[ $pid == *[!0-9]* || -d /proc/$pid ]] || fail "control group $group left after $1"
    done
}

cat >small.yaml <<'END'
reference: {workload: stencil, size: 64, iterations: 100, work: 8, write: {every: 10}}
load:
  - {workload: stencil, size: 64, iterations: 10, write: {every: 2}, mode: async+bg}
  - {command: [sleep, "0.05"]}
others: [0, 2]
repeat: 2
warmup: 20ms
END
start() {
    rm -rf "$runs"
    "${ensemble[@]}" small.yaml "${here[@]}" >out 2>err &
    driver=$!
}
journal() { cat "$runs"/ensemble-*/journal 2>/dev/null || true; }
# What was in the journal is still there and used, and the ensemble complete.
complete_again() { # WHAT
    local kept=$work/kept folder
    no_process_left
    journal >"$kept"
    folder=$(find "$runs" -maxdepth 1 -name 'ensemble-*' 2>/dev/null) || true
    [ -e "$folder/ensemble.json" ] || return 0 # it had not begun
    expect 0 "${ensemble[@]}" small.yaml --resume "$folder" --json answer.json --quiet
    equal '[2,2]' "$(jq -c '[.steps[].runs]' answer.json)" "runs of $1"
    equal "$(cat "$kept")" "$(head -n "$(wc -l <"$kept")" "$folder/journal")" "journal of $1"
    equal "$(jq -s '[.[] | select(.complete)] | length' "$folder/journal")" \
        "$(jq '[.repetitions[] | select(.complete)] | length' answer.json)" "repetitions of $1"
    no_data_left
    no_process_left
    no_group_left "$1"
}

for ((i = 0; i < 12; i++)); do
    start
    sleep_ms $((RANDOM % 3000))
    kill -KILL $driver 2>/dev/null || true
    wait $driver 2>/dev/null || true
    complete_again "kill $i of the driver"
done

# A job that dies is marked, tried again, and the ensemble goes on by itself.
for ((i = 0; i < 8; i++)); do
    start
    sleep_ms $((RANDOM % 2000 + 200))
    victim=$(pgrep -f "(perform|hold) $runs" | sort -R --random-source=<(yes) | head -n 1) || true
    [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null || true
    timeout 60 tail --pid=$driver -f /dev/null || fail "kill $i of a job: the driver hangs"
    status=0
    wait $driver || status=$?
    holds '$s <= 1' s=$status
    complete_again "kill $i of a job"
done
