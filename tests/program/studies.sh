# SPDX-License-Identifier: GPL-3.0-or-later
# The ready studies of examples/studies are whole, one of them runs, and the model is fitted to its runs.
# processors: 2
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq

for file in "$SOURCE"/examples/studies/*.yaml; do
    expect 0 "$TUTTI" study "$file" "${here[@]}" --dry-run
    grep -qE '^runs +(8|12|24)$' out || fail "${file##*/}: $(cat out)"
    grep -q '^# .*[Pp]ublished\|see bdcats-weak' "$file" || fail "${file##*/} does not tell the published sizes"
done
[ ! -e "$runs" ] || fail "a dry run has left something"

LIMIT=120 expect 0 "$TUTTI" study "$SOURCE/examples/studies/vpic-weak.yaml" "${here[@]}" --quiet
expect 0 "$TUTTI" model fit "$runs" --json fit.json
equal "4 4" "$(jq -r '.history | "\(.sync) \(.async)"' fit.json)" "runs of each mode"
jq -e '.fits.storage[] | select(.chosen) | .dropped | has("ranks") or has("size")' fit.json >/dev/null ||
    fail "in weak scaling size and ranks cannot be told apart: $(cat fit.json)"
expect 0 "$TUTTI" model check "$runs"
no_data_left
