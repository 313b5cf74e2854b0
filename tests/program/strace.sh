# SPDX-License-Identifier: GPL-3.0-or-later
# An independent observer counts the bytes written to data files and read from them: on posix they are the
# payload.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

for mode in sync+imm async+bg; do
    rm -f trace.*
    expect 0 strace -ff -y -qq -s 0 -o trace -e trace=write,pwrite64,pwritev,pwritev2 \
        "$TUTTI" run stencil -n 2 --size 100 --iterations 20 --write every=4 --backend posix --mode $mode \
        "${here[@]}" --json out.json
    counted=$(cat trace.* | grep -F "<$data/" | awk '{ sum += $NF } END { print sum + 0 }')
    reported=$(jq '.metrics.bytes_written.value + .excluded.bytes_written' out.json) # a baseline is written, too
    equal "$counted" "$reported" "bytes seen by strace and bytes reported ($mode)"
    equal $((100 * 100 * 8 * 5)) "$counted" "bytes written and five fields"
done

# Calls per second are the calls that the observer sees, over the time of the rate; percentiles need that many calls.
rm -f trace.*
expect 0 strace -ff -y -qq -s 0 -o trace -e trace=pwrite64,pwritev,pwritev2,pread64,preadv,preadv2 \
    "$TUTTI" run bulk -n 2 --block 4m --transfer 8k --backend posix "${here[@]}" --json out.json
for kind in write read; do
    counted=$(cat trace.* | grep -F "<$data/" | grep -c "^p$kind.* = 8192\$") # spot checks read less
    equal 1024 "$counted" "calls of two ranks and transfers of 8 KiB ($kind)"
    equal "$counted" "$(jq ".calls.$kind.count" out.json)" "calls seen by strace and calls counted ($kind)"
    [ $kind = write ] && bytes=bytes_written || bytes=bytes_read
    holds '$iops * $bytes / $rate / $n - 1 | fabs < 1e-9' iops="$(metric ${kind}_iops)" bytes="$(metric $bytes)" \
        rate="$(metric ${kind}_rate)" n="$counted"
    jq -e --arg k $kind '.calls[$k] as $c | [.metrics[$k + "_p50", $k + "_p99", $k + "_p999"].value] ==
        [$c.p50, $c.p99, $c."p99.9"] and $c.min <= $c.p50 and $c.p50 <= $c.p99 and $c.p99 <= $c."p99.9"
        and $c."p99.9" <= $c.max' out.json >/dev/null || fail "percentiles: $(jq -c ".calls.$kind" out.json)"
    jq -e --argjson n "$counted" --arg k $kind '(if $k == "write" then 1 else 3 end) as $c | ([.rates.rows[][$c]] | add) == $n * 8192
        and ([.rates.rows[][$c + 1]] | add) == $n and [.files[][$k][]] == [[8192, 16384, $n]]' out.json >/dev/null ||
        fail "other bytes and calls over time, or other sizes: $(jq -c '.rates, .files' out.json)"
done

# Between two dumps the main thread makes no calls but the library's, and what MPI makes of its own.
rm -f trace.*
expect 0 strace -ff -y -qq -s 0 -o trace "$TUTTI" run stencil -n 1 --size 500 --iterations 2000 --write every=200 \
    --backend posix --mode sync+imm "${here[@]}" --quiet
main=$(grep -lF "<$data/" trace.* | xargs grep -l pwritev)
equal 10 "$(grep -c '^pwritev' "$main")" "dumps by the main thread"
awk '/^pwritev/ { n++ } n >= 6 && n < 10' "$main" | grep -vE '^(pwritev|fsync|poll|epoll_wait|sched_yield)\(' >others || true
[ ! -s others ] || fail "calls between dumps: $(head -3 others)"

# Where MPI yields while it waits, the helper thread sleeps instead as long as the main thread computes: 5 us at first.
if mpirun --version | grep -q 'Open MPI'; then
    rm -f trace.*
    expect 0 strace -ff -qq -o trace -e trace=clock_nanosleep "$TUTTI" run stencil -n 2 --size 1000 --iterations 200 \
        --write every=10 --backend mpiio --mpiio.method collective --mode async+bg --baseline 0 "${here[@]}" --quiet
    [ "$(grep -lF 'tv_nsec=5000}' trace.* | wc -l)" = 2 ] || fail "not the helper of every rank sleeps while MPI waits"
fi

for checksum in none xxhash; do
    rm -f trace.*
    expect 0 strace -ff -y -qq -s 0 -o trace -e trace=preadv,preadv2,pread64,read,readv \
        "$TUTTI" run reader -n 2 --files 21 --size 1k --size-max 300k --transfer 10000 --concurrency 4 --passes 2 \
        --checksum $checksum "${here[@]}" --json out.json
    counted=$(cat trace.* | grep -F "<$data/" | awk '{ sum += $NF } END { print sum + 0 }')
    equal "$counted" "$(metric bytes_read)" "bytes seen by strace and bytes reported"
    [ "$(grep -lF "<$data/" trace.* | wc -l)" -ge 4 ] || fail "fewer threads read than two ranks must have"
done

# What io_uring moves no system call shows, but the calls say how many requests were made, and the file what they
# brought: every dump of a rank is one write and one sync, and all data are in the file.
if has_backend uring; then
    rm -f trace.*
    expect 0 strace -ff -y -qq -s 0 -o trace -e trace=write,pwrite64,pwritev,pwritev2,fsync,io_uring_enter \
        "$TUTTI" run stencil -n 2 --size 100 --iterations 20 --write every=4,series=append --backend uring --mode sync+imm \
        --keep "${here[@]}" --json out.json
    equal 0 "$(cat trace.* | grep -cF "<$data/")" "calls past io_uring and none"
    equal $((2 * 5 * 2)) "$(cat trace.* | awk '/^io_uring_enter/ { sum += $NF } END { print sum + 0 }')" \
        "requests submitted and two for every dump of a rank"
    file=$(find "$data" -type f)
    equal "$(stat -c %s "$file")" "$(metric bytes_written)" "size of the file and bytes reported"
    holds '$blocks * 512 >= $bytes' blocks="$(stat -c %b "$file")" bytes="$(metric bytes_written)"
    rm -rf "${data:?}"/*
fi
no_data_left
