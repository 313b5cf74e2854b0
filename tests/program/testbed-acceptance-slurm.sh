# SPDX-License-Identifier: GPL-3.0-or-later
# The batch scripts of examples/acceptance under a real scheduler: each is submitted as its head says, and its exit status is the verdict.
# labels: testbed
# timeout: 240
. "$(dirname "$0")/lib.sh"
needs jq
slurm_up
mkdir bin
ln -s "$TUTTI" bin/tutti
cp "$SOURCE"/examples/acceptance/* .
export PATH=$work/bin:$PATH DATA=$data RESULTS=$runs
chmod 777 "$work" "$data"

# The exit status of a batch job when it has ended; its output is in NAME-ID.out.
submitted() { # NAME STATUS [OPTION...] SCRIPT [WORD...]
    local name=$1 want=$2 code
    shift 2
    id=$(sbatch --parsable "$@") || fail "cannot submit $*"
    for ((i = 0; i < 600; i++)); do
        code=$(scontrol show job "$id" | sed -n 's/^ *JobState=\([A-Z]*\).*/\1/p')
        [[ $code =~ ^(PENDING|RUNNING|COMPLETING|CONFIGURING)$ ]] || break
        sleep 0.1
    done
    code=$(scontrol show job "$id" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p')
    [ "$code" = "$want" ] || fail "$name: status $code instead of $want: $(cat "$name-$id.out")"
}

# The acceptance suite: parts of it, with the small sizes.
SIZE='' submitted tutti-accept 0 --nodes 1 --ntasks-per-node 2 accept.sbatch latency
grep -qE '^  latency +pass +read_p99 <= 1 s: ' tutti-accept-*.out || fail "$(cat tutti-accept-*.out)"
grep -q '^  in short   the machine meets the conditions of these parts$' tutti-accept-*.out || fail "$(cat tutti-accept-*.out)"

# The gate: golden runs first, and then what is asked of them cannot be met. A job that depends on a pass does not run.
submitted tutti-gate 0 gate.sbatch --label golden --require=
sed -i 's/0\.9 \*/1000 */' gate.yaml
submitted tutti-gate 3 gate.sbatch
grep -q 'require    write_rate >= 1000 \* baseline(label=golden): fail; ' "tutti-gate-$id.out" || fail "$(cat "tutti-gate-$id.out")"
after=$(sbatch --parsable --dependency afterok:"$id" --output=/dev/null --wrap true)
grep -q 'Reason=DependencyNeverSatisfied' <(scontrol show job "$after") || fail "$(scontrol show job "$after")"

# The canary: it submits the next one before it begins, and its first nights, which cannot tell, are no alarm.
AGAIN=now+1hour submitted tutti-canary 0 canary.sbatch
grep -q 'Submitted batch job' "tutti-canary-$id.out" || fail "$(cat "tutti-canary-$id.out")"
equal "tutti-canary PENDING" "$(squeue -h -o '%j %T' --name tutti-canary)" "the next canary"
scancel --name tutti-canary
AGAIN='' submitted tutti-canary 0 canary.sbatch
equal '' "$(squeue -h -t PENDING,RUNNING --name tutti-canary)" "canaries after the only one"
equal 2 "$("$TUTTI" runs "$runs" label=canary | grep -c bulk)" "canaries in the store"
no_data_left
