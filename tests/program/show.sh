# SPDX-License-Identifier: GPL-3.0-or-later
# The first look at a result: the last run without an argument, the rest on request, and styles only on a terminal.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs script jq

options=(--dir "$data" --min-free 0 --quiet)
expect 1 "$TUTTI" show
one_line "there is no run in 'tutti-runs'; name a run directory or an id"
expect 0 "$TUTTI" run bulk --block 256k --label first "${options[@]}"
expect 0 "$TUTTI" run metadata --items 10 --label second "${options[@]}"
expect 0 "$TUTTI" show
grep -q '^tutti metadata' out && grep -q '^  label  *second$' out || fail "not the last run: $(head -1 out)"
grep -q '^  items  *create .*, stat .*, open .*, remove ' out || fail "no answer: $(sed -n 3p out)"
# What has its default, is 0 or is not known is shown on request.
expect 0 "$TUTTI" run bulk --block 256k "${options[@]}"
expect 0 "$TUTTI" show
grep -q '^  bulk  *block 256 KiB$' out || fail "parameters that have their defaults: $(grep '^  bulk' out)"
! grep -q '^  unknown' out || fail "what is not known is shown unasked"
! grep -qi 'epoch\|dump\b.*each dump\|hidden' out || fail "bulk has no epochs, dumps or hidden I/O"
cp out short
expect 0 "$TUTTI" show --all
grep -q 'segments 1' out && grep -q '^  launch ' out || fail "--all shows not all parameters"
for file in out short; do
    ! grep -q $'\e' $file || fail "styles in a file"
    awk 'length > 80 { exit 1 }' $file || fail "more than 80 columns: $(awk 'length > 80' $file)"
done

export TERM=xterm
unset NO_COLOR
script -qec "$TUTTI show" /dev/null >terminal </dev/null
grep -q $'\e\\[1mtutti bulk' terminal && grep -q $'\e\\[1;32m *done' terminal || fail "no styles on a terminal"
sed 's/\x1b\[[0-9;]*m//g; s/\r$//' terminal | cmp - short || fail "styles change the text"
TERM=dumb script -qec "$TUTTI show" /dev/null </dev/null | { ! grep -q $'\e'; } || fail "styles on a dumb terminal"
NO_COLOR=1 script -qec "$TUTTI show" /dev/null </dev/null | { ! grep -q $'\e'; } || fail "styles against NO_COLOR"
# A launcher may give ranks a terminal, and its own output be a file.
expect 0 "${ranks[@]}" 2 "$TUTTI" run bulk --block 64k --transfer 16k --dir "$data" --results "$work/launched" --min-free 0
! grep -q $'\e' out || fail "styles in a file behind a launcher"

# The line of progress has the rate of the last second, and is gone at the end.
script -qec "$TUTTI run bulk --read no --block 4m --transfer 64k --layers throttle --throttle.rate 1500k --dir $data --min-free 0" /dev/null </dev/null |
    tr '\r' '\n' >terminal
grep -qE '^.{0,4}\[#+ *\]  *[0-9]+ %  [0-9]+ of 64  [0-9.]+ .iB/s  [0-9.]+ m?s left' terminal || fail "no live rate: $(grep -a left terminal)"
! sed 's/\x1b\[[0-9;]*[mK]//g' terminal | awk 'length > 80 { exit 0 } END { exit 1 }' || fail "more than 80 columns"

# Repeated until a metric is known well enough: said whether that was reached. The rate of a throttle is always the same.
expect 0 "$TUTTI" run bulk --read no --block 64k --transfer 16k --layers throttle --throttle.rate 1m --stop-when.metric write_rate \
    --stop-when.ci 90% --repeat 2 --dir "$data" --min-free 0 --json answer.json
grep -qE '^  stop_when  write_rate, alone: met: [6-9] runs, interval of \+-[0-9.]+ %, wanted 90 %$' out || fail "the goal: $(grep stop_when out)"
jq -e '.stop_when[0].met and (.steps[0].runs >= 6)' answer.json >/dev/null || fail "$(jq -c .stop_when answer.json)"
