# SPDX-License-Identifier: GPL-3.0-or-later
# The statistics beside those of GNU R, on the same random values.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs Rscript
expect 0 Rscript --vanilla "$SOURCE/tests/reference/statistics.R" "$STATISTICS"
grep -q '^[0-9]\{4,\} numbers compared, 0 differ$' out || fail "$(cat out)"
