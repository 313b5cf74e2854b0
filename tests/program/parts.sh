# SPDX-License-Identifier: GPL-3.0-or-later
# Parts in files of groups, whose ranks write in turn, or in one file: every part is in its place, on every backend; what is wrong is
# refused, and a rank that fails keeps nobody waiting.
# processors: 1
# timeout: 400
. "$(dirname "$0")/lib.sh"
needs jq

# Parts of 3 x 3 doubles, two variables; three ranks have 2, 2 and 1 parts. The second dump has parts of 4 x 4.
parts=("$TUTTI" run parts -n 3 --parts 1.5 --size 72 --variables 2 --dumps 2 --growth 2 --quiet --json out.json "${here[@]}")
bytes=$((5 * 2 * 8 * (9 + 16)))
writes() { # FILES OPTIONS...
    local n=$1
    shift
    expect 0 "${parts[@]}" "$@"
    equal "$(metric bytes_written)" $bytes "$*: bytes written"
    equal "$(metric files)" "$n" "$*: files"
}
for backend in posix mmap mpiio uring hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    writes 2 --backend $backend
    writes 6 --backend $backend --groups 3
    case $backend in
    netcdf | pnetcdf) usage "cannot add to a file that another rank has closed" "${parts[@]}" --backend $backend --groups 2 ;;
    *) writes 4 --backend $backend --groups 2 ;;
    esac
done
jq -e '.metrics.open_to_close_rate.value // .metrics.open_to_close_rate > 0' out.json >/dev/null || fail "no open-to-close rate"
no_data_left

# Seen from outside: part 3 belongs to rank 1, the second of the first group; its values begin with its number in the run.
if has_backend hdf5 && command -v h5dump >/dev/null; then
    first() { h5dump -y -w 0 -m '%.4f' "$@" | grep -o '^ *[0-9.]*[0-9]' | head -n 3 | tr -s ' \n' ' '; }
    expect 0 "${parts[@]}" --backend hdf5 --groups 2 --path a.h5 --keep
    equal "$(ls "$data" | tr '\n' ' ')" "a_00000_000.h5 a_00000_001.h5 a_00001_000.h5 a_00001_001.h5 " "files of groups"
    equal "$(first -d /domain_0000003/var_01 "$data/a_00000_000.h5")" " 7.0000 7.1111 7.2222 "
    equal "$(first -d /domain_0000004/var_00 "$data/a_00001_001.h5")" " 18.0000 18.0625 18.1250 "
    h5dump -H -d /domain_0000002/var_00 "$data/a_00000_001.h5" | grep -q 'SIMPLE { ( 4, 4 )' || fail "a part has not grown"
    expect 0 "${parts[@]}" --backend hdf5 --dims 3 --path b.h5 --keep
    h5dump -H -d /var_01 "$data/b_000.h5" | grep -q 'SIMPLE { ( 10, 2, 2 )' || fail "not all parts in one dataset"
    equal "$(first -d /var_01 -s 6,0,0 -c 1,2,2 "$data/b_000.h5")" " 7.0000 7.1250 7.2500 "
    rm "$data"/[ab]_*.h5
fi

# A file of a group carries the mark of one that is being written until its last rank has written.
cat >watch.py <<'PY'
import os, sys, time
path, whole, early = sys.argv[1], int(sys.argv[2]), 0
mark = lambda: os.getxattr(path, "user.tutti.run").decode()
until = time.monotonic() + 30
while time.monotonic() < until:
    try:
        now = mark() # before its size, which only grows
        size = os.stat(path).st_size
    except OSError:
        now, size = None, 0
    if size == whole:
        break
    if now:
        early += 1
        assert now.endswith(" open"), "marked as finished with %d bytes" % size
    time.sleep(0.02)
assert early, "the file was not seen while it was written"
PY
if command -v python3 >/dev/null && python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.tutti.test", b"1")' "$work" 2>/dev/null; then
    "$TUTTI" run parts -n 3 --groups 1 --size 80000 --variables 2 --dumps 1 --layers throttle --throttle.rate 400k --keep --path d --quiet \
        "${here[@]}" &
    python3 watch.py "$data/d_00000_000" 480000 2>why || fail "$(tail -n 1 why)"
    wait $!
    python3 -c 'import os, sys; sys.exit(os.getxattr(sys.argv[1], "user.tutti.run").endswith(b" open"))' "$data/d_00000_000" ||
        fail "not marked as finished in the end"
    rm "$data/d_00000_000"
fi

# The second rank of a group does not wait for the first one for ever.
echo precious >"$data/c_00000_000"
expect 1 "${parts[@]}" --groups 1 --path c
equal "$(cat "$data/c_00000_000")" precious
rm "$data/c_00000_000"
no_data_left

usage "4 groups are more than the 3 ranks" "${parts[@]}" --groups 4
# The last rank of a group has waited while all others wrote and synced, and the two are told apart.
expect 0 "$TUTTI" run parts -n 3 --groups 1 --size 80000 --dumps 2 --sync close --json out.json --quiet "${here[@]}"
jq -e '.samples | (.columns | [index("sync_ns", "io_sync_ns")]) as [$sync, $all] | ([.ranks[].rows[][$sync]] | add) as $synced |
    ([.ranks[2].rows[][$all]] | add) / $synced - 1 | fabs < 0.1' out.json >/dev/null || fail "waiting for syncs is not a sync"
usage "needs overlap=none" "${parts[@]}" --overlap async --sync close
usage "too large" "${parts[@]}" --growth 100 --dumps 40
