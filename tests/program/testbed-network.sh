# SPDX-License-Identifier: GPL-3.0-or-later
# Two hosts on a network of known speed: messages between ranks cross it, at its speed; with lanes storage
# has one of its own, and a file system of one host is mounted on the other. Nothing is left behind.
# timeout: 300
# labels: testbed
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq
network=$SOURCE/testbed/network servers=$SOURCE/testbed/servers
rate=$((2 * 1024 * 1024))
got() { "$work/net/traffic" | awk -v host="$1" -v lane="$2" '$1 == host && $2 == lane { print $3 }'; }
namespaces() { ip netns list | wc -l; }
up() { # OPTION...
    local status=0
    "$network" up 2M "$work/net" "$@" 2>why || status=$?
    [ $status != 77 ] || skip "$(cat why)"
    [ $status = 0 ] || fail "$(cat why)"
    on_exit=("$servers down $work/store" "$network down $work/net")
}
nothing_left() {
    equal "$found" "$(namespaces)" "network namespaces"
    [ ! -e net ] || fail "net is left: $(ls net)"
    ! pgrep -f "$work/net" >/dev/null || fail "processes left: $(pgrep -fa "$work/net")"
}

found=$(ip netns list 2>/dev/null | wc -l) || skip "needs ip (package iproute2)"
for lanes in '' lanes; do
    up $lanes
    # Large messages and small ones; the queue of the wire is never empty for long.
    for size in 256k 4k; do
        iterations=1
        [ $size = 256k ] || iterations=64
        before=$(got a mpi)
        expect 0 net/mpirun -n 2 "$TUTTI" run traffic --pattern incast --size $size --outstanding 32 \
            --iterations "$iterations" "${here[@]}" --json out.json
        payload=$(metric bytes_communicated)
        equal 2 "$(jq '[.ranks[].host] | unique | length' out.json)" "hosts"
        # Headers are on top, and so is what MPI and mpirun say to each other.
        holds '$sent >= $payload and $sent < 1.2 * $payload + 1e6' sent=$(($(got a mpi) - before)) payload="$payload"
        # Never faster; how near a busy machine gets is another matter.
        holds '$got > 0.3 * $rate and $got < 1.05 * $rate' got="$(metric communication_rate)" rate=$rate
    done
    if [ -n "$lanes" ]; then
        equal 0 "$(got b storage)" "storage traffic before there is any"
        net/on a bash -c 'echo hello >/dev/udp/10.77.1.2/9'
        holds '$n > 0' n="$(got b storage)"
    fi
    "$network" down net
    nothing_left
done

# Servers on b, a client on a: what a reads has crossed the lane of storage.
up lanes
status=0
net/on b "$servers" up 1 100M "$work/store" 10.77.1.2 2>why || status=$?
if [ $status != 77 ]; then
    [ $status = 0 ] || fail "$(cat why)"
    dd if=/dev/urandom of=store/file bs=1M count=4 status=none
    net/on a "$servers" mount store far
    before=$(got a storage) mpi=$(got a mpi)
    cmp store/file far/file
    holds '$sent >= 4 * 1024 * 1024' sent=$(($(got a storage) - before))
    # Hosts looking for each other is all that may be in the other lane.
    holds '$mpi < 65536' mpi=$(($(got a mpi) - mpi))
fi
"$servers" down store
"$network" down net
nothing_left
! grep -q "$work" /proc/mounts || fail "mounts are left"
equal 0 "$(losetup -a | grep -c "$work" || true)" "loop devices"
