# SPDX-License-Identifier: GPL-3.0-or-later
# Two hundred kills at random moments, with MPI as users have it; see kills.sh.
# timeout: 3000
# labels: testbed
# processors: 1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kills.lib"
mpi_as_users_have_it
no_group_left() { # of a driver that is dead: others may be at work on this machine
    local group pid
    for group in $(find /sys/fs/cgroup -maxdepth 2 -type d -name 'tutti-[0-9]*-*' -printf '%f\n' 2>/dev/null || true); do
        pid=${group#tutti-} pid=${pid%%-*}
        [[ $pid == *[!0-9]* || -d /proc/$pid ]] || fail "control group $group is left"
    done
}
SEED=${SEED_OF_LONG_RUN:-2}
kills "${N:-200}"
no_group_left
