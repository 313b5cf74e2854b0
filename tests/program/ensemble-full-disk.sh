# SPDX-License-Identifier: GPL-3.0-or-later
# The file system of the results is full: one line says so, what was measured is kept, and once there is
# space again --resume does the rest.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq pgrep
needs_root
private_mounts
mkdir small full
on_exit+=("umount -l small" "umount -l full")
mount -t tmpfs -o size=3m tmpfs small || skip "needs a tmpfs"
printf '%s\n' 'reference: {workload: stencil, size: 64, iterations: 100}' 'others: [0]' 'repeat: 200' >long.yaml
expect 1 "$TUTTI" ensemble long.yaml --dir "$data" --results small/runs --min-free 0 --quiet
grep -q 'No space left on device' err
grep -q 'go on with: tutti ensemble --resume' err
equal 2 "$(wc -l <err)" "lines about a full disk"
no_process_left
no_data_left
directory=$(find small/runs -maxdepth 1 -name 'ensemble-*')
kept=$(grep -c '"complete":true' "$directory/journal")
holds '$n > 0' n="$kept"
mount -o remount,size=64m small
expect 0 "$TUTTI" ensemble --resume "$directory" --quiet --repeat $((kept + 1)) --json answer.json
equal $((kept + 1)) "$(jq '.steps[0].runs' answer.json)" "runs after there was space again"
# Full from the start.
mount -t tmpfs -o size=4k tmpfs full
expect 1 "$TUTTI" ensemble long.yaml --dir "$data" --results full/runs --min-free 0 --quiet
one_line 'No space left on device'
