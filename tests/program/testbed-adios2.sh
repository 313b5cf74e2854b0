# SPDX-License-Identifier: GPL-3.0-or-later
# Backend adios2, in a tree of Debian 13: it conforms, ADIOS2's own library reads what it wrote, dumps overlap, refused calls and
# deaths are told in one line, what a sync has acknowledged is found, and nobody else's files are touched.
# timeout: 900
# labels: testbed
. "$(dirname "$0")/lib.sh"
newer=$SOURCE/testbed/newer tree=$(dirname "$TUTTI")/newer
# /dev/shm is the same inside and outside, and so is $work then.
[ "$tmp" = /dev/shm ] || skip "needs /dev/shm"
private_mounts "$@"
needs cmp jq pgrep
status=0
"$newer" up "$tree" 2>why || status=$?
[ $status != 77 ] || skip "$(cat why)"
[ $status = 0 ] || fail "$(cat why)"

with=() # for the environment
inside() { "$newer" run "$tree" env "${with[@]}" "$@"; }
tutti() { # STATUS WORDS...
    local want=$1
    shift
    expect "$want" "$newer" run "$tree" env "${with[@]}" tutti "$@"
}
run() { # STATUS WORKLOAD OPTIONS...
    local want=$1
    shift
    tutti "$want" run "$@" -n 2 --backend adios2 --quiet "${here[@]}"
}
fault() { with=(LD_PRELOAD=/tutti/build/tests/libtutti_faults.so TUTTI_FAULT_LOG="$work/hits" TUTTI_FAULT="$1"); rm -f hits; }
fact() { jq -r --arg key "$1" '.facts[] | select(.key == $key) | .read_back + ", " + .proof' out.json; }

# ---- conformance: all shapes, layers and modes with 1, 2 and 5 ranks ----
LIMIT=600 expect 0 "$newer" run "$tree" ctest --test-dir build -R '^conformance.adios2$' --output-on-failure
grep -q '100% tests passed' out || fail "conformance: $(cat out)"

# ---- the same bytes as a plain file has, to ADIOS2's own library ----
cp "$SOURCE"/tests/program/bp{read,write}.c .
inside sh -c "cd $work && for x in read write; do cc -Wall -Wextra -Werror -I /usr/include/adios2/build/mpi -o bp\$x bp\$x.c -ladios2_mpi_c || exit; done"
read_step() { inside "$work/bpread" "$work/$1" "$2" "$3" "$work/step" || fail "bpread $*"; } # FILE VARIABLE STEP
list() { inside "$work/bpread" "$work/$1" >list || fail "bpread $1"; }
stencil=(stencil --size 96 --iterations 12)
for mode in sync async async+bg sync+imm; do
    rm -rf kept plain
    tutti 0 run "${stencil[@]}" -n 2 --quiet "${here[@]}" --write "every=3,series=append,path=$work/plain" --keep
    run 0 "${stencil[@]}" --write "every=3,series=append,path=$work/kept" --keep --mode $mode
    list kept
    grep -qx '/field f64 4\*{96,96}' list || fail "mode $mode: $(cat list)"
    for step in 0 1 2 3; do
        read_step kept /field $step
        cmp -n 73728 -i $((step * 73728)):0 plain step || fail "mode $mode: step $step"
    done
done
for series in overwrite group; do
    rm -rf kept
    run 0 "${stencil[@]}" --write "every=3,series=$series,path=$work/kept" --keep
    if [ $series = overwrite ]; then read_step kept /field 3; else read_step kept /step_000003/field 0; fi
    cmp -i $((3 * 73728)):0 plain step || fail "series $series"
done
rm -rf kept
run 0 pattern --element x:f64,id:i64,tag:char*5 --dims 64:48 --path "$work/kept" --phase write --keep
list kept
grep -q 'v0/x f64 ' list && grep -q 'v0/id i64 ' list && grep -q 'v0/tag i8 .*{64,48,5}' list || fail "records: $(cat list)"
run 0 pattern --element x:f64,id:i64,tag:char*5 --dims 64:48 --path "$work/kept" --phase read
# What is in two steps of ADIOS2, of which the later one has some of it twice, and so not all of it.
rm -rf kept
run 0 pattern --variables 1 --steps 1 --series append --dims 64:32 --path "$work/kept" --phase write --keep
read_step kept /v0 0
rm -rf kept
inside "$work/bpwrite" "$work/kept" /v0 64 32 "$work/step"
tutti 0 run pattern -n 1 --backend adios2 --quiet "${here[@]}" --variables 1 --steps 1 --series append --dims 64:32 --path "$work/kept" --phase read
rm -rf kept
run 0 openpmd --min-block 8:8:8 --grid 2:2:2 --steps 2 --encoding group --phase both --path kept.bp --keep
mv "$data/kept.bp" .
list kept.bp
grep -qx '/data/1/fields/E/x f64 1\*{16,16,16}' list || fail "openPMD: $(cat list)"
grep -qx 'attribute /data/1/fields/E/x/unitSI f64 1' list || fail "openPMD: $(cat list)"
grep -qx 'attribute /iterationEncoding string groupBased' list || fail "openPMD: $(cat list)"
rm -rf kept.bp "${data:?}"/*

# ---- workloads ----
for mode in sync async+bg; do
    run 0 bulk --block 1m --transfer 64k --check-read yes --mode $mode
    run 0 bulk --block 1m --transfer 64k --check-read yes --files process --layers verify --mode $mode
    run 0 particles --dims 1000 --steps 2 --phase both --layers verify --mode $mode
    run 0 particles --dims 1000 --steps 2 --phase both --memory records --mode $mode
    run 0 frames --edge 12 --frames 3 --read yes --layers verify --mode $mode
    run 0 climate --columns 60 --levels 3 --records 2 --phase both --layers verify --mode $mode
    run 0 arrays --arrays 4 --steps 2 --rows 8 --columns 8 --process-rows 2 --mode $mode
done
run 0 amr
run 0 parts
run 0 checkpoint --mode async
tutti 2 run training -n 2 --backend adios2 "${here[@]}"
one_line "training is not possible on adios2, because every file of it is a directory"
no_data_left

# ---- overlap ----
run 0 stencil --size 256 --iterations 40 --write every=5 --mode async --json "$work/out.json"
jq -e '.metrics.hidden_fraction.value | numbers' out.json >/dev/null || fail "no hidden fraction"
equal "$(fact adios2.engine)" "BP5Writer, in effect"
equal "$(fact adios2.steps)" "8, in effect"
run 0 stencil --size 64 --iterations 20 --write every=5 --adios2.subfiles 2 --json "$work/out.json"
equal "$(fact adios2.subfiles)" "2, in effect"
# Memory is too fast for the probe. Where writing takes its time, it sees ADIOS2's own thread write, and dumps are submitted.
slow="rank=* call=write count=all match=/data. do=delay:0.03"
fault "$slow"
for ((i = 0; i < 5; i++)); do
    run 0 stencil --size 256 --iterations 40 --write "every=5,series=append" --mode async --json "$work/out.json"
    [ "$(jq -r .overlap.executor out.json)" != native ] || break
done
equal "$(jq -r .overlap.executor out.json)" native "overlap by ADIOS2's own thread: $(jq -c .overlap out.json)"
for shape in slab "runs --runs 30 --run-max 8"; do
    for series in append overwrite group; do
        # shellcheck disable=SC2086 # words
        run 0 pattern --mode async --series $series --selection $shape --variables 2 --blocks 2 --fixed 1 --reopen yes
    done
done
run 0 stencil --size 256 --iterations 40 --write every=5 --mode async --adios2.async off --json "$work/out.json"
equal "$(jq -r .overlap.executor out.json)" helper "overlap without ADIOS2's own thread"
fault "$slow; rank=1 call=write nth=9 match=/stencil/data. do=EIO"
run 1 stencil --size 256 --iterations 100 --write every=5 --mode async --patience 200
one_line "rank 1: .*Input/output error"
with=()
no_data_left

# ---- refused calls ----
for mode in sync async+bg; do
    for what in "rank=1 call=write nth=3 match=pattern/ do=EIO" "rank=0 call=write nth=3 match=md.idx do=EIO" \
        "rank=0 call=fsync nth=2 match=pattern/ do=EIO" "rank=1 call=open nth=1 match=data.0 do=EACCES" \
        "rank=1 call=close nth=1 match=pattern/data. do=EIO" "rank=0 call=write nth=3 match=mmd.0 do=ENOSPC" \
        "rank=0 call=close nth=1 match=md.idx do=EIO" "rank=0 call=mkdir nth=1 match=pattern do=EDQUOT"; do
        fault "$what"
        # Ranks that wait for one that has failed inside ADIOS2 would do so for longer than a command may take.
        run 1 pattern --patience 200 --series append --mode $mode
        one_line "rank [01]: [a-z0-9_]+ of '"
        [ -s hits ] || fail "not met: $what"
        no_data_left
    done
    fault "rank=* call=write nth=2 count=20 match=pattern/ do=short"
    run 0 pattern --series append --mode $mode --layers verify
    [ -s hits ] || fail "no write was short"
    fault "rank=1 call=write nth=3 match=pattern/ do=kill"
    run 1 pattern --series append --mode $mode
    one_line "rank 1 .*died"
    no_data_left
done
with=()

# ---- what a sync has acknowledged ----
rm -rf "$runs"
dumps=400
"$newer" run "$tree" tutti run stencil -n 2 --quiet "${here[@]}" --size 96 --iterations $dumps --baseline 0 --keep --compute 4ms \
    --backend adios2 --mode sync --write "every=1,series=append,path=$work/killed" >out 2>err &
pid=$! synced=0
while [ "${synced:-0}" -lt 40 ]; do
    kill -0 $pid 2>/dev/null || { cat err; fail "the run ended by itself"; }
    sleep 0.02
    synced=$(cat "$runs"/*/progress 2>/dev/null | cut -d ' ' -f 1) || true
done
kill_run
wait $pid 2>/dev/null || true
no_process_left
rm -f plain
tutti 0 run stencil -n 2 --quiet "${here[@]}" --size 96 --iterations "$synced" --baseline 0 --write "every=1,series=append,path=$work/plain" --keep
list killed
found=$(sed -n 's/^\/field f64 \([0-9]*\)\*.*/\1/p' list)
holds '$found >= $synced - 1' found="${found:-0}" synced="$synced"
for step in 0 $((synced / 2)) $((synced - 2)); do
    read_step killed /field $step
    cmp -n 73728 -i $((step * 73728)):0 plain step || fail "step $step of a killed run"
done
tutti 0 clean "$(grep -l killed "$runs"/*/manifest | xargs dirname)"
[ ! -e killed ] || fail "clean has left the directory of a killed run"

# ---- whose files ----
mkdir taken.bp && echo mine >taken.bp/md.idx
echo mine >taken.file
for path in taken.bp taken.file; do
    run 1 "${stencil[@]}" --write "every=3,path=$work/$path"
    one_line "'.*$path' exists"
done
equal "mine mine" "$(cat taken.bp/md.idx) $(cat taken.file)" "foreign files"
run 1 pattern --path "$work/taken.file" --phase read
one_line "taken.file.*Not a directory"
run 0 "${stencil[@]}" --write "every=3,path=$work/kept" --layers verify --keep
tutti 0 verify "$(last_run)"
run 1 "${stencil[@]}" --write "every=3,path=$work/kept"
one_line "'.*kept' exists"
tutti 0 clean "$(grep -l '/kept$' "$runs"/*/manifest | xargs dirname | xargs ls -td | tail -n 1)"
[ ! -e kept ] || fail "clean has left the directory"
rm -rf taken.bp taken.file

# ---- a full disk ----
for mode in sync async; do
    mount -t tmpfs -o size=4m tmpfs "$data"
    run 1 stencil --size 256 --iterations 40 --write every=5,series=append --mode $mode
    one_line "(No space left|do not fit|min-free)"
    no_data_left
    umount "$data"
done

# ---- keys ----
usage() { tutti 2 run pattern --backend adios2 "${here[@]}" "$2" "$3"; one_line "$1"; }
usage "unknown key 'adios2.agregation' \(did you mean 'adios2.aggregation'\?\)" --adios2.agregation shm
usage "unknown parameter 'Strip_Size' of BP5 \(did you mean 'StripeSize'\?\)" --adios2.parameters Strip_Size=4096
usage "'StripeSize' is not key=value" --adios2.parameters StripeSize
usage "give 'AsyncWrite' by adios2.async" --adios2.parameters AsyncWrite=on
usage "'BurstBufferPath' would put data into other files" --adios2.parameters BurstBufferPath=/tmp
run 1 pattern --adios2.parameters Threads=many
one_line "adios2_open of .*"
run 2 particles --dims 1000 --steps 1 --phase overwrite --path "$work/nothing"
one_line "overwrite is not possible on adios2, because it does not change a finished file"
no_data_left
equal "" "$(grep "$tree[./]" /proc/mounts)" "mounts left behind"
