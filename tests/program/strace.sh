# SPDX-License-Identifier: GPL-3.0-or-later
# An independent observer counts the bytes written to the data file: on posix they are the payload.
. "$(dirname "$0")/lib.sh"
needs jq strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

for mode in sync+imm async+bg; do
    rm -f trace.*
    expect 0 strace -ff -y -qq -s 0 -o trace -e trace=write,pwrite64,pwritev,pwritev2 \
        "$TUTTI" run stencil -n 2 --size 100 --iterations 20 --write every=4 --backend posix --mode $mode \
        "${here[@]}" --json out.json
    counted=$(cat trace.* | grep -F "<$data/" | awk '{ sum += $NF } END { print sum + 0 }')
    equal "$counted" "$(metric bytes_written)" "bytes seen by strace and bytes reported ($mode)"
    equal $((100 * 100 * 8 * 5)) "$counted" "bytes written and five fields"
done
no_data_left
