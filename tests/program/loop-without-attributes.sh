# SPDX-License-Identifier: GPL-3.0-or-later
# A load that plays again and again replaces its own files, also where the file system cannot mark them.
# processors: 1
. "$(dirname "$0")/lib.sh"
private_mounts "$@"
needs jq
mount -t ramfs none "$data" || skip "needs ramfs"
cat >loop.yaml <<'END'
reference: {command: [sleep, "0.5"]}
load: {workload: stencil, size: 64, iterations: 20, write: {every: 5}}
others: [1]
repeat: 1
warmup: 50ms
END
expect 0 "$TUTTI" ensemble loop.yaml "${here[@]}" --quiet --json answer.json
equal 1 "$(jq '.steps[1].runs' answer.json)" "runs with a load that replaces its files"
manifest=$(jq -r '.repetitions[] | select(.others == 1) | .jobs[1].directory' answer.json)
# Its file was made many times, each time another one.
equal 2 "$(awk '{ print $NF }' "$(find "$runs" -path "*$manifest/manifest")" | sort -u | wc -l)" "paths in the load's manifest"
umount "$data"
