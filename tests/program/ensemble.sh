# SPDX-License-Identifier: GPL-3.0-or-later
# A job alone and with others: steps, answers, verdicts, commands, matrix, and what can go wrong.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq pgrep
here=(--dir "$data" --results "$runs" --min-free 0)
ensemble=("$TUTTI" ensemble)
answer() { jq -e "$1" answer.json; }

cat >plain.yaml <<'END'
reference: {workload: stencil, size: 128, iterations: 60, write: {every: 10}, backend: posix, mode: sync}
load: {same: reference}
others: [0, 1, 2]
repeat: 2
warmup: 100ms
END

# What is known beforehand, and nothing done.
expect 0 "${ensemble[@]}" plain.yaml "${here[@]}" --dry-run
grep -q '3 steps, each 2 times' out
[ ! -e "$runs" ] || fail "a dry run made a directory"

# The short file of the documentation: all steps, all jobs, in a random order with each round complete.
expect 0 "${ensemble[@]}" plain.yaml "${here[@]}" --json answer.json --csv jobs.csv
equal '[0,1,2]' "$(answer '[.steps[].others]' | jq -c .)" others
equal '[4,2,2]' "$(answer '[.steps[].runs]' | jq -c .)" "runs, of which the reference has two a round alone"
equal '[2,2,2]' "$(answer '[.steps[].rounds]' | jq -c .)" rounds
equal '[1,1,1,1,2,2,3,3]' "$(answer '[.repetitions[].jobs | length] | sort' | jq -c .)" jobs
holds '$noise >= 0' noise="$(answer '.steps[1].noise.value')"
grep -q 'Noise: two runs alone differ by .* %' out
holds '$s > 0' s="$(answer '.steps[2].slowdown.value')"
equal null "$(jq '.steps[2].slowdown.low' answer.json)" "an interval of two runs"
grep -q 'cannot be told: .* in 2 rounds; 6 are needed' <(answer '.steps[1].slowdown.text')
# What the reference itself waited for, where the kernel tells it of a group, and no group is left.
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$unified" ] && [ -w "$unified" ] && [ -e "$unified/io.pressure" ]; then
    answer '[.repetitions[].jobs[0].waits | .cpu >= 0 and .io >= 0 and .memory >= 0] | all' >/dev/null
    answer '.steps[2].waits.io | .alone >= 0 and .loaded >= 0' >/dev/null
    [ -z "$(find "$unified" -maxdepth 1 -name "tutti-*-$(basename "$(answer .repetitions[0].jobs[0].directory | jq -r .)")-*")" ] || fail "a control group is left"
fi
directory=$(answer .directory | jq -r .)
equal '[0,1,2,3]' "$(head -n 4 "$directory/journal" | jq -s -c '[.[].point] | sort')" "the first round"
equal '[1,1,1,1,2,2,2,2]' "$(jq -s -c '[.[].round]' "$directory/journal")" rounds
equal 14 "$(grep -c '^reference,[0-9]' jobs.csv)" "rows of the CSV file"
# The loads played on until the reference had ended: all of it was under load.
answer '[.repetitions[] | .jobs[0].stop_ns as $stop | .jobs[1:][] | .stop_ns >= $stop] | all' >/dev/null
answer '[.repetitions[] | .jobs[0].start_ns as $start | .jobs[1:][] | .start_ns <= $start] | all' >/dev/null
# Every iteration of the reference was made, alone and loaded, with the same result.
equal 1 "$(answer '[.repetitions[].jobs[0].metrics.residual] | unique | length')" residuals
no_data_left
no_process_left
expect 0 "${ensemble[@]}" show "$directory"
grep -q 'others runs .*(least to most)' out || fail "a range of two runs is called an interval"
cp out shown
expect 0 "$TUTTI" show "$directory"
cmp out shown
# Each job is a run that show and runs know, alone apart from those with others.
expect 0 "$TUTTI" runs "$runs" 'context=reference, 2 others'
equal 2 "$(grep -c 'reference,.*stencil' out)" "runs of that context"

# All at one instant, and a load of another kind with a weight.
cat >mix.yaml <<'END'
reference: {workload: stencil, size: 128, iterations: 20000}
load:
  - {workload: stencil, size: 64, iterations: 20, write: {every: 5}, weight: 2}
  - {command: [sleep, "0.05"], weight: 1}
others: [3]
repeat: 1
start: together
END
expect 0 "${ensemble[@]}" mix.yaml "${here[@]}" --dry-run
grep -q 'reference alone twice' out
grep -q 'load.1 alone' out
expect 0 "${ensemble[@]}" mix.yaml "${here[@]}" --json answer.json
equal '["load.0","load.1","load.0"]' "$(answer '.steps[1].loads | sort_by(.) | [.[0],.[2],.[1]]' | jq -c .)" mix
equal 1 "$(answer '[.repetitions[] | select(.others == 3) | .jobs[].go_ns] | unique | length')" "instants"
no_process_left
# A load that is run again and again has epochs of all its passes, each with a number of its own.
load=$(answer '[.repetitions[] | select(.others == 3) | .jobs[1:][] | select(.job == "load.0")][0].directory' | jq -r .)
jq -e '[.epochs[].epoch] | length > 4 and . == [range(1; length + 1)]' "$(find "$runs" -type d -name "$load")/result.json" >/dev/null ||
    fail "epochs of passes are taken for one"
# What it costs the others: each kind was run alone, too, and is no step of its own.
equal '[0,3]' "$(answer '[.steps[].others]' | jq -c .)" "steps with loads that are run alone"
equal '["load.0","load.1","reference","reference"]' "$(answer '[.repetitions[] | select(.others == 0) | .reference] | sort' | jq -c .)" "alone"
answer '.steps[1].cost | .throughput.value > 0 and .worst.value > 0 and .fairness.value <= 1.0000001 and .jobs["load.0"].jobs == 2 and .jobs["load.1"].value > 0' >/dev/null
grep -q 'What all jobs together get done cannot be told from 1 round' out

# A user's program as the reference, nothing around it.
expect 0 "${ensemble[@]}" <(echo 'reference: {command: [sleep, "0.2"]}') "${here[@]}" --others 0 --repeat 1 --json answer.json
holds '$t >= 0.2' t="$(answer '.steps[0].runtime.median')"

# A CPU that a user chose for one job is given to no other by itself.
first=$(awk '/^Cpus_allowed_list/ { split($2, a, /[-,]/); print a[1] }' /proc/self/status)
cat >shared.yaml <<END
reference: {command: [sleep, "0.1"], cpu_set: ["$first"]}
load: {command: [sleep, "0.1"], cpus: 1}
others: [1]
repeat: 1
alone: 1
warmup: 0s
loads_alone: no
END
expect 0 "${ensemble[@]}" shared.yaml "${here[@]}" --json answer.json
[ "$(nproc)" = 1 ] ||
    equal 2 "$(answer '[.repetitions[] | select(.others == 1) | .jobs[].cpus] | unique | length')" "CPU sets"

# Everybody against everybody.
cat >matrix.yaml <<'END'
set:
  writer: {workload: stencil, size: 64, iterations: 20, write: {every: 5}}
  sleeper: {command: [sleep, "0.1"]}
others: [1]
repeat: 1
alone: 1
warmup: 50ms
END
expect 0 "${ensemble[@]}" matrix matrix.yaml "${here[@]}" --json answer.json
equal 6 "$(answer '.steps | length')" "steps of a matrix of two"
grep -q 'writer under sleeper' out
grep -q '^tutti: .* writer with 1 sleeper$' err
grep -A 3 "slowdown of each row's job beside 1 of the column's" out | grep -Eq '^  writer +[0-9.e+]+ +[0-9.e+]+$'
# Names are the user's: one with a comma is still one cell.
sed -i 's/sleeper:/"a, \\"b\\"":/' matrix.yaml
expect 0 "${ensemble[@]}" matrix matrix.yaml "${here[@]}" --others 0 --csv jobs.csv
grep -q '^"a, ""b""",0,1,1,reference,"a, ""b""",command,' jobs.csv
grep -q 'writer alone' out

# Verdicts: pass, fail and cannot be told are statuses of their own.
echo 'reference: {command: [sleep, "0.1"]}' >sleep.yaml
expect 0 "${ensemble[@]}" sleep.yaml --others 0 --repeat 6 "${here[@]}" --require 'runtime >= 0.1 s'
expect 3 "${ensemble[@]}" sleep.yaml --others 0 --repeat 6 "${here[@]}" --require 'runtime < 50ms,runtime >= 0.1 s'
expect 4 "${ensemble[@]}" sleep.yaml --others 0 --repeat 2 "${here[@]}" --require 'runtime >= 0.1 s' --json answer.json
equal '"cannot be told"' "$(answer '.require[0].verdict')" verdict
expect 4 "${ensemble[@]}" plain.yaml "${here[@]}" --repeat 1 --others 1 --require 'slowdown(1) <= 1000' --limit 2 --json answer.json
equal 0 "$(answer .limit.largest)" "largest number of others without an interval"

# A single job with a condition is repeated, too.
printf 'workload: stencil\nsize: 64\niterations: 20\nwrite: {every: 10}\nrepeat: 6\nrequire: [write_rate >= 1k]\n' >job.yaml
expect 0 "$TUTTI" run job.yaml "${here[@]}" --json answer.json
equal 6 "$(answer '.steps[0].runs')" "runs of a repeated job"
expect 3 "$TUTTI" run job.yaml "${here[@]}" --quiet --require 'write_rate >= 1000 TiB/s'
# It is the same job as alone, with baselines.
equal 6 "$(jq -r .parameters.baseline "$(last_run)"/*/*/plan.json | sort -u)" "baseline of a run that is repeated"
expect 2 "${ranks[@]}" 1 "$TUTTI" run job.yaml "${here[@]}"

# A load that dies marks its repetitions; what it is said to have slowed down is not in the answer.
cat >dying.yaml <<'END'
reference: {workload: stencil, size: 256, iterations: 20000}
load: {command: [sh, -c, "exit 7"]}
others: [1]
repeat: 1
alone: 1
warmup: 0s
loads_alone: no
END
expect 1 "${ensemble[@]}" dying.yaml "${here[@]}" --json answer.json
equal 0 "$(answer '.steps[1].runs')" "runs of a step whose load died"
holds '$n >= 1' n="$(answer '.steps[0].runs')"
answer '.steps[1].left_out[0].why' | grep -q 'load'
no_process_left
no_data_left

# A job that hangs is ended, and named.
expect 1 "${ensemble[@]}" <(echo 'reference: {command: [sleep, "1000"]}') --others 0 --repeat 1 --watchdog 1s "${here[@]}" --quiet
one_line 'alone, the reference \(command\) shows no progress since 1 s'
no_process_left
expect 1 "${ensemble[@]}" show "$(last_run)"
one_line 'has no usable repetition; --resume it for more'

# What cannot be started.
expect 1 "${ensemble[@]}" <(echo 'reference: {command: [no-such-program]}') --others 0 "${here[@]}" --quiet
one_line "there is no program 'no-such-program'"
expect 2 "${ensemble[@]}" <(echo 'reference: {command: sleep 1}') --others 0 "${here[@]}" --quiet
one_line "'sleep 1' is not a program; give a program and its arguments as a list"
expect 2 "${ensemble[@]}" plain.yaml "${here[@]}" --others 1 --require 'slowdown(7) <= 2' --quiet
one_line "7 is not among others"
expect 2 "${ensemble[@]}" balancd "${here[@]}" --quiet
one_line "'balancd' is neither a file nor a scenario"
expect 1 "${ensemble[@]}" plain.yaml "${here[@]}" --dir "$work/none" --dry-run
one_line "data directory .*none' of reference does not exist"
expect 1 "${ensemble[@]}" plain.yaml "${here[@]}" --dir "$work/none" --quiet
one_line "data directory .*none' of reference does not exist"

# Ctrl-C keeps what was measured; --resume does the rest.
set -m
"${ensemble[@]}" plain.yaml "${here[@]}" --repeat 3 --others 0,1 --label stopped >out 2>err &
pid=$!
set +m
journal() { cat "$runs"/ensemble-*/journal 2>/dev/null | wc -l; }
before=$(journal)
until [ "$(journal)" -gt "$before" ]; do kill -0 $pid || fail "ended by itself"; sleep 0.05; done
kill -INT $pid
status=0
wait $pid || status=$?
equal 1 $status "status after Ctrl-C"
grep -q 'interrupted' err
directory=$(sed -n 's/.*--resume //p' err)
no_process_left
no_data_left
done_before=$(wc -l <"$directory/journal")
# What was measured and what is to be measured must be the same.
usage '--others: others would change what is measured' "${ensemble[@]}" --resume "$directory" --others 0,2
usage '--set: reference.size would change what is measured' "${ensemble[@]}" --resume "$directory" --set reference.size=64
expect 0 "${ensemble[@]}" --resume "$directory" --json answer.json
equal '[6,3]' "$(answer '[.steps[].runs]' | jq -c .)" "runs after resuming"
equal '[3,3]' "$(answer '[.steps[].rounds]' | jq -c .)" "rounds after resuming"
equal 9 "$(wc -l <"$directory/journal")" "lines of the journal"
holds '$n >= 1' n="$done_before"

# Two at once in one directory.
flock "$directory/journal" sleep 3 &
sleep 0.3
expect 1 "${ensemble[@]}" --resume "$directory" --quiet
one_line 'another tutti is at work'

# Budget.
expect 1 "${ensemble[@]}" plain.yaml "${here[@]}" --max-bytes 1
grep -q 'exceed --max-bytes' err
