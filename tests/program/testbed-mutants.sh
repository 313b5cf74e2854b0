# SPDX-License-Identifier: GPL-3.0-or-later
# Two thousand damaged and forged directories and inputs; see mutants.sh.
# timeout: 3000
# labels: testbed
# processors: 1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mutants.lib"
SEED=${SEED_OF_LONG_RUN:-2}
mutants "${N:-2000}"
