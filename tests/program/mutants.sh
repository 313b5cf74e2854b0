# SPDX-License-Identifier: GPL-3.0-or-later
# Damaged and forged directories of runs, ensembles and surveys, and damaged inputs: a command takes them or refuses
# them in one line; it does not crash, hang, execute what they say, or touch what is not tutti's.
# labels: sanitize
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mutants.lib"
mutants "${N:-40}"
