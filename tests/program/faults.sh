# SPDX-License-Identifier: GPL-3.0-or-later
# Random faults below the program, over all backends, workloads and modes: a run ends in one line that names rank,
# call and file, or what it wrote is right; it never hangs, and touches nothing of others.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.lib"
faults "${N:-50}"
