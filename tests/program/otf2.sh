# SPDX-License-Identifier: GPL-3.0-or-later
# An OTF2 archive has the same spans as the JSON for Chrome: otf2-print reads it.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

rm -rf "$runs"
expect 0 "$TUTTI" run stencil -n 2 --size 64 --iterations 24 --write every=4 --read every=8 --mode async+bg --trace yes "${here[@]}"
status=0
"$TUTTI" export "$runs" --otf2 probe >out 2>err || status=$?
if [ $status != 0 ] && grep -q 'not in this build' err; then
    one_line "exporter 'otf2' is not in this build; package libopen-trace-format2-dev brings its library"
    skip "this build has no OTF2"
fi
needs otf2-print

# "region count seconds" of both; a region in flight is a call.
of_otf2() { # DIRECTORY
    otf2-print "$1/traces.otf2" >events || fail "otf2-print cannot read it"
    equal "$(grep -c '^ENTER' events)" "$(grep -c '^LEAVE' events)" "enter and leave"
    awk '$1 == "ENTER" || $1 == "LEAVE" { match($0, /"[^"]*"/); name = substr($0, RSTART + 1, RLENGTH - 2); at = $3 + 0 }
        $1 == "ENTER" { if (at < last[$2]) print "time goes back"; n[name]++; stack[$2, ++depth[$2]] = name; begin[$2, depth[$2]] = at; last[$2] = at }
        $1 == "LEAVE" { if (stack[$2, depth[$2]] != name) print "wrong nesting at", $0; sum[name] += at - begin[$2, depth[$2]--]; last[$2] = at }
        END { for (name in n) printf "%s: %d %.0f\n", name, n[name], sum[name] }' events | sort
}
of_json() { # FILE
    jq -r '[.traceEvents[] | select(.ph == "X") | {name: ((if .cat == "call" then "call " else "" end) + .name), ns: (.dur * 1000 | round)}] +
        ([.traceEvents[] | select(.cat == "in flight")] | group_by(.id) | map({name: ("call " + .[0].name),
            ns: ((map(.ts) | max - min) * 1000 | round)})) |
        group_by(.name)[] | "\(.[0].name): \(length) \(map(.ns) | add)"' "$1" | sort
}
compare() { # RUNS
    rm -rf trace.json archive
    expect 0 "$TUTTI" export "$1" --trace trace.json
    expect 0 "$TUTTI" export "$1" --otf2 archive
    of_otf2 archive >from-otf2
    of_json trace.json >from-json
    [ "$(wc -l <from-json)" -ge 3 ] || fail "no spans"
    diff from-otf2 from-json || fail "spans differ"
    otf2-print -G archive/traces.otf2 >definitions
}

compare "$runs"
equal 2 "$(grep -c '^LOCATION_GROUP .*Type: PROCESS' definitions)" "processes"
equal 'helper main' "$(sed -n 's/^LOCATION  .*Name: "\([^"]*\)".*/\1/p' definitions | sort -u | xargs)" "threads"
equal 1 "$(grep -c '^SYSTEM_TREE_NODE  .*Class: "node"' definitions)" "hosts"
grep -q '^CLOCK_PROPERTIES .*Ticks per Seconds: 1000000000, Global Offset: 0' definitions || fail "the clock"
equal "$(jq '[.traceEvents[] | select(.args.request)] | length' trace.json)" \
    "$(otf2-print -A archive/traces.otf2 2>/dev/null | grep -c '"request" <0>')" "requests"
# Who may look into it is for the umask to say.
(umask 027 && "$TUTTI" export "$runs" --otf2 guarded >out 2>err) || fail "$(cat err)"
equal 750 "$(stat -c %a guarded)" "permissions"
# What is there stays; a place that cannot be written to leaves nothing.
usage "'archive' exists already; name a directory that does not" "$TUTTI" export "$runs" --otf2 archive
usage "--otf2 is written alone" "$TUTTI" export "$runs" --otf2 other --csv x.csv
expect 1 "$TUTTI" export "$runs" --otf2 no/such/place
one_line "No such file or directory"
expect 0 "$TUTTI" run stencil --size 16 --iterations 2 --dir "$data" --results untraced --min-free 0 --quiet
expect 1 "$TUTTI" export untraced --otf2 none
one_line "has no trace; run it again with --trace"
[ -z "$(find . -maxdepth 1 -name 'none*')" ] || fail "an archive without a trace"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir small
    expect 1 unshare -m --propagation private sh -c 'mount -t tmpfs -o size=16k tmpfs small && "$@"; status=$?; ls small; exit $status' sh \
        "$TUTTI" export "$runs" --otf2 small/archive
    one_line "No space left on device"
    [ ! -s out ] || fail "half an archive is left: $(cat out)"
fi
# A run opens no exporter.
! ldd "$TUTTI" | grep -qi otf2 || fail "the program is linked with OTF2"
# Requests in flight overlap: they are on lanes of their own, and spans of a location still nest.
if has_backend uring; then
    expect 0 "$TUTTI" run bulk -n 2 --block 256k --transfer 8k --depth 4 --backend uring --trace yes --dir "$data" --results flight --min-free 0
    compare flight
    grep -q '^LOCATION  .*"main, in flight 2"' definitions || fail "no lanes: $(grep '^LOCATION' definitions)"
fi
no_data_left
