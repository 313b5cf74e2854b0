# SPDX-License-Identifier: GPL-3.0-or-later
# A study under a real scheduler: one allocation, and one job step of it per repetition.
# labels: testbed
. "$(dirname "$0")/lib.sh"
needs jq
slurm_up

cat >steps.yaml <<END
reference: {command: [sh, -c, 'echo \$SLURM_JOB_ID \$SLURM_STEP_ID >>$work/steps']}
others: 0
settle: 0
vary: {reference.seed: 1..3}
repeat: 2
END
chmod 777 "$work"
expect 0 salloc -Q -N 1 --exclusive "$TUTTI" study steps.yaml "${here[@]}" --quiet --json out.json
equal "$(jq '[.rows[].runs] | add' out.json)" 6 "runs"
equal "$(wc -l <steps)" 6 "commands"
equal "$(cut -d ' ' -f 1 steps | sort -u | wc -l)" 1 "allocations"
equal "$(sort -u steps | wc -l)" 6 "job steps"

# Ranks on as many nodes as a point says.
expect 0 salloc -Q -N 2 --exclusive "$TUTTI" run bulk "${here[@]}" --backend discard --block 64k --transfer 64k --read no --ranks 2 \
    --settle 0 --sweep launch.tasks_per_node=1,2 --repeat 1 --quiet --json out.json
jq -r '.directory as $d | .rows as $rows | .runs[] | $rows[.row].values["launch.tasks_per_node"] + " " + $d + "/" + .directory' \
    out.json | sort | while read -r _ run; do jq '[.ranks[].host] | unique | length' "$run/result.json"; done >nodes
equal "$(tr '\n' ' ' <nodes)" '2 1 ' "nodes of two ranks"
no_data_left
