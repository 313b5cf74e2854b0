# SPDX-License-Identifier: GPL-3.0-or-later
# What a load leaves in memory is written before the next repetition begins: on a throttled device the reference
# alone takes as long after a load as after itself. Without settle it does not, or this test would show nothing.
# timeout: 200
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq
disk=$work/disk status=0
"$SOURCE/testbed/throttled-disk" up 1G 40M "$disk" 2>why || status=$?
[ $status != 77 ] || skip "$(cat why)"
[ $status = 0 ] || fail "$(cat why)"
on_exit+=("$SOURCE/testbed/throttled-disk down $disk")

# After the reference has ended the load has the kernel begin to write 128 MiB, and does not wait for it.
cat >leave.sh <<END
sleep 3
dd if=/dev/zero of=$disk/left bs=1M count=128 conv=notrunc oflag=nocache status=none
END
cat >settle.yaml <<END
reference: {workload: stencil, ranks: 1, size: 512, iterations: 20, write: {every: 1}, mode: sync+imm, cpus: 0.5}
load: {command: [sh, $work/leave.sh], loop: no, cpus: 0.5}
others: [0, 1]
repeat: 2
warmup: 100ms
loads_alone: no
END
# How long it takes alone right after a load, and right after itself: median ÷ median.
after() {
    jq -s '[.[] | {point, round, directory}] as $journal | [range(1; length)] | map({
        kind: (if $journal[.].point == 1 then "load" elif $journal[. - 1].point == 1 then "after" else "again" end),
        directory: $journal[.].directory})' "$directory/journal" >kinds
    jq -r --arg kind "$1" '.[] | select(.kind == $kind) | .directory' kinds | while read -r name; do
        jq '.jobs[0].runtime' "$directory/$name/repetition.json"
    done | jq -s 'sort | .[(length / 2 | floor)]'
}
for settle in 30s 0; do
    rm -f "$disk/left"
    sync -f "$disk"
    LIMIT=180 expect 0 "$TUTTI" ensemble settle.yaml --dir "$disk" --results "$runs" --min-free 0 --settle $settle --json answer.json
    directory=$(jq -r .directory answer.json)
    solo=$(after again) loaded=$(after after)
    if [ $settle = 0 ]; then
        holds '$loaded > 1.5 * $solo' loaded="$loaded" solo="$solo"
    else
        holds '$loaded < 1.15 * $solo' loaded="$loaded" solo="$solo"
        jq -e '[.repetitions[].settle | .gave_up == "" and .seconds < 30] | all' answer.json >/dev/null || fail "it gave up"
    fi
    echo "settle $settle: alone after a load $loaded s, after itself $solo s"
done
rm -f "$disk/left"
