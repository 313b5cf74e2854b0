# SPDX-License-Identifier: GPL-3.0-or-later
# Experiments of the paper run, come to a verdict on each claim, whichever it is, and leave nothing. Figures 5 and
# 6 are made of the same parts as 7 and take as long again.
# timeout: 900
# labels: testbed
. "$(dirname "$0")/lib.sh"
needs jq
export TUTTI REPEAT=1
for figure in 7 8 10 11; do
    status=0
    timeout -k 30 400 "$SOURCE/examples/papers/figure$figure" >out 2>err </dev/null || status=$?
    [ $status != 77 ] || skip "$(tail -n 1 err)"
    [ $status = 0 ] || { tail -n 20 out err; fail "figure$figure: status $status"; }
    grep -q "^Figure $figure: " out || fail "figure$figure: no table"
    grep -qE '^    (reproduced|not reproduced|cannot tell): ' out || fail "figure$figure: no verdict"
    ! grep -E '(null|nan|inf)\b|: *$' out || fail "figure$figure: numbers are missing"
    ! grep -q "$work" /proc/mounts || fail "figure$figure: mounts are left"
    [ -z "$(find "$work" -mindepth 1 ! -name out ! -name err ! -path "$data" ! -path "$TMPDIR")" ] || fail "figure$figure: files are left"
done

# That on asynchronous output needs no testbed.
LIMIT=300 expect 0 "$SOURCE/examples/papers/overlap"
[ "$(grep -cE '^    (reproduced|not reproduced|cannot tell): ' out)" = 5 ] || fail "overlap: no verdicts: $(cat out)"
! grep -E '(null|nan|inf)\b|: *$' out || fail "overlap: numbers are missing"
