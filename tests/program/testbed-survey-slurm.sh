# SPDX-License-Identifier: GPL-3.0-or-later
# A survey under a real scheduler runs on as many nodes as its tables say, and on no fewer.
# labels: testbed
. "$(dirname "$0")/lib.sh"
needs jq
slurm_up
survey=("$TUTTI" survey flash --parts bandwidth --nodes 1,2 --processes 2 --transfers 64k --size 256k --flushes 1
    --repeat 1 --deadline 5s "${here[@]}")

expect 0 salloc -Q -N 2 --exclusive "${survey[@]}" --json out.json
equal "$(jq -c '[.samples[] | [.table, .access, .nodes, .processes]] | sort' out.json)" "$(jq -nc '
    [("bandwidth, aged", "bandwidth, naive") as $t | ("read", "write") as $a | (1, 2) as $n | [$t, $a, $n, 2]] | sort')" samples
equal "$(jq '[.warnings[].text | select(test("^on .* instead of"))] | length' out.json)" 0 "runs on other nodes"
directory=$(jq -r .directory out.json)
for stage in naive aged-write aged-flush aged-read; do
    find "$directory/$stage" -name result.json -exec jq -c '[.ranks[].host] | [length, (unique | length)]' {} + | sort
done >hosts
equal "$(sort -u hosts | tr '\n' ' ')" '[2,1] [4,2] ' "ranks and nodes of the runs"
no_data_left

usage 'nodes: 2, but this allocation has 1; ask for -N 2' salloc -Q -N 1 --exclusive "${survey[@]}" --quiet
usage 'nodes: 2, but this is no Slurm allocation' "${survey[@]}" --quiet
# A template of one's own is not known to be on two nodes; if it is not, the figures say so.
expect 0 salloc -Q -N 2 --exclusive "${survey[@]}" --nodes 2 --quiet --json out.json \
    --job.launch.template 'srun,--overlap,--mpi=pmix,-N,1,-n,{ranks},{command}'
equal "$(jq -c '[.warnings[] | select(.text == "on 1 node instead of 2") | .rows[] | [.runs, .of]]' out.json)" \
    '[[1,1],[1,1],[1,1],[1,1]]' "rows that were on one node"
no_data_left
