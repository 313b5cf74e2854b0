# SPDX-License-Identifier: GPL-3.0-or-later
# Ensembles against hostile files, directories and jobs: one line that says what is wrong, no hang, and no file
# touched that is not tutti's.
# processors: 1
# timeout: 240
. "$(dirname "$0")/lib.sh"
needs jq pgrep
ensemble=("$TUTTI" ensemble)

cat >sleep.yaml <<'END'
reference: {command: [sleep, "0.1"]}
load: {same: reference}
others: [0]
repeat: 1
END

# Files.
usage "load needs keys" "${ensemble[@]}" <(echo 'reference: {command: [sleep, "1"]}
load: []') "${here[@]}" --quiet
usage "is not another job" "${ensemble[@]}" <(echo 'reference: {same: load}
load: {same: reference}') "${here[@]}" --quiet
usage "cpus is 0 to" "${ensemble[@]}" sleep.yaml --cpus 1e300 "${here[@]}" --quiet
usage "cpus 0 to" "${ensemble[@]}" sleep.yaml --set reference.cpus=1e300 "${here[@]}" --quiet
expect 1 "${ensemble[@]}" sleep.yaml --others 100000 --set load.ranks=1000 "${here[@]}" --quiet
one_line "others: 100000 are [0-9]+ processes at once"
expect 1 "${ensemble[@]}" sleep.yaml --dir "$work/sleep.yaml" --results "$runs" --dry-run
one_line "sleep.yaml' of reference is not a directory"
# What a workload would do is found out once, not for every job.
expect 0 "${ensemble[@]}" <(echo 'reference: {workload: stencil, size: 64, iterations: 10}
load: {same: reference}') "${here[@]}" --others 2000 --dry-run

# A directory that somebody else made.
expect 0 "${ensemble[@]}" sleep.yaml "${here[@]}" --quiet
directory=$(last_run)
copy() { rm -rf copy; cp -r "$directory" copy; }
copy
rm copy/journal
mkfifo copy/journal
expect 1 "${ensemble[@]}" show copy
one_line "journal' is not a file that tutti wrote"
rm copy/journal
mkdir copy/journal
expect 1 "${ensemble[@]}" show copy
one_line "journal' is not a file that tutti wrote"
copy
echo mine >thesis
rm copy/journal
ln -s "$work/thesis" copy/journal
expect 1 "${ensemble[@]}" show copy
one_line "journal': Too many levels of symbolic links"
# Which files are written is the word of who calls, not of the directory.
copy
jq --arg f "$work/thesis" '.settings += [["json", $f, "x"], ["csv", $f, "x"], ["quiet", "yes", "x"]]' \
    "$directory/ensemble.json" >copy/ensemble.json
expect 0 "${ensemble[@]}" show copy
grep -q 'runs' out
usage "reference.command says what is executed" "${ensemble[@]}" --resume copy
# Nor is it believed in which library every rank opens.
copy
jq --arg f "$work/thesis" '.settings += [["reference.cuda.nvrtc", $f, "x"]]' "$directory/ensemble.json" >copy/ensemble.json
usage "reference.cuda.nvrtc says what is executed" "${ensemble[@]}" sleep.yaml --resume copy
copy
expect 0 "${ensemble[@]}" sleep.yaml --resume copy
equal mine "$(cat thesis)" "a file that is not tutti's"

# A job that puts what blocks a reader in place of its own files.
cat >fifo.sh <<END
cd $runs/ensemble-*/step*/2*/ && rm -f progress ready go && mkfifo progress ready go && sleep 1
END
rm -rf "$runs"
expect 0 "${ensemble[@]}" <(echo 'reference: {command: [sh, fifo.sh]}') --others 0 --repeat 1 "${here[@]}" --quiet
no_process_left

# A job that deletes the directory of the ensemble in the middle: no load waits for a word that cannot come.
echo "sleep 0.2; rm -rf $runs/ensemble-*" >delete.sh
expect 1 "${ensemble[@]}" <(echo 'reference: {command: [sh, delete.sh]}
load: {command: [sleep, "0.05"]}') --others 1 --repeat 1 --warmup 0s "${here[@]}" --quiet
one_line "No such file or directory"
no_process_left
# Nor where the disk of the results is full.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir small
    cat >full.yaml <<'END'
reference: {command: [sh, -c, "dd if=/dev/zero of=small/filler bs=64k 2>/dev/null; sleep 0.2"]}
load: {command: [sleep, "0.05"]}
others: [1]
repeat: 1
warmup: 0s
END
    expect 1 unshare -m --propagation private sh -c 'mount -t tmpfs -o size=1m tmpfs small && exec "$@"' sh \
        "${ensemble[@]}" full.yaml --dir "$data" --results small/runs --min-free 0 --quiet
    one_line "No space left on device"
fi

# A directory is performed once: what is in there stays.
expect 0 "$TUTTI" run command --words sleep,0 "${here[@]}" --quiet
usage "has been performed already" "$TUTTI" hold "$(last_run)" -- true
equal done "$(jq -r .status "$(last_run)/outcome.json")" "outcome of a run that is held again"
expect 0 "$TUTTI" run stencil --size 64 --iterations 4 "${here[@]}" --quiet
usage "has been performed already" "$TUTTI" perform "$(last_run)"
equal done "$(jq -r .status "$(last_run)/outcome.json")" "outcome of a run that is performed again"

# Ctrl-C while jobs are still being prepared.
rm -rf "$runs"
set -m
"${ensemble[@]}" <(cat sleep.yaml) --others 0,3000 "${here[@]}" --quiet >out 2>err &
pid=$!
set +m
planned() { find "$runs" -mindepth 3 -maxdepth 3 2>/dev/null | wc -l; }
until [ "$(planned)" -gt 10 ]; do kill -0 $pid || fail "ended by itself"; sleep 0.05; done
kill -INT $pid
status=0
wait $pid || status=$?
equal 1 $status "status after Ctrl-C"
grep -q 'interrupted' err
[ "$(planned)" -lt 3000 ] || fail "all jobs were prepared after Ctrl-C"
no_process_left
[ -z "$(find /sys/fs/cgroup/ -maxdepth 2 -name "tutti-$pid-*" 2>/dev/null)" ] || fail "control groups are left"
no_data_left
