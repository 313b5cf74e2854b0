# SPDX-License-Identifier: GPL-3.0-or-later
# Under a real scheduler: srun on three nodes starts the ranks, and the residual is mpirun's.
# labels: testbed
. "$(dirname "$0")/lib.sh"
needs jq
chmod 711 "$work" # munge and the daemons look into it
status=0
"$SOURCE/testbed/slurm" up "$work/slurm" 2>why || status=$?
[ $status != 77 ] || skip "$(cat why)"
[ $status = 0 ] || fail "$(cat why)"
on_exit+=("$SOURCE/testbed/slurm down $work/slurm")
export SLURM_CONF=$work/slurm/slurm.conf
job=(stencil --size 128 --iterations 40 --write every=10 --mode async)

expect 0 "${ranks[@]}" 3 "$TUTTI" run "${job[@]}" "${here[@]}" --json mpirun.json
for backend in posix mpiio hdf5; do
    "$TUTTI" list backends | grep -qw $backend || continue
    expect 0 srun -N 3 -n 6 --mpi=pmix "$TUTTI" run "${job[@]}" --backend $backend "${here[@]}" --json srun.json
    equal "$(metric residual mpirun.json)" "$(metric residual srun.json)" residuals
    equal 6 "$(jq '.samples.ranks | length' srun.json)" ranks
    equal 3 "$(jq '[.ranks[].host] | unique | length' srun.json)" hosts
    equal 3 "$(jq '.counters.hosts | length' srun.json)" "hosts with counters"
done
# Without a launcher's support for MPI every process would be alone; that is noticed.
expect 1 srun -N 3 -n 3 --mpi=none "$TUTTI" run "${job[@]}" "${here[@]}"
no_data_left
