# SPDX-License-Identifier: GPL-3.0-or-later
# The layer cache: what returns when, where data is meanwhile, and what becomes of a cache that is full, gone, shared, damaged or left by a killed run.
# processors: 2
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq strace cmp pgrep
mkdir local
echo mine >local/mine
pattern=("$TUTTI" run pattern --quiet "${here[@]}" --dims 64:48 --element f64 --steps 3 --variables 3 --fixed 1 --balance uneven
    --seed 3 --series append)
cache=(--cache.dir "$work/local")
empty() { equal mine "$(ls local)" "what is left in the directory of caches"; }
# told WHY [file]: one rank of the node says so, and the result, too. In a series of files ranks may find it out in different ones,
# and share nothing any more.
told() {
    local lines
    lines=$(grep -cE "^tutti: layer cache writes through from here on: .* in '.*local/tutti-.*cache': $1" "$(last_run)/stderr")
    [ "$lines" = 1 ] || { [ "${2:-}" = file ] && [ "$lines" = 2 ]; } || fail "$lines lines about it"
    [ "${2:-}" = file ] || # the first file is asked
        jq -e '.facts[] | select(.key == "cache.dir") | .proof == "no effect" and (.read_back | test("^unusable on [12] of 2 ranks$"))' "$(last_run)/result.json" >/dev/null || fail "the result does not say so"
}
expect 0 "${pattern[@]}" -n 2 --path "$work/plain" --phase write --keep

# By another thread than the one that wrote, through a file of the run; and the file is the same.
observe -e trace=pwrite64,pwritev -y -o calls "${pattern[@]}" -n 1 --layers cache,throttle --throttle.ops 50 "${cache[@]}" --path "$work/seen" \
    --phase write --keep --json out.json
cmp seen plain || fail "the cache has changed the file"
empty
# moves WHERE: thread and bytes of each call there, also of one that strace tells in two lines.
moves() {
    awk -v where="$1" 'index($0, where) { if (/unfinished/) { waits[$1] = 1; next } if ($NF > 0) print $1, $NF }
        /resumed/ && waits[$1] { waits[$1] = 0; if ($NF > 0) print $1, $NF }' calls
}
threads() { moves "$1" | cut -d ' ' -f 1 | sort -u; } # WHERE
equal 1 "$(threads local/tutti- | wc -l)" "threads that write to the cache"
equal 1 "$(threads "$work/seen>" | wc -l)" "threads that write to the target"
[ "$(threads local/tutti-)" != "$(threads "$work/seen>")" ] || fail "the caller has written to the target"
equal 172032 "$(moves "$work/seen>" | awk '{ sum += $2 } END { print sum }')" "bytes of the target"
equal '"168 KiB by the cache, 0 B past it"' "$(jq '.facts[] | select(.key == "cache.written").read_back' out.json)" "what is told"
equal '["cache",172032,"throttle",172032]' "$(jq -c '[.layers[] | .name, .bytes_written * 1]' out.json)" "bytes of the layers"
equal '["I/O is changed on purpose by layers (throttle): rates are not those of the storage"]' \
    "$(jq -c '[.warnings[].text | select(test("on purpose|storage:"))]' out.json)" "warnings of the layers"
holds '$a > 0 and $b > 0 and $a < $c' a="$(jq '.layers[0].seconds' out.json)" b="$(jq '.layers[0].cpu_seconds' out.json)" \
    c="$(jq '.layers[1].seconds' out.json)"

# What a sync is: of the target, or of the file of the run.
for sync in target local; do
    observe -e trace=fsync,fdatasync -y -o calls "${pattern[@]}" -n 1 --layers cache "${cache[@]}" --cache.sync $sync --sync dump
    locals=$(grep -cF local/tutti- calls) || true
    grep -q "$data" calls || fail "the target was not synced"
    [ $sync = target ] || grep -q 'fdatasync(.*\.writes\.new>' calls || fail "a head had its name before it was in storage"
    [ $sync = target ] && [ "$locals" = 0 ] || { [ $sync = local ] && [ "$locals" -ge 3 ]; } || fail "$locals syncs of the cache, sync=$sync"
done
# Closing in the background, for a series with a file per step.
expect 0 "${pattern[@]}" -n 2 --series file --layers verify,cache,throttle --throttle.ops 200 "${cache[@]}" --cache.close return --path "$work/steps" --phase write --keep
expect 0 "$TUTTI" verify "$(last_run)"
expect 0 "$TUTTI" clean "$(last_run)"
equal 0 "$(find . -name 'steps*' | wc -l)" "files of steps"
empty

# What was read is found again by all ranks of the node, and the next step is read before it is asked for.
training=("$TUTTI" run training --quiet "${here[@]}" -n 2 --files 8 --per-file 4 --size 4k --batch 2 --epochs 3 --workers 0)
observe -e trace=pread64,read,preadv -y -o calls "${training[@]}" --layers cache "${cache[@]}"
reads=$(moves "$data" | wc -l)
[ "$reads" -le 40 ] || fail "32 samples were read $reads times from the target"
empty
expect 0 "${pattern[@]}" -n 2 --layers cache,throttle --throttle.ops 200 "${cache[@]}" --path "$work/plain" --phase read --json out.json
jq -r '.facts[] | select(.key == "cache.read").read_back' out.json | grep -q '^[1-9].* from the cache, .*; [1-9].* read ahead$' || fail "nothing was read ahead"
# The least recently used goes when there is no room.
expect 0 "${training[@]}" --layers cache "${cache[@]}" --cache.size 30k
empty

# Two runs share the directory, and none sees the other.
"${pattern[@]}" -n 2 --layers verify,cache,throttle --throttle.ops 100 "${cache[@]}" >other.out 2>&1 &
other=$!
expect 0 "${pattern[@]}" -n 2 --layers verify,cache,throttle --throttle.ops 100 "${cache[@]}"
wait $other || { cat other.out; fail "the other run failed"; }
empty

# A directory that is full: of its limit, or the storage itself.
expect 0 "${pattern[@]}" -n 2 --layers verify,cache "${cache[@]}" --cache.size 20k --json out.json
jq -r '.facts[] | select(.key == "cache.written").read_back' out.json | grep -q '[1-9].* past it' || fail "all of it fitted"
if unshare -m true 2>/dev/null; then
    for sync in target local; do
        expect 0 unshare -m --propagation private bash -c 'mount -t tmpfs -o size=100k none "$1" && shift && exec "$@"' - "$work/local" \
            "${pattern[@]}" -n 2 --layers verify,cache,throttle --throttle.ops 100 "${cache[@]}" --cache.sync $sync
        told "No space left on device"
    done
fi
empty
# One that vanishes: what was written is still moved, and a sync is one of the target again.
field=("${here[@]}" --size 64 --iterations 60 --baseline 0)
stencil=("$TUTTI" run stencil -n 2 "${field[@]}" --keep)
expect 0 "${stencil[@]}" --quiet --write every=1,series=append,path="$work/whole"
for series in append file; do
    "${stencil[@]}" --quiet --compute 30ms --write every=1,series=$series,path="$work/vanished" --sync dump --layers verify,cache,throttle \
        --throttle.rate 10m "${cache[@]}" --cache.sync local >out 2>err &
    driver=$!
    until compgen -G 'local/*/*.writes' >there; do
        kill -0 $driver || { cat err; fail "the run ended by itself"; }
        sleep 0.01
    done
    rm -rf local/tutti-*
    wait $driver || { cat err; fail "the run did not survive it"; }
    told "No such file or directory" $series
done
expect 0 "$TUTTI" verify "$(last_run)"
cmp <(cat vanished.0*) whole || fail "steps are missing"
cmp vanished whole || fail "data is missing"
empty

usage "layer cache needs cache.dir" "${pattern[@]}" --layers cache
expect 1 "${pattern[@]}" -n 2 --layers cache --cache.dir "$work/nowhere"
one_line "cache.dir: '.*nowhere' does not exist on node .*; create it or choose another directory"
usage "layer cache must stand before layout layer log" "${pattern[@]}" --layers log,cache "${cache[@]}"
expect 1 "${pattern[@]}" -n 2 --layers cache,align "${cache[@]}" --cache.sync local
one_line "cache.sync local needs a file that tutti convert can complete"
expect 0 "${pattern[@]}" -n 1 --layers cache,throttle "${cache[@]}" --cache.sync local --path "$work/told" --json told.json
equal 1 "$(jq '[.warnings[] | select(.text | test("rate is that of the node"))] | length' told.json)" "warnings of a local sync"
equal 0 "$(jq '[.warnings[] | select(.text | test("on purpose"))] | length' told.json)" "warnings of a throttle without limits"
if unshare -m true 2>/dev/null; then # a file system without attributes
    mkdir plain.fs
    expect 1 unshare -m --propagation private bash -c 'mount -t ramfs none "$1" && shift && "$@" || { test -z "$(ls "${0%/*}")"; exit 1; }' \
        "$work/plain.fs/x" "$work/plain.fs" "${pattern[@]}" -n 2 --layers cache "${cache[@]}" --cache.sync local --path "$work/plain.fs/target" --phase write --keep
    one_line "cache.sync local needs a file system that knows attributes"
fi
no_data_left

# A call that fails below is told by its rank, while others wait in the background.
for layers in verify,cache,fault verify,cache,fault,compress,subfile; do
    for call in "write 2" "sync 2" "close 1"; do
        expect 1 "${pattern[@]}" -n 3 --layers $layers "${cache[@]}" --cache.sync local --sync dump --fault.rank 1 --fault.call ${call% *} \
            --fault.nth ${call#* }
        grep -q "rank 1" err || { cat err; fail "no line about rank 1"; }
        no_data_left
        empty
    done
done

# Where syncs waited for the target, no cache has anything that a file which could not be closed lacks: none is asked for.
expect 1 "${pattern[@]}" -n 2 --series file --layers cache,fault "${cache[@]}" --cache.close return --fault.rank 0 --fault.call close --fault.nth 2 \
    --path "$work/closed" --phase write --keep
run=$(last_run)
empty
expect 1 "$TUTTI" run pattern "${here[@]}" -n 1 --dims 64:48 --element f64 --steps 1 --path "$work/closed.000001" --phase read --quiet
one_line "closed.000001' is not whole: its run ended while some of it was only in '.*local/tutti-"
expect 0 "$TUTTI" convert closed.000001 found
cmp found closed.000001
rm found
expect 0 "$TUTTI" clean "$run"
[ ! -e closed.000001 ] || fail "clean has left a file"

# So it is where the files of steps are there already, whose sizes are asked for meanwhile.
expect 0 "${pattern[@]}" -n 2 --series file --path "$work/again" --phase write --keep
expect 1 "${pattern[@]}" -n 2 --series file --layers cache,fault,throttle --throttle.ops 200 "${cache[@]}" --cache.close return --fault.rank 0 \
    --fault.call close --fault.nth 2 --path "$work/again" --phase write --keep
grep -q "rank 0: close of '$work/again.000001'" err || { cat err; fail "no line about the close"; }
expect 0 "$TUTTI" clean "$(last_run)"
# A file belongs to its run until it is closed in the background: no other run takes its place before.
"${pattern[@]}" -n 2 --series file --layers cache,throttle --throttle.rate 50k "${cache[@]}" --cache.close return --path "$work/early" --phase write \
    --keep >other.out 2>&1 &
other=$!
until [ -e early.000002 ]; do
    kill -0 $other || { cat other.out; fail "the run ended by itself"; }
    sleep 0.01
done
expect 1 "${pattern[@]}" -n 1 --series file --path "$work/early" --phase write
one_line "early.000000' is a file that run .* has not finished"
wait $other || { cat other.out; fail "the run that was first failed"; }
expect 0 "${pattern[@]}" -n 1 --series file --path "$work/early" --phase write

# Before a sync of the cache is acknowledged, the target and its mark are durable: a conversion needs them.
observe -e trace=setxattr,fsync,fdatasync -y -o calls "${pattern[@]}" -n 1 --layers cache "${cache[@]}" --cache.sync local --sync dump --path "$work/seen" \
    --phase write
awk -v target="$work/seen" '/setxattr/ && index($0, target "\"") { marked = 1 } /fsync/ && marked && index($0, "<" target ">") { file = 1 }
    /fsync/ && file && index($0, "<" substr(target, 1, length(target) - 5) ">") { name = 1 } /fdatasync/ && index($0, "/local/tutti-") { exit !name }
    END { exit !name }' calls || { cat calls; fail "the mark of the target may be lost"; }

# What was acknowledged and cannot be read is an error of its rank. It is found once it can be read again.
if [ -n "${FAULTS:-}" ]; then
    expect 1 env LD_PRELOAD="$FAULTS" TUTTI_FAULT="rank=1 call=read nth=2 match=.writes do=EIO" "${pattern[@]}" -n 2 \
        --layers cache,throttle --throttle.ops 200 "${cache[@]}" --cache.sync local --sync dump --path "$work/unread" --phase write --keep
    grep -q "rank 1: read of '.*local/tutti-.*/unread-.*-00001.writes' at offset .*Input/output error" err || { cat err; fail "no line about the error"; }
    grep -q "unread-.*writes' is left alone, .* tutti convert '$work/unread' DST finishes that" err || { cat err; fail "no line about what is only there"; }
    equal 2 "$(wc -l <err)" "lines of a run that has failed"
    expect 1 "$TUTTI" clean "$(last_run)"
    expect 0 "$TUTTI" convert unread found
    cmp -n "$(stat -c %s found)" found plain || fail "what was acknowledged is missing"
    [ "$(stat -c %s found)" -ge 49152 ] || fail "a dump was acknowledged, and is missing"
    expect 0 "$TUTTI" clean "$(last_run)"
    rm found
    empty
    # A mark that cannot be removed makes others miss caches that are gone, although the target is whole.
    expect 1 env LD_PRELOAD="$FAULTS" TUTTI_FAULT="rank=0 call=unmark match=unmarked do=EIO" "${pattern[@]}" -n 2 --layers cache "${cache[@]}" --cache.sync local --path "$work/unmarked" \
        --phase write --keep
    grep -q "removexattr of '$work/unmarked': Input/output error" err || { cat err; fail "no line about the mark"; }
    expect 0 "$TUTTI" convert --partial unmarked found
    cmp found plain || fail "a target that is whole but for its mark"
    rm found unmarked
    empty
fi

# Bytes that change in a cache are found before they are moved, whatever a sync is.
for sync in target local; do
    "${stencil[@]}" --quiet --compute 4ms --write every=1,series=append,path="$work/flipped" --sync close --layers cache,throttle \
        --throttle.rate 400k "${cache[@]}" --cache.sync $sync >out 2>err &
    driver=$!
    until [ "$(stat -c %s local/*/*-00001.writes 2>/dev/null || echo 0)" -ge 100000 ]; do
        kill -0 $driver || { cat err; fail "the run ended by itself"; }
        sleep 0.01
    done
    printf '\377' | dd of="$(ls local/*/*-00001.writes)" bs=1 seek=90000 conv=notrunc status=none
    ! wait $driver || fail "changed bytes were moved"
    grep -q "rank 1: .*-00001.writes': the block at offset 86016 is not what was written" err || { cat err; fail "no line about changed bytes"; }
    rm -rf local/tutti-* flipped
done
empty

# A run whose processes are all killed.
meanwhile=(true)
wait_for_dumps() {
    until [ "$(cat "$runs"/*/progress 2>/dev/null | cut -d ' ' -f 1)" -ge 12 ] 2>/dev/null; do
        kill -0 $driver || { cat err; fail "the run ended by itself"; }
        sleep 0.05
    done
}
killed() { # LAYERS OPTIONS...
    local layers=$1
    shift
    rm -rf target* "$runs"
    "${stencil[@]}" --quiet --compute 4ms --write every=1,series=append,path="$work/target" --sync dump --layers "$layers" --throttle.rate 200k \
        "${cache[@]}" "$@" >out 2>err &
    driver=$!
    wait_for_dumps
    "${meanwhile[@]}"
    kill_run
    wait $driver 2>/dev/null || true
    no_process_left
    "$TUTTI" show "$(last_run)" >/dev/null 2>err || true
    case " $* " in *" local "*) told=1 ;; *) told=0 ;; esac
    [ -n "${maybe:-}" ] || equal $told "$(grep -cE "writes' is left alone, .*'$work/target' DST finishes that" err || true)" "lines about what is only in the cache"
}
# While ranks run, they acknowledge more: neither caches nor target must look converted, by a copy neither.
refused_alive() {
    expect 1 "$TUTTI" convert target new
    one_line "0000[01].writes' is in use: its rank still runs and may acknowledge more; end the run first"
    cp -r local/tutti-* copy
    expect 1 "$TUTTI" convert copy new
    rm -rf copy
    [ ! -e new ] || fail "a file was made of a run that is alive"
}
meanwhile=(refused_alive)
killed cache,throttle --cache.sync local
meanwhile=(true)
left=$(ls -d local/tutti-*) run=$(last_run)
# Cleaning spares it, with the target; who reads the target is told.
expect 1 "$TUTTI" clean "$run"
grep -q "target-.*writes' is left alone, with its run's data: .* tutti convert '$work/target' DST finishes that" err || { cat err; fail "no line"; }
ls target "$left"/*-0000{0,1}.writes >/dev/null
# A line of the manifest that a full disk cut short does not hide that.
cp "$run"/manifest* kept.manifest
printf 'cut sho\n' >>"$(ls "$run"/manifest*)"
expect 1 "$TUTTI" clean "$run"
one_line "target-.*writes' is left alone, with its run's data"
cp kept.manifest "$(ls "$run"/manifest*)"
# So it does where the caches are not: they may be on another node.
mv "$left" away
expect 1 "$TUTTI" clean "$run"
one_line "target' is left alone: some of it may be only in '.*local/tutti-.*', or in caches of other nodes"
ls target >/dev/null
mv away "$left"
expect 1 "$TUTTI" run pattern "${here[@]}" -n 1 --dims 64:64 --element f64 --steps 2 --series append --path "$work/target" --phase read --quiet
one_line "target' is not whole: its run ended while some of it was only in '.*local/tutti-"
# Damage is one line, and no new file.
bad() { # PATTERN
    expect 1 "$TUTTI" convert bad/*.writes new
    one_line "$1"
    [ ! -e new ] || fail "a file was left"
}
again() { rm -rf bad && cp -r "$left" bad; }
again && sed -i '1s/cache 2/cache 1/' bad/*-00000.writes && bad "00000.writes' has version 1 of the cache's format; this tutti reads version 2"
again && sed -i '2s/moved 0/moved 1/' bad/*-00000.writes && bad "00000.writes', line 2: 'moved 1.*' is not what tutti writes there"
again && sed -i '5s/rank 0/rank 7/' bad/*-00000.writes && bad "00000.writes', line 5: 'rank 7 of 2' is not what tutti writes there"
again && sed -i '9s/end/dne/' bad/*-00001.writes && bad "00001.writes', line 9: 'dne' is not what tutti writes there"
for size in 0 16383; do # no head, so nobody knows what was acknowledged in it
    again && truncate -s $size bad/*-00001.writes && bad "00001.writes' is shorter than its head, .* tutti convert --partial makes what is left"
done
again && truncate -s 16500 bad/*-00001.writes && bad "00001.writes' ends at offset|00001.writes': the head of the log"
again && truncate -s 40000 bad/*-00001.writes && bad "00001.writes': the (index|block) of rank 0 .* (damaged|not what was written)"
again && cp bad/*-00001.writes bad/x.writes && bad "are both of rank 1"
again && sed -i '5s/of 2/of 3/' bad/*-00001.writes && bad "00000.writes' and '.*00001.writes' are not of one run"
again && sed -i -e '6s/inode 9/inode 1/;t' -e '6s/inode ./inode 9/' bad/*-00000.writes && bad "belongs to another file than the one that is at '.*target' now"
# The files themselves do, too, or their directory.
# A part of them makes no whole file, and none of them even less. What is here is taken if that is asked for.
expect 1 "$TUTTI" convert "$left"/*-00001.writes new
one_line "target' cannot be made whole: the caches of rank 0 of 2 are not here \\(rank 0 had its own in '.*local/tutti-.*--partial"
expect 0 "$TUTTI" convert "$left"/*-00001.writes partial --partial
grep -q "[1-9][0-9]* requests of the caches of 1 rank; partial, without the caches of rank 0 of 2" out || { cat out; fail "the result is not called partial"; }
mv "$left" away
expect 1 "$TUTTI" convert target new
one_line "target' cannot be made whole: the caches of all ranks are not here"
[ ! -e new ] || fail "a file was made without the caches"
expect 0 "$TUTTI" convert target partial.2 --partial
grep -q "; partial, without the caches of all ranks" out || { cat out; fail "the result is not called partial"; }
cmp partial.2 target
expect 1 "$TUTTI" clean "$run" # still the only whole copy, elsewhere
mv away "$left"
# Of a damaged slot the other is taken, which is told; clean goes on to spare what is damaged.
again && cp -r bad untouched
file=$(ls bad/*-00001.writes)
slots=$((16384 + ($(od -An -td8 -j16400 -N8 "$file") + 63) / 64 * 64))
[ "$(od -An -td8 -j$slots -N8 "$file")" -gt "$(od -An -td8 -j$((slots + 64)) -N8 "$file")" ] || slots=$((slots + 64))
printf '\377' | dd of="$file" bs=1 seek=$((slots + 9)) conv=notrunc status=none
cp "$file" "$left"
expect 0 "$TUTTI" convert target older
one_line "00001.writes': the newest state of rank 1 is damaged, and an older one was taken; .* tutti clean spares '.*target'"
expect 1 "$TUTTI" clean "$run"
one_line "0000[01].writes' is left alone, with its run's data"
truncate -s 0 "$left"/*-00001.writes # also there
expect 1 "$TUTTI" convert target new
one_line "00001.writes' is shorter than its head"
expect 1 "$TUTTI" clean "$run"
cp untouched/*-00001.writes "$left"
# Nobody knows what became of a target that was to be kept: its caches stay, also if something else stands there.
mv target aside
for i in 1 2; do
    expect 1 "$TUTTI" clean "$run"
    one_line "0000[01].writes' is left alone: it has what was acknowledged of '.*target', which is not there any more; .* remove the cache yourself"
    echo mine >target
done
mv aside target
again
expect 0 "$TUTTI" convert bad converted
cmp -n $((11 * 64 * 64 * 8)) converted whole || fail "what was acknowledged is missing"
expect 1 "$TUTTI" clean "$run" # that was a copy
expect 0 "$TUTTI" convert target converted.2
cmp converted converted.2
# What somebody else has put there is no cache, and stays.
echo mine >"$left/x.writes" && ln -s x.writes "$left/y.writes" && mkfifo "$left/z.writes" && mkdir "$left/d.writes"
for from in target "$left"; do
    expect 0 "$TUTTI" convert "$from" others
    cmp others converted
    rm others
done
expect 1 "$TUTTI" clean "$run"
grep -q "writes' is left alone: it is not what this run made there" err || { cat err; fail "no line about what is somebody's"; }
equal "d.writes x.writes y.writes z.writes " "$(ls "$left" | tr '\n' ' ')" "what is left in the cache"
rm -rf "$left" # also without the caches, from now on
expect 0 "$TUTTI" clean "$run"
[ ! -e target ] || fail "clean has left the target"
empty
# A rank that could not make its cache has everything in the target: the one that is there is all.
if [ -n "${FAULTS:-}" ]; then
    meanwhile=(no_second_cache)
    no_second_cache() { equal 1 "$(ls local/tutti-*/*.writes | wc -l)" "caches"; }
    export LD_PRELOAD=$FAULTS TUTTI_FAULT="rank=1 call=open match=00001.writes do=ENOSPC"
    maybe=moved killed cache,throttle --cache.sync local --throttle.rate 2m
    unset LD_PRELOAD TUTTI_FAULT
    meanwhile=(true)
    expect 0 "$TUTTI" convert target whole.2
    ! grep -q partial out || fail "what is whole is called partial"
    cmp -n $((11 * 64 * 64 * 8)) whole.2 whole || fail "what was acknowledged is missing"
    expect 0 "$TUTTI" clean "$(last_run)"
    empty
fi
# What has been moved to a target that is damaged is nowhere else any more: clean spares all there is.
killed cache,throttle,log --cache.sync local --throttle.rate 2m
run=$(last_run)
cp target aside
slots=$((256 + 9)) # of rank 1, the newer of two
[ "$(od -An -td8 -j256 -N8 target)" -gt "$(od -An -td8 -j320 -N8 target)" ] || slots=$((slots + 64))
printf '\377' | dd of=target bs=1 seek=$slots conv=notrunc status=none
expect 0 "$TUTTI" convert target older.2
grep -q "target': the newest state of 1 of its 2 ranks is damaged, and an older one was taken; .*, so tutti clean spares it and its caches" err ||
    { cat err; fail "no line about a damaged target"; }
expect 1 "$TUTTI" clean "$run"
grep -q "is left alone" err || { cat err; fail "no line about what is left"; }
cat aside >target
expect 0 "$TUTTI" convert target newer
expect 0 "$TUTTI" clean "$run"
rm aside
empty

# What was acknowledged by the target is there without the cache, which goes.
killed cache,throttle --cache.sync target --throttle.rate 2m
run=$(last_run)
cmp -n $((11 * 64 * 64 * 8)) target whole || fail "what was acknowledged is missing"
expect 1 "$TUTTI" convert target new # the file itself is what convert would make
one_line "target' needs no conversion: it is a plain file, unless .* it is a copy of a target of layer cache"
left=$(ls -d local/tutti-*)
echo mine >"$left/strange"
expect 1 "$TUTTI" clean "$run"
one_line "cache/strange' is left alone: it is not what this run made there"
equal strange "$(ls "$left")" "what is left in the cache"
rm "$left/strange"
expect 0 "$TUTTI" clean "$run"
[ ! -e target ] || fail "clean has left the target"
empty
# Without --keep ranks that are ended by a signal remove the target: then there is nothing to complete, and the caches go, too.
mpi_as_users_have_it
for signal in TERM KILL; do
    rm -rf "$runs"
    start=("${ranks[@]}" 2 "$TUTTI" run stencil)
    [ $signal = TERM ] || start=("$TUTTI" run stencil -n 2)
    "${start[@]}" "${field[@]}" --quiet --compute 4ms --write every=1,series=append,path="$work/target" --sync dump --layers cache,throttle \
        --throttle.rate 200k "${cache[@]}" --cache.sync local >out 2>err &
    driver=$!
    wait_for_dumps
    kill -$signal $driver
    wait $driver 2>/dev/null || true
    no_process_left
    [ ! -e target ] || fail "$signal has left the target"
    ls local/*/*-0000{0,1}.writes >/dev/null
    "$TUTTI" show "$(last_run)" >/dev/null 2>err || true
    [ ! -s err ] || { cat err; fail "there is nothing to complete"; }
    expect 0 "$TUTTI" clean "$(last_run)"
    empty
done
