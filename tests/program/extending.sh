# SPDX-License-Identifier: GPL-3.0-or-later
# The page on extending shows the templates as they are, and the templates work together.
# processors: 1
. "$(dirname "$0")/lib.sh"

cd "$SOURCE"
awk -f docs/refresh.awk docs/extending.md >"$work/page"
grep -q tt_workload_template "$work/page" || fail "the page includes no templates"
diff "$work/page" docs/extending.md || fail "docs/extending.md is old: see docs/refresh.awk"
cd "$work"

for series in overwrite append group file; do
    expect 0 "$TUTTI" run template -n 2 --points 1001 --iterations 20 --write every=5,series=$series \
        --backend template --layers template --json out.json "${here[@]}"
    equal "$(metric bytes_written)" $((4 * 1001 * 8)) "bytes written"
    equal "$(metric bytes_read)" $((1001 * 8)) "bytes read"
    no_data_left
done
# An element of the stack reports what it counted: here of rank 0, for the first file.
expect 0 "$TUTTI" run template -n 2 --points 1001 --iterations 20 --write every=5 --backend template \
    --layers template --json out.json "${here[@]}"
grep -q "4 calls, 16000 B" out.json || fail "the template layer has not counted rank 0's four writes"
