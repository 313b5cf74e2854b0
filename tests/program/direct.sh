# SPDX-License-Identifier: GPL-3.0-or-later
# O_DIRECT: data go past the page cache, and what cannot is refused with the reason.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq
disk=$(mktemp -d /var/tmp/tutti-test.XXXXXX)
on_exit+=("rm -rf $disk")
options=(--dir "$disk" --results "$runs" --min-free 0 --json out.json)

backends=(posix)
! has_backend uring || backends+=(uring)
run=("$TUTTI" run stencil --iterations 8 --write every=2,series=append "${options[@]}")
status=0
"${run[@]}" -n 1 --size 64 --mode async --posix.odirect yes >out 2>err || status=$?
if [ $status != 0 ]; then
    grep -q 'has no O_DIRECT; leave posix.odirect out' err || fail "$(cat err)"
    skip "/var/tmp has no O_DIRECT"
fi
[ "$(jq -r '.facts[] | select(.key == "posix.odirect") | .proof' out.json)" = "in effect" ] ||
    skip "/var/tmp does not say what it does with O_DIRECT"

# Past the page cache nothing stays in memory or comes from there, and no warning says so.
expect 0 "$TUTTI" run bulk --block 1m "${options[@]}" --quiet --sync never --cold no --posix.odirect yes
jq -e 'any(.warnings[]; .text | test("in caches of the device: sync=never")) and
    all(.warnings[]; .text | test("memory|page cache") | not)' out.json >/dev/null || fail "$(jq -c .warnings out.json)"

for backend in "${backends[@]}"; do
    direct=(--backend $backend --$backend.odirect yes)
    for mode in async async+bg; do
        expect 0 "${run[@]}" -n 2 --size 1024 --mode $mode "${direct[@]}"
        equal yes "$(jq -r ".facts[] | select(.key == \"$backend.odirect\") | .read_back" out.json)" "the flag"
    done
    # A part of a block at the end, then where the part of the second rank begins.
    expect 1 "${run[@]}" -n 1 --size 101 --mode async "${direct[@]}"
    one_line "O_DIRECT on '.*': 81608 bytes at offset 0 are not a multiple of [0-9]+"
    expect 1 "${run[@]}" -n 2 --size 72 --mode async "${direct[@]}"
    one_line "O_DIRECT on '.*': 20736 bytes at offset 0 are not a multiple of [0-9]+"
    # Data that lie anywhere in memory, between the edges of a field.
    expect 1 "${run[@]}" -n 1 --size 64 --mode sync "${direct[@]}"
    one_line "O_DIRECT on '.*': .* multiple of [0-9]+"
done
usage 'leave out posix.odirect' "$TUTTI" run reader --posix.odirect yes "${here[@]}"
[ -z "$(find "$disk" -mindepth 1)" ] || fail "data files left behind: $(find "$disk")"
