# SPDX-License-Identifier: GPL-3.0-or-later
# The batch scripts of examples/slurm under a real scheduler, as their heads say: a run, an ensemble with a condition, a study and
# its continuation.
# labels: testbed
# timeout: 240
. "$(dirname "$0")/lib.sh"
needs jq python3
slurm_up
chmod 777 "$work"
PATH=$(dirname "$TUTTI"):$PATH
export PATH DATA=$data RESULTS=$runs
templates=$SOURCE/examples/slurm

submit() { sbatch --parsable --output="$work/%x-%j.out" "$@"; } # OPTIONS... SCRIPT WORDS...
# Its exit code, as Slurm keeps it, when the job is over.
exit_of() {
    local i job
    for ((i = 0; i < 900; i++)); do
        job=$(scontrol show job "$1")
        [[ $job =~ JobState=(PENDING|CONFIGURING|RUNNING|COMPLETING) ]] || break
        sleep 0.1
    done
    sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p' <<<"$job"
}
done_with() { # EXIT ID
    local code
    code=$(exit_of "$2")
    [ "$code" = "$1" ] || fail "job $2 ended with $code instead of $1: $(cat "$work"/*-"$2".out)"
}

cat >ensemble.yaml <<'END'
reference: {workload: stencil, size: 64, iterations: 100, write: {every: 20}, min_free: 0}
load: {same: reference}
others: [0, 1]
repeat: 1
alone: 1
loads_alone: no
settle: 0
warmup: 0s
END
cat >study.yaml <<'END'
workload: bulk
block: 256k
read: no
min_free: 0
settle: 0
vary: {transfer: [64k, 256k]}
repeat: 1
END
run=$(submit -N 2 --ntasks-per-node 2 "$templates/run.sbatch" bulk --block 256k --min-free 0 --label batch)
done_with 0 "$run"
result=$(find "$runs" -path '*/result.json' | head -n 1)
equal '["batch",4,2]' "$(jq -c '[.label, (.ranks | length), ([.ranks[].host] | unique | length)]' "$result")" "label, ranks and nodes of the run"
# One repetition tells nothing: the status says so, and so does the file for CI.
export JUNIT=$work/verdict.xml
done_with 4 "$(submit -N 2 --exclusive "$templates/ensemble.sbatch" ensemble.yaml --require 'slowdown(1) <= 100')"
python3 -c 'import sys, xml.etree.ElementTree as x; sys.exit(x.parse(sys.argv[1]).getroot().get("errors") != "1")' "$JUNIT" ||
    fail "$(cat "$JUNIT")"
done_with 0 "$(submit -N 1 --ntasks 2 "$templates/study.sbatch" study.yaml)"
study=$(echo "$runs"/study-*)
# What is complete is not run again.
export RESUME=$study
done_with 0 "$(submit -N 1 --ntasks 2 "$templates/study.sbatch" study.yaml)"
equal 2 "$(wc -l <"$study/journal")" "repetitions of the study"
no_data_left
