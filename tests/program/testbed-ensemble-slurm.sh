# SPDX-License-Identifier: GPL-3.0-or-later
# Ensembles under a real scheduler: steps on nodes of their own, batch jobs that are all taken back if one
# does not start, a template, options passed on; and no idle node without a word about it.
# timeout: 600
# labels: testbed
. "$(dirname "$0")/lib.sh"
needs jq pgrep
slurm_up
ensemble=("$TUTTI" ensemble)
answer() { jq -e "$1" answer.json; }
no_job_left() {
    local i
    for ((i = 0; i < 100; i++)); do
        [ -n "$(squeue -h)" ] || return 0
        sleep 0.1
    done
    fail "jobs left: $(squeue)"
}
hosts() { jq -r '[.ranks[].host] | unique | join(",")' "$1"/result.json; }

cat >plain.yaml <<'END'
reference: {workload: stencil, ranks: 2, size: 64, iterations: 60, write: {every: 10}}
load: {workload: stencil, ranks: 1, size: 64, iterations: 20, write: {every: 5}}
others: [2]
repeat: 1
alone: 1
loads_alone: no
warmup: 100ms
END

# Steps of one allocation, each job on a node of its own, without a word about launchers in the file.
expect 0 salloc -Q -N 3 --exclusive "${ensemble[@]}" plain.yaml "${here[@]}" --json answer.json
! grep -q 'idle' err || fail "three jobs on three nodes leave none idle"
directory=$(answer .directory | jq -r .)
for repetition in "$directory"/step1-run*; do
    jobs=("$repetition"/*/)
    equal 3 ${#jobs[@]} jobs
    equal 3 "$(for job in "${jobs[@]}"; do hosts "$job"; done | sort -u | grep -c '^node[1-3]$')" "nodes of three jobs"
done
equal '["node1","node2","node3"]' "$(answer '[.repetitions[] | select(.others == 2) | .jobs[].nodes]' | jq -c .)" nodes
no_data_left

# From within a batch script.
cat >script.sh <<END
#!/bin/sh
exec "$TUTTI" ensemble "$work/plain.yaml" ${here[*]} --others 0 --json "$work/answer.json"
END
expect 0 sbatch --wait -N 1 --exclusive --output="$work/batch.out" --error="$work/batch.err" script.sh
equal '[1]' "$(answer '[.steps[].runs]' | jq -c .)" "runs from a batch script"

# More nodes than any step uses: that is said, also quietly.
expect 0 salloc -Q -N 3 --exclusive "${ensemble[@]}" plain.yaml "${here[@]}" --others 1 --quiet
one_line '^tutti: 1 of the 3 nodes of this allocation stay idle'

# Options are passed on to srun, and the user's list of nodes is kept to.
cat >nodes.yaml <<'END'
reference: {workload: stencil, ranks: 2, size: 64, iterations: 20, launch: {nodes: [node2, node3], tasks_per_node: 1, options: [--comment, a word, --job-name=named]}}
others: [0]
repeat: 1
END
expect 0 salloc -Q -N 3 --exclusive "${ensemble[@]}" nodes.yaml "${here[@]}" --json answer.json
grep -q '1 of the 3 nodes of this allocation stay idle' err
equal node2,node3 "$(hosts "$(answer .directory | jq -r .)"/step0-run1/*/)" "hosts of the reference"
expect 1 salloc -Q -N 1 --exclusive "${ensemble[@]}" plain.yaml "${here[@]}" --quiet --others 0 \
    --set reference.launch.options=--no-such-option
one_line 'alone, the reference'

# A template: a list of words, of which none is a shell's.
cat >template.yaml <<'END'
reference: {workload: stencil, ranks: 2, size: 64, iterations: 20, launch: {by: template, template: [srun, --overlap, --mpi=pmix, -N, "2", -n, "{ranks}", "{command}"]}}
others: [0]
repeat: 1
END
expect 0 salloc -Q -N 3 --exclusive "${ensemble[@]}" template.yaml "${here[@]}" --json answer.json
equal node1,node2 "$(hosts "$(answer .directory | jq -r .)"/step0-run1/*/)" "hosts by the template"
expect 2 salloc -Q -N 1 --exclusive "${ensemble[@]}" template.yaml "${here[@]}" --quiet \
    --set 'reference.launch.template=srun,{command}'
one_line 'launch.template needs a word with'

# A batch job for each job; no allocation is needed.
LIMIT=200 # sbatch --wait looks at its job only now and then
batch=(--set reference.launch.by=batch --set load.launch.by=batch)
expect 0 "${ensemble[@]}" plain.yaml "${here[@]}" "${batch[@]}" --others 1 --json answer.json
equal '[1,1]' "$(answer '[.steps[].runs]' | jq -c .)" "runs by batch jobs"
no_job_left
no_data_left
expect 2 "${ensemble[@]}" plain.yaml "${here[@]}" --quiet --set reference.launch.by=slurm
one_line 'launch.by=slurm needs an allocation'

# One of them does not start in time: all are taken back.
expect 1 "${ensemble[@]}" plain.yaml "${here[@]}" "${batch[@]}" --others 1 --quiet --json answer.json \
    --set load.launch.start_timeout=3s --set load.launch.options=--begin=now+1hour
equal '[3,0]' "$(answer '[.steps[].runs]' | jq -c .)" "runs beside a load that never starts"
grep -q 'load 1 (stencil) was not ready after launch.start_timeout, 3 s' <(answer '.steps[1].left_out[0].why')
no_job_left
expect 1 "${ensemble[@]}" plain.yaml "${here[@]}" "${batch[@]}" --others 0 --quiet \
    --set reference.launch.start_timeout=3s --set reference.launch.options=--begin=now+1hour
one_line 'alone, the reference \(stencil\) was not ready after launch.start_timeout, 3 s'
no_job_left
# More nodes than there are: Slurm's own words, at once.
expect 1 "${ensemble[@]}" plain.yaml "${here[@]}" "${batch[@]}" --others 0 --quiet \
    --set reference.ranks=9 --set reference.launch.tasks_per_node=1
one_line 'alone, the reference.*Requested node configuration is not available'
no_job_left
no_data_left

# A killed driver's batch job that waits in the queue is taken back by --resume.
"${ensemble[@]}" plain.yaml "${here[@]}" "${batch[@]}" --others 0 --quiet --set reference.launch.start_timeout=10s \
    --set reference.launch.options=--begin=now+1hour >out 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do [ -z "$(squeue -h)" ] || break; sleep 0.1; done
sleep 0.5
kill -KILL $pid
wait $pid 2>/dev/null || true
[ -n "$(squeue -h)" ] || fail "no job waits"
expect 1 "${ensemble[@]}" plain.yaml "${batch[@]}" --set reference.launch.start_timeout=10s \
    --set reference.launch.options=--begin=now+1hour --resume "$(last_run)" --quiet
one_line 'was not ready after launch.start_timeout, 10 s'
no_job_left
no_process_left
