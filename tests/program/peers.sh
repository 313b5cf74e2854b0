# SPDX-License-Identifier: GPL-3.0-or-later
# bench/peers says how to name the originals, and compares figures of the same name.
# processors: 1
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
[ -f "$build/bench/launcher" ] || skip "this build has no bench"

peers=(env -u IOR -u MDTEST -u H5BENCH -u NUMIO -u FIO DIR="$work" "$SOURCE/bench/peers" "$build")
expect 2 "${peers[@]}"
grep -q '^bench/peers: name at least one original: IOR=PATH' err || fail "not said how to name an original"
expect 2 env IOR="$work/nosuch" "$SOURCE/bench/peers" "$build"
grep -q 'nosuch is no program' err || fail "no word of a program that is not there"
# With tutti as its own original every figure has a partner; half the transfers would be seen in the ratio.
printf '%s\n' '#!/bin/sh' "exec '$TUTTI' ior --results '$runs' --min-free 0 \"\$@\"" >"$work/original"
chmod +x "$work/original"
status=0
env IOR="$work/original" DIR="$work" RANKS=2 ROUNDS=2 LINE="-a DUMMY -b 64k -t 16k" "$SOURCE/bench/peers" "$build" >table || status=$?
[ $status -le 1 ] || fail "bench/peers failed: $status"
equal "$(awk '$1 == "ior" { print $(NF - 5) }' table | tr '\n' ' ')" \
    "write-rate write-iops write-open write-close read-rate read-iops read-open read-close " "figures"
awk '$1 == "ior" && ($(NF - 4) + 0 < 0 || $(NF - 3) + 0 < 0 || $NF !~ /^(yes|no|noise)$/) { exit 1 }' table || fail "a row is not whole: $(cat table)"
equal "$(find "$work" -maxdepth 1 -name 'tutti-peers.*' | wc -l)" 0 "directories left behind"
