# SPDX-License-Identifier: GPL-3.0-or-later
# Every workload that stores something, small, on a plain file and through a library: what it reads is what it wrote.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"

play() { # WORKLOAD OPTIONS...
    local backend
    for backend in posix hdf5; do
        has_backend $backend || continue
        expect 0 "$TUTTI" run "$@" -n 2 --quiet "${here[@]}" --backend $backend --layers verify
        no_data_left
    done
}
play bulk --block 1m --segments 4 --check-read yes
play particles --dims 1000 --steps 2 --phase both
play particles --dims 1000 --steps 2 --phase both --memory records --mode async+bg
play frames --edge 12 --frames 3 --read yes
play frames --edge 12 --frames 3 --read yes --element vector --convert yes --decomposition 3d --style file
play climate --columns 60 --levels 3 --records 2 --phase both
play arrays --arrays 4 --steps 2 --rows 8 --columns 8 --process-rows 2
# A dry run tells sleep from computation, and measures nothing for it.
for how in 'climate --columns 9 --pause 2 --records 3 --files h1' 'amr --cells 8 --pause 1 --plot-files 3' 'particles --pause 2 --steps 3' 'parts --pause 2 --dumps 3'; do
    # shellcheck disable=SC2086 # words
    expect 0 "$TUTTI" run $how --dry-run "${here[@]}"
    equal "$(grep -E '^(computes|sleeps) ' out | tr -s ' ')" "sleeps about 4.00 s (as asked)" "$how"
done
expect 0 "$TUTTI" run particles --pause 2 --compute 1s --steps 3 --dry-run "${here[@]}"
equal "$(grep -E '^(computes|sleeps) ' out | tr -s ' ')" $'computes about 2.00 s (as asked)\nsleeps about 4.00 s (as asked)' "both"
expect 0 "$TUTTI" run metadata -n 2 --quiet "${here[@]}" --items 100 --write 100 --read 100 --shift 1
no_data_left
expect 0 "$TUTTI" run reader -n 2 --quiet "${here[@]}" --files 9 --size 1k --size-max 300k --transfer 10000 \
    --concurrency 4 --passes 2
no_data_left

# Every workload runs as it is, on few and on many cores: neither too little to be measured nor too much to wait for.
for workload in $("$TUTTI" list workloads | awk '/^  [a-z]/ { print $1 }'); do
    [ $workload != command ] || continue
    for n in 2 16; do
        "$TUTTI" run $workload -n $n --dry-run --dir /tmp --min-free 0 >out 2>err || { grep -q 'free' err && continue; } || fail "$(cat err)"
        written=$(awk '/^writes/ { gsub(",", ""); n = $2; if ($3 == "MiB") n *= 1048576; if ($3 == "GiB") n *= 1073741824; if ($3 == "KiB") n *= 1024; print n }' out)
        case $workload in
        bulk | frames | particles | arrays) holds '$w >= 5e8 * $n / 2 and $w <= 2e9 * $n' w="$written" n=$n ;;
        esac
    done
done
