# SPDX-License-Identifier: GPL-3.0-or-later
# On a device throttled to 50 MiB/s the reported write rate is that rate, and what the device
# received is the payload plus what the library says it added; in the background the helper syncs.
# timeout: 400
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq
disk=$work/disk status=0
"$SOURCE/testbed/throttled-disk" up 512M 50M "$disk" 2>why || status=$?
[ $status != 77 ] || skip "$(cat why)"
[ $status = 0 ] || fail "$(cat why)"
on_exit+=("$SOURCE/testbed/throttled-disk down $disk")
device=$("$SOURCE/testbed/throttled-disk" device "$disk")
sectors() { awk '{ print $7 }' "/sys/block/$device/stat"; }
rate=$((50 * 1024 * 1024))

for backend in posix mpiio hdf5; do
    "$TUTTI" list backends | grep -qw $backend || continue
    sync -f "$disk"
    before=$(sectors)
    LIMIT=120 expect 0 "$TUTTI" run stencil -n 2 --size 2048 --iterations 6 --write every=1 --mode sync+imm \
        --backend $backend --dir "$disk" --results "$runs" --min-free 0 --json out.json
    sync -f "$disk"
    received=$((($(sectors) - before) * 512))
    payload=$(metric bytes_written)
    equal $((6 * 2048 * 2048 * 8)) "$payload" "payload"
    holds '($got / $want - 1 | fabs) < 0.1' got="$(metric write_rate)" want=$rate
    # File system metadata is all that comes on top; nothing of the payload may be missing.
    holds '$received >= $payload and $received < $payload * 1.02' received=$received payload="$payload"

    # The helper syncs, never the caller. How much that hides is a figure of make bench: it depends on
    # who else uses the CPUs.
    LIMIT=200 expect 0 "$TUTTI" run stencil -n 2 --size 2048 --iterations 40 --write every=10 \
        --mode async+bg --baseline 3 --backend $backend --dir "$disk" --results "$runs" --min-free 0 \
        --json out.json
    jq -e '(.phases.sync.max // 0) == 0 and .phases.io_sync.max > 0' out.json >/dev/null || fail "the caller synced"
    equal '"helper thread"' "$(jq .overlap.how out.json)" "overlap"
done
