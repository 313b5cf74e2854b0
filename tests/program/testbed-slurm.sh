# SPDX-License-Identifier: GPL-3.0-or-later
# Under a real scheduler: srun on three nodes starts the ranks, and the residual is mpirun's.
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq
slurm_up
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
# A step of one task, as srun --pty gives a shell, starts ranks where more are asked for; else it is one itself.
expect 0 salloc -N 2 -n 2 srun -N 1 -n 1 --mpi=pmix "$TUTTI" run "${job[@]}" -n 2 "${here[@]}" --json step.json
equal 2 "$(jq '.ranks | length' step.json)" ranks
equal "$(metric residual mpirun.json)" "$(metric residual step.json)" residuals
expect 0 srun -n 1 --mpi=pmix "$TUTTI" run "${job[@]}" "${here[@]}" --json step.json
equal 1 "$(jq '.ranks | length' step.json)" ranks
# Without a launcher's support for MPI every process would be alone; that is noticed.
expect 1 srun -N 3 -n 3 --mpi=none "$TUTTI" run "${job[@]}" "${here[@]}"
no_data_left
