# SPDX-License-Identifier: GPL-3.0-or-later
# A thousand random faults, or as many as N says; see faults.sh.
# timeout: 3000
# labels: testbed
# processors: 1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faults.lib"
SEED=${SEED_OF_LONG_RUN:-2}
faults "${N:-1000}"
