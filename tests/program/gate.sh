# SPDX-License-Identifier: GPL-3.0-or-later
# A gate and a canary: runs held against stored ones. The device is the layer throttle, whose rate is known; what the numbers mean is
# in tests/unit/require.c and tests/unit/canary.c.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

cat >gate.yaml <<END
workload: bulk
transfer: 256k
block: 2m
read: no
layers: throttle
throttle: {rate: 40m}
min_free: 0
dir: $data
results: $runs
END
{ cat gate.yaml; echo "watch: {metric: write_rate, margin: 10%}"; echo "label: canary"; } >canary.yaml

# The first nights tell nothing but how many are missing.
expect 4 "$TUTTI" watch canary.yaml
one_line '^tutti: watch: write_rate cannot be told yet: 1 run of this plan; 12 more nights$'
[ ! -s out ] || fail "stdout is not empty"
for ((i = 2; i <= 12; i++)); do expect 4 "$TUTTI" watch canary.yaml; done
one_line '12 runs of this plan; 1 more night$'
# Another plan is told by its key; what only keeps a run within bounds makes none.
expect 4 "$TUTTI" watch canary.yaml --block 1m --results "$runs"
one_line '1 run of this plan; 12 more nights \(12 of this label have another plan: bulk.block is 2097152 there, 1048576 here\)$'
rm -r "$(last_run)"

# Then it is silent, unless it is asked. A busy machine may well have a bad night, but not five of them.
quiet() {
    local i
    for ((i = 0; i < 5; i++)); do ! "$TUTTI" watch canary.yaml "$@" >out 2>err || return 0; done
    fail "no quiet night: $(cat out err)"
}
quiet
[ ! -s out ] && [ ! -s err ] || fail "a quiet night is not silent: $(cat out err)"
quiet --always --max-time 1h --max-bytes 1g --patience 20 --min-free 1k
tr -s '\n ' ' ' <out | grep -qE 'write_rate: .* than the median .* of [0-9]+ runs since .* \(left out: 2 judged together with tonight.s.*\); (all is well|no alarm: .*\))\.' || fail "$(cat out)"
[ "$(wc -L <out)" -le 80 ] || fail "wider than 80 columns"

# Far from the median and yet no alarm: runs vary as much. It says so, and not that all is well.
cp -r "$runs" "$work/varied"
night=0
for run in "$work"/varied/2*; do
    night=$((night + 1))
    jq ".metrics.write_rate.value = 1e7 * ([1, 1e3, 10, 100][$night % 4])" "$run/result.json" >edited
    mv edited "$run/result.json"
done
expect 0 "$TUTTI" watch canary.yaml --always --results "$work/varied"
tr -s '\n ' ' ' <out >text
grep -qE ' % slower than the median .*; no alarm: runs vary that much \(limit .* for three nights in a row, .* for one\)\.' text || fail "$(cat out)"
! grep -q 'all is well' text || fail "$(cat out)"

# Two at once would disturb each other.
exec 9>>"$runs/watch.lock"
flock 9
expect 1 "$TUTTI" watch canary.yaml
one_line "another tutti watches with results in '$runs'"
exec 9>&-

# The first golden run has nothing to be held against; a name that nothing matches is told before the first repetition.
{ cat gate.yaml; echo "require: [write_rate >= 0.5 * baseline(label=goldn)]"; } >golden.yaml
expect 0 "$TUTTI" run golden.yaml --repeat 1 --settle 0 --label first --quiet --require= --results "$work/golden"
[ ! -s err ] || fail "$(cat err)"
expect 4 "$TUTTI" run golden.yaml --repeat 1 --settle 0 --results "$work/golden"
grep -m 1 '^tutti: ' err | grep -q 'no stored run matches baseline(label=goldn) yet' || fail "$(cat err)"

# Stored runs as a baseline: pass, fail, too few of the same plan, of the same machine.
require() { # STATUS CONDITION [OPTION...]
    local status=$1 condition=$2
    shift 2
    expect "$status" "$TUTTI" run gate.yaml --repeat 6 --settle 0 --quiet --json out.json --require "$condition" "$@"
    said
}
said() { jq -r '.require[0] | .verdict + "; " + .text' out.json >said; }
# The runs of the last require under another condition.
again() { # STATUS CONDITION
    expect "$1" "$TUTTI" ensemble --resume "$(jq -r .directory out.json)" --quiet --json out.json --require "$2"
    said
}
require 0 'write_rate >= 0.1 * baseline(label=canary)'
grep -qE '^pass; [0-9.]+, 95 % interval [0-9.]+ to [0-9.]+ times the baseline; median .* MiB/s here, .* MiB/s in its [0-9]+ runs$' said ||
    fail "$(cat said)"
[ ! -s err ] || fail "quiet says: $(cat err)"
again 3 'write_rate >= 20 * baseline(label=canary)'
one_line '^tutti: require: write_rate >= 20 \* baseline\(label=canary\): fail; '
again 4 "write_rate >= 0.5 * baseline(label=canary\\,start<2020-01-01)"
grep -q '^cannot be told; 0 stored runs with label=canary,start<2020-01-01 can be compared' said || fail "$(cat said)"
again 3 'write_rate <= 1 MiB/s'
grep -qE '^fail; [0-9.]+ MiB/s, 95 % interval [0-9.]+ MiB/s to [0-9.]+ MiB/s$' said || fail "$(cat said)"
require 4 'write_rate >= 0.5 * baseline(label=canary)' --block 1m
grep -q '^cannot be told; 0 stored runs with label=canary can be compared with, 6 are needed; [0-9]* of another plan: bulk.block is 2097152 there, 1048576 here' said ||
    fail "$(cat said)"
usage "baseline\(lable=canary\): filter: unknown key 'lable' \(did you mean 'label'\?\)" \
    "$TUTTI" run gate.yaml --repeat 6 --require 'write_rate >= baseline(lable=canary)'
usage "at 1 \('wirte_rate >= 1g'\): .* \(did you mean 'write_rate'\?\)" "$TUTTI" run gate.yaml --require 'wirte_rate >= 1g'

# The device has an eighth of its rate tonight, and the kernel is another. No plan tells the rate of a real device: it goes from the stored ones.
expect 0 "$TUTTI" run gate.yaml --quiet --throttle.rate 5m --results "$work/slow"
hash=$(jq -r .hash "$work"/slow/*/plan.json)
rate=$(jq '.parameters["throttle.rate"]' "$work"/slow/*/plan.json)
night=0
for run in "$runs"/2*; do
    night=$((night + 1))
    for file in plan result; do
        at=${file#plan} at=${at:+.plan}
        jq "$at.hash = \"$hash\" | $at.parameters[\"throttle.rate\"] = $rate | if .environment then
            .environment.kernel = \"Linux 2.6\" | .environment.cpu = \"8086\" | .metrics.write_rate.value = 4e7 + 4e5 * ($night % 5) else . end" \
            "$run/$file.json" >edited
        mv edited "$run/$file.json"
    done
done
expect 3 "$TUTTI" watch canary.yaml --throttle.rate 5m
tr -s '\n ' ' ' <out >text
grep -qE '^! write_rate: [0-9.]+ MiB/s, [789][0-9.]* % slower than the median 38.[0-9] MiB/s of [0-9]+ runs since .*; far beyond the limit of ' text ||
    fail "$(cat out)"
grep -qE 'It began with the run of 20[0-9-]+T[0-9:]+ \(20[0-9TZ]+-[0-9a-f]+\)\. What changed with it: .*kernel from Linux 2.6 to Linux ' text ||
    fail "$(cat out)"
[ "$(wc -L <out)" -le 80 ] || fail "wider than 80 columns"
[ ! -s err ] || fail "$(cat err)"
# It is not forgotten, until it is said to be meant.
expect 3 "$TUTTI" watch canary.yaml --throttle.rate 5m
sleep 1
expect 4 "$TUTTI" watch canary.yaml --throttle.rate 5m --since "$(date -u +%Y-%m-%dT%H:%M:%S)"
grep -q '1 run of this plan; 12 more nights' err || fail "$(cat err)"

# Runs of another machine are no baseline, unless it is asked for by name.
require 4 'write_rate >= 0.01 * baseline(label=canary)' --throttle.rate 5m
grep -q '^cannot be told; 3 stored runs .* of another machine: cpu is 8086 there, ' said || fail "$(cat said)"
again 0 'write_rate >= 0.01 * baseline(label=canary\,cpu=8086)'

# Wrong usage.
usage "watch what\?" "$TUTTI" watch
usage "names no workload" "$TUTTI" watch <(echo 'label: a')
usage "there is no metric 'write_rat' \(did you mean 'write_rate'\?\)" "$TUTTI" watch canary.yaml --metric write_rat
usage "bytes_written has no better or worse" "$TUTTI" watch canary.yaml --metric bytes_written
usage "watch.history is too short to tell anything of 1 metric: use 12 or more" "$TUTTI" watch canary.yaml --history 11
usage "of 2 metrics: use 15 or more" "$TUTTI" watch canary.yaml --history 14 --metric write_rate,runtime
usage "watch has no key 'metrc' \(did you mean 'metric'\?\)" "$TUTTI" watch canary.yaml --watch.metrc runtime
usage "watch.since: 'yesterday' is not a time" "$TUTTI" watch canary.yaml --since yesterday
usage "'2999-01-01' is in the future" "$TUTTI" watch canary.yaml --since 2999-01-01
usage "leave out repeat" "$TUTTI" watch canary.yaml --repeat 6
no_data_left
