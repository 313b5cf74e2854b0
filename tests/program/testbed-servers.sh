# SPDX-License-Identifier: GPL-3.0-or-later
# Storage servers of known speed: what is written through the file system is on all of them, at no more
# than the speed of all together, also for a second client; and nothing of them is left behind.
# timeout: 300
# labels: testbed
. "$(dirname "$0")/lib.sh"
needs jq
servers=$SOURCE/testbed/servers
limit=$((8 * 1024 * 1024))
sectors() { awk '{ print $7 }' "/sys/block/$1/stat"; }
nothing_left() {
    local i
    for ((i = 0; i < 50; i++)); do # kernel and init clear up a little later
        if ! grep -q "$work/store" /proc/mounts && ! losetup -a | grep -q "$work" && ! pgrep -f "$work/store" >/dev/null; then
            [ "$(find "$work" -maxdepth 1 -name 'store*')" = "" ] || fail "directories left: $(ls "$work")"
            return 0
        fi
        sleep 0.1
    done
    fail "left: $(grep "$work/store" /proc/mounts; losetup -a; pgrep -fa "$work/store")"
}

for n in 3 5; do
    status=0
    "$servers" up $n 8M "$work/store" 2>why || status=$?
    [ $status != 77 ] || skip "$(cat why)"
    [ $status = 0 ] || fail "$(cat why)"
    on_exit=("$servers down $work/store")
    mapfile -t devices < <("$servers" devices "$work/store")
    equal $n ${#devices[@]} "servers"
    before=() received=0
    for device in "${devices[@]}"; do before+=("$(sectors "$device")"); done

    expect 0 "$TUTTI" run stencil -n 2 --size 724 --iterations 24 --write every=1,series=file --mode sync+imm \
        --dir "$work/store" --results "$runs" --min-free 0 --json out.json
    for i in "${!devices[@]}"; do
        received=$((received + ($(sectors "${devices[i]}") - before[i]) * 512))
    done
    payload=$(metric bytes_written)
    equal $((24 * 724 * 724 * 8)) "$payload" "payload"
    # All of it, with file system metadata on top, and no faster than all servers together.
    holds '$received >= $payload and $received < $payload * 1.1' received=$received payload="$payload"
    holds '$rate < $n * $limit * 1.1' rate="$(metric write_rate)" n=$n limit=$limit

    # The pieces into which the volume cuts files are told, and cannot be asked for.
    expect 0 "$TUTTI" run frames --edge 10 --frames 2 --dir "$work/store" --results "$runs" --min-free 0 --json out.json
    equal "$(jq -r '.facts[] | select(.key == "stripe.size") | .read_back' out.json)" 4194304 "size of a piece"
    equal "$(jq -c '[.files[] | select(.stripe_size) | .stripe_size] | unique' out.json)" '[4194304]' "size of a piece, by file"
    expect 1 "$TUTTI" run frames --stripe.size 8m --dir "$work/store" --results "$runs" --min-free 0
    one_line "GlusterFS cuts files as the volume says"

    # So many files that no server can have got none of them by chance.
    touch "$work"/store/{1..80}
    for ((i = 1; i <= n; i++)); do
        [ "$(find "$work/store.servers/brick$i/data" -maxdepth 1 -type f | wc -l)" -gt 0 ] || fail "server $i is not used"
    done

    # A second client sees the same files, and goes away with the rest.
    "$servers" mount "$work/store" "$work/store-2"
    echo hello >"$work/store/greeting"
    equal hello "$(cat "$work/store-2/greeting")" "what the second client reads"
    "$servers" down "$work/store"
    nothing_left
done

# A failure on the way leaves nothing either.
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/mkfs.ext4
chmod +x bin/mkfs.ext4
PATH=$work/bin:$PATH expect 1 "$servers" up 3 8M "$work/store"
nothing_left
