# SPDX-License-Identifier: GPL-3.0-or-later
# Kills at random moments, of the driver, the launcher, a rank or all of a run, an ensemble, a survey, h5bench: no
# process stays, no finished repetition is lost, what is left can be removed, nothing of others is touched.
# processors: 1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kills.lib"
kills "${N:-10}"
