# SPDX-License-Identifier: GPL-3.0-or-later
# Prints docs/metrics.md with the definitions as docs/reference.md has them; make docs runs it:
#   awk -f docs/metrics.awk docs/reference.md docs/metrics.md
FNR == 1 { file++ }
file == 1 { inside = /^## / ? $0 == "## Metrics" : inside; if (inside && /^\|/) table = table $0 "\n"; next }
skipping && /^\|/ { next }
{ skipping = 0; print }
/^<!-- definitions -->$/ { printf "%s", table; skipping = 1 }
