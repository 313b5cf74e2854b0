# SPDX-License-Identifier: GPL-3.0-or-later
# What a sync has acknowledged is found by tutti convert after all processes of a run were killed, wherever they were.
# processors: 1
# timeout: 400
. "$(dirname "$0")/lib.sh"
needs cmp pgrep
dump=$((64 * 64 * 8)) dumps=400
stencil=("$TUTTI" run stencil --quiet "${here[@]}" --size 64 --iterations $dumps --baseline 0 --keep)
expect 0 "${stencil[@]}" -n 2 --write every=1,series=append,path="$work/plain"

# killed WANTED OPTIONS...: a run of one number of ranks or another that is killed after so many dumps; $synced is how many had been
# synced then.
numbers=(2 5 1) turn=0 series=append
killed() {
    local wanted=$1 pid
    shift
    rm -rf "$work"/target* "$runs"
    synced=0
    "${stencil[@]}" -n "${numbers[turn++ % 3]}" --compute 4ms --write every=1,series=$series,path="$work/target" "$@" >out 2>err &
    pid=$!
    while [ "${synced:-0}" -lt "$wanted" ]; do
        kill -0 $pid 2>/dev/null || { cat err; fail "the run ended by itself: $*"; }
        sleep 0.02
        synced=$(cat "$runs"/*/progress 2>/dev/null | cut -d ' ' -f 1) || true
    done
    kill_run
    wait $pid 2>/dev/null || true
    no_process_left
}
# found MOST-IN-FLIGHT: all dumps that had been acknowledged.
found() {
    local size=$(((synced - $1) * dump))
    rm -f converted
    expect 0 "$TUTTI" convert target converted
    [[ $layers != *cache* ]] || [ ! -s err ] || fail "what the caches had is said to be missing: $(cat err)"
    cmp -n $size converted plain || fail "not all of $synced dumps are there"
    [ "$(stat -c %s converted)" -ge $size ] || fail "the file is too short"
    expect 0 "$TUTTI" clean "$(last_run)" # with the records in the node's memory
    [ -z "$(ls local)" ] || fail "clean has left caches: $(ls local)"
}

mkdir local
backends=(posix)
! has_backend mpiio || backends+=(mpiio)
wanted=20
for backend in "${backends[@]}"; do
    turn=$((turn + 1)) # a stack has other numbers on another backend
    for layers in log compress log,subfile verify,compress,subfile; do
        options=(--backend "$backend" --layers "$layers")
        [[ $layers != *subfile ]] || options+=(--subfile.count 3 --subfile.stripe 4k)
        wanted=$((wanted + 7))
        killed $wanted "${options[@]}" --sync dump
        found 1 # the one that was about to end
        killed $wanted "${options[@]}" --mode async+bg
        found 3
    done
    # Of what is acknowledged most is still in the cache then, some has gone past it, and some is in the target.
    for layers in cache,throttle verify,cache,throttle,compress,subfile; do
        options=(--backend "$backend" --layers "$layers" --throttle.rate 1m --cache.dir "$work/local" --cache.sync local)
        [[ $layers != *subfile ]] || options+=(--subfile.count 3 --subfile.stripe 4k)
        killed 30 "${options[@]}" --sync dump
        found 1
        killed 30 "${options[@]}" --cache.size 400k --mode async+bg
        found 3
    done
done
# With a file per step, the last of which is only in the cache, and is closed in the background. What is whole already convert refuses.
series=file
killed 8 --layers cache,throttle --throttle.rate 100k --cache.dir "$work/local" --cache.sync local --cache.close return --sync dump
number=0
for file in target.??????; do
    rm -f found
    "$TUTTI" convert "$file" found >out 2>err || { one_line "it is a plain file" && cp "$file" found; }
    [ $number -ge $synced ] || cmp -n $dump -i 0:$((number * dump)) found plain || fail "$file is not what was acknowledged"
    number=$((number + 1))
done
[ $number -ge $synced ] || fail "of $synced files there are $number"
expect 0 "$TUTTI" clean "$(last_run)"
[ -z "$(ls local; ls target* 2>/dev/null)" ] || fail "clean has left something"
