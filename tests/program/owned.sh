# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing foreign is deleted: whatever a path is called, and whatever stands there when a run ends or is cleaned up after.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq pgrep

job=(stencil --size 64 --iterations 4 --min-free 0 --quiet)
precious() { [ "$(cat "$1")" = mine ] || fail "$1 is not what it was"; }

newest() { (cd -- "$1" && ls -td 2* | head -n 1); } # its name only, which has no newline

# Names with every kind of byte, as the working directory, of data and of results.
mkdir names
cd names
for name in $'thesis\nx' $'thesis\n\t \x1b%\xff\xc3' '-thèsis%0A\n"'"'"'$(x)'; do
    mkdir -- "$name" "$name/data"
    echo mine >thesis
    cd -- "$name"
    run=("$TUTTI" run "${job[@]}" --dir data --results runs)
    expect 0 "${run[@]}" -n 2 --write every=2
    [ -z "$(ls data)" ] || fail "files are left in '$name'"
    expect 0 "${run[@]}" --write every=2,path=kept --layers verify --keep
    run=$PWD/runs/$(newest runs)
    expect 0 "$TUTTI" verify "runs/$(newest runs)"
    expect 0 "$TUTTI" show "$run"
    (cd / && expect 0 "$TUTTI" clean "$run")
    grep -q 'removed 1 data file$' "$work/out" || fail "said of '$name': $(cat "$work/out")"
    [ -z "$(ls data)" ] || fail "files are left in '$name'"
    cd ..
    precious thesis
    # The same as an absolute path in the plan.
    expect 0 "$TUTTI" run "${job[@]}" --dir="$PWD/$name/data" --results="$PWD/$name/runs" --write every=2 --keep
    expect 0 "$TUTTI" runs "$PWD/$name/runs"
    expect 0 "$TUTTI" index "$PWD/$name/runs"
    expect 0 "$TUTTI" export "$PWD/$name/runs" --json "$work/out.json" --csv "$work/out.csv"
    equal 3 "$(jq '.runs | length' "$work/out.json" 2>/dev/null || jq length "$work/out.json")" "exported runs in '$name'"
    expect 0 "$TUTTI" clean "$PWD/$name/runs/$(newest "$name/runs")"
    [ -z "$(ls "$PWD/$name/data")" ] || fail "files are left in '$name'"
    precious thesis
    rm -r -- thesis "./$name"
done
mkdir $'ensemble\n\xff'
cd $'ensemble\n\xff'
mkdir data
cat >job.yaml <<'YAML'
reference: {workload: stencil, size: 64, iterations: 4, write: {every: 2}}
others: [0]
repeat: 1
YAML
expect 0 "$TUTTI" ensemble job.yaml --dir data --results runs --min-free 0 --quiet
expect 0 "$TUTTI" ensemble --resume runs/ensemble-* --repeat 2 --quiet
equal 2 "$(wc -l <runs/ensemble-*/journal)" "repetitions after a resume"
[ -z "$(ls data)" ] || fail "an ensemble left files"
cd "$work"

# A directory that somebody sent: what it says of files and programs proves nothing.
forged() { # ID PATH...: a run directory with a manifest that lists these as made
    local id=$1 path
    shift
    rm -rf forged
    mkdir -p forged/records
    jq --arg id "$id" '.id = $id' "$kept/plan.json" >forged/plan.json
    for path; do
        set -- $(stat -c '%d %i %W' "$path")
        if [ -d "$path" ]; then kind=directory; else kind=file; fi
        printf 'claim %s 1 %s\nmade %s 1 %s %s 0 %s\n' $kind "$path" $kind "$1" "$2" "$path"
    done >forged/manifest
}
expect 0 "$TUTTI" run "${job[@]}" --dir "$data" --results "$runs" --write every=2 --layers verify --keep
kept=$(last_run)
mkdir tutti-thesis tutti-runs "tutti-$(basename "$kept")"
for directory in tutti-thesis tutti-runs "tutti-$(basename "$kept")"; do echo mine >"$directory/thesis"; done
for id in thesis runs '' .. 20261116T151448Z-0123ABCD; do
    forged "$id" "$work/tutti-thesis" "$work/tutti-thesis/thesis" "$work/tutti-runs/thesis"
    expect 1 "$TUTTI" clean forged
    one_line 'is not the id of a run'
    expect 1 "$TUTTI" show forged
    one_line 'is not the id of a run'
    precious tutti-thesis/thesis
    precious tutti-runs/thesis
done
forged thesis "$work/tutti-thesis/thesis" "$work/tutti-thesis"
cd names/ensemble*
ensemble=$(ls -d runs/ensemble-*)
mkdir "$ensemble/unfinished"
cp -r "$work/forged" "$ensemble/unfinished/job"
expect 0 "$TUTTI" ensemble --resume "$ensemble" --repeat 3 --quiet
cd "$work"
precious tutti-thesis/thesis
rm -r tutti-*
mkdir own
echo mine >own/thesis
forged "$(basename "$kept")" "$work/own/thesis" "$work/own"
expect 1 "$TUTTI" clean forged
one_line "is left alone"
precious own/thesis

# The plan of a copied directory starts nothing.
cp -r "$kept" copied
jq '.parameters += {"launch.by": "template", "launch.template": "touch,started,{command}", "launch.options": "--version"}' \
    "$kept/plan.json" >copied/plan.json
expect 0 "$TUTTI" verify copied
[ ! -e started ] || fail "verify ran a command of the directory"
usage 'verify takes a run directory, --module and the options --launch' "$TUTTI" verify copied --size 3
expect 0 "$TUTTI" verify copied --launch.by template --launch.template "${RANKS// /,},{ranks},{command}"
jq '.workload = "command" | .parameters = {"command.words": "touch,started"}' "$kept/plan.json" >copied/plan.json
: >copied/manifest
rm -r copied/records/*
usage 'hold takes a run directory, -- and a command' "$TUTTI" hold copied
[ ! -e started ] || fail "hold ran a command of the directory"
cat >touch.yaml <<'YAML'
reference: {command: [touch, started]}
others: [0]
repeat: 1
YAML
expect 0 "$TUTTI" ensemble touch.yaml "${here[@]}" --quiet
rm started
copy=$(ls -d "$runs"/ensemble-*)
usage 'reference.command says what is executed.*tutti ensemble FILE --resume' "$TUTTI" ensemble --resume "$copy" --repeat 2 --quiet
[ ! -e started ] || fail "a resumed ensemble ran a command of the directory"
expect 0 "$TUTTI" ensemble touch.yaml --resume "$copy" --repeat 2 --quiet
rm started
sed -i s/started/other/ touch.yaml
usage 'reference.command would change' "$TUTTI" ensemble touch.yaml --resume "$copy" --repeat 3 --quiet
expect 0 "$TUTTI" clean "$kept"
no_data_left

# Nor does its ledger say which files are read.
keep=("$TUTTI" run "${job[@]}" --dir "$data" --results "$runs" --write "every=2,path=$data/out" --layers verify --keep)
expect 0 "${keep[@]}"
if "${keep[@]}" 2>/dev/null; then # a file system with extended attributes: what tutti made is replaced
    cp "$data/out" moved
    mv moved "$data/out"
    expect 1 "$TUTTI" verify "$(last_run)"
    one_line "out' is not a file that run $(basename "$(last_run)") has made"
fi
rm "$data/out"
mkfifo "$data/out"
expect 1 "$TUTTI" verify "$(last_run)"
one_line "out' is not a file that run"
rm "$data/out"

# What cannot be removed is an error of its own, with its rank; it can be removed later.
if command -v strace >/dev/null; then
    status=0
    observe -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EIO "$TUTTI" run "${job[@]}" "${here[@]}" --write every=2 2>err || status=$?
    equal $status 1 "status of a run whose data cannot be removed"
    grep -q "^tutti: rank 0: unlink of '$data/.*': Input/output error" err || fail "said: $(cat err)"
    expect 0 "$TUTTI" clean "$(last_run)"
    no_data_left
fi

# What stands at a path is not what was made there.
endless=("$TUTTI" run stencil -n 2 --size 256 --iterations 100000000 --max-time 50s --quiet --min-free 0 --results "$runs")
during() { # COMMAND...: while a run writes; it is ended by a signal, and the line it leaves must match $1
    local line=$1 driver
    shift
    "${endless[@]}" "${options[@]}" >/dev/null 2>"$work/err" &
    driver=$!
    until [ -n "$(find "$data" -type f -size +1k)" ]; do
        kill -0 $driver || { cat "$work/err"; fail "the run ended by itself"; }
        sleep 0.1
    done
    "$@"
    sleep 0.2
    kill -TERM $driver
    wait $driver && fail "a run that was ended is called a success"
    no_process_left
    grep -qE -- "$line" "$work/err" || { cat "$work/err"; fail "no word of what is left"; }
}
replace_file() { mv "$data/out" "$work/moved"; echo mine >"$data/out"; }
options=(--write "every=100,path=$data/out" --dir "$data")
during "out' is left alone" replace_file
precious "$data/out"
rm "$data/out" "$work/moved"

replace_parent() { mv "$data/sub" "$work/moved"; mkdir "$data/sub"; echo mine >"$data/sub/out"; }
mkdir "$data/sub"
options=(--write "every=100,path=$data/sub/out" --dir "$data")
during "out' is left alone" replace_parent
precious "$data/sub/out"
rm -r "$data/sub" "$work/moved"

replace_data() {
    local own=("$data"/tutti-*)
    mv "${own[0]}" "$work/moved"
    mkdir "$work/theirs"
    for name in "$work/moved"/*; do echo mine >"$work/theirs/${name##*/}"; done
    if [ "$how" = link ]; then ln -s "$work/theirs" "${own[0]}"; else cp -r "$work/theirs" "${own[0]}"; fi
}
for how in link directory; do
    options=(--write every=100 --dir "$data")
    during "is left alone" replace_data
    for name in "$data"/tutti-*/* "$work/theirs"/*; do precious "$name"; done
    rm -r "$data"/tutti-* "$work/theirs" "$work/moved"
done

# A foreign entry in a tree stays, with what leads to it; the rest goes.
drop() { echo mine >"$data/tree/2/thesis"; mkdir "$data/tree/2024" "$data/tree/1/file.0.7"; }
foreign() {
    precious "$data/tree/2/thesis"
    equal "$(cd "$data/tree" && find . | sort | tr '\n' ' ')" ". ./1 ./1/file.0.7 ./2 ./2/thesis ./2024 " "what is left of the tree"
    rm -r "$data/tree"
}
tree=("$TUTTI" run metadata --quiet "${here[@]}" --path "$data/tree" --items 700 --branch 3 --depth 1 --remove no)
expect 0 "${tree[@]}" --keep
drop
expect 1 "$TUTTI" clean "$(last_run)"
one_line "tree/.* is left alone: it is not what this run made there"
foreign
"${tree[@]}" --items 1000000000 --max-time 50s 2>err & driver=$!
until [ -d "$data/tree/2" ] && [ -e "$data/tree/file.0.50" ]; do sleep 0.1; done
drop
kill -TERM $driver
wait $driver && fail "a run that was ended is called a success"
no_process_left
grep -q "is left alone: it is not what this run made there" err || { cat err; fail "no word of what is left"; }
foreign

# mdtest makes the directory of -d; what is left of it when everything was killed goes with tutti clean.
setsid "${ranks[@]}" 2 "$TUTTI" mdtest --results "$runs" --min-free 0 -d "$data/new" -n 100000000 -F >/dev/null 2>&1 & launcher=$!
until [ -n "$(find "$data/new" -name 'file.0.*' -print -quit 2>/dev/null)" ]; do sleep 0.1; done
kill -KILL -- -$launcher
wait $launcher 2>/dev/null || true
pkill -KILL -f "mdtest --results $runs" || true
no_process_left
expect 0 "$TUTTI" clean "$(last_run)"
no_data_left

# Names that an MPI library uses beside a file are not somebody's.
for backend in mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    echo mine >"$data/out.locktest.1"
    expect 1 "$TUTTI" run "${job[@]}" -n 2 --backend $backend --write "every=2,path=$data/out" --dir "$data" --results "$runs"
    one_line "out.locktest.1' exists: an MPI library makes and removes"
    precious "$data/out.locktest.1"
    rm "$data/out.locktest.1"
    expect 0 "$TUTTI" run "${job[@]}" -n 2 --backend $backend --write "every=2,path=$data/out" --dir "$data" --results "$runs" --keep
    : >"$data/out.locktest.0" # as a library that was killed leaves it
    expect 0 "$TUTTI" clean "$(last_run)"
    no_data_left
done

# ---- what an attacker tried ----
# A file that an MPI library would remove beside that of one process.
mkdir -p "$data/beside"
echo precious >"$data/beside/f.00000001.locktest.0"
expect 1 "$TUTTI" run bulk -n 2 --files process --paths "$data/beside/f" --backend mpiio --block 64k --transfer 64k "${here[@]}"
one_line "locktest.0' exists"
equal precious "$(cat "$data/beside/f.00000001.locktest.0")" "the file beside ours"
rm -r "$data/beside"
# No module is opened by what an ensemble's directory says.
cat >evil.c <<'END'
#include <fcntl.h>
__attribute__((constructor)) static void run(void) { open("pwned", O_CREAT | O_WRONLY, 0600); }
END
"$MPICC" -shared -fPIC -o evil.so evil.c
cat >small.yaml <<'END'
reference: {workload: stencil, ranks: 1, size: 32, iterations: 4}
others: [0]
repeat: 1
END
expect 0 "$TUTTI" ensemble small.yaml "${here[@]}" --quiet
ensemble=$(find "$runs" -maxdepth 1 -name 'ensemble-*' | head -n 1)
jq --arg f "$work/evil.so" '.settings += [["reference.module", $f, "x"], ["module", $f, "x"]]' "$ensemble/ensemble.json" >forged.json
cp forged.json "$ensemble/ensemble.json"
"$TUTTI" show "$ensemble" >out 2>err || true
"$TUTTI" ensemble --resume "$ensemble" >out 2>err || true
[ ! -e pwned ] || fail "a directory has opened a module"
# SQLite would delete what a journal beside the index names.
expect 0 "$TUTTI" runs "$runs"
: >"$runs/index.sqlite-journal"
"$TUTTI" runs "$runs" >out 2>err || true
grep -q "index.sqlite-journal' is not tutti's" err || fail "a foreign journal is believed: $(cat err)"
[ -e "$runs/index.sqlite-journal" ] || fail "a foreign journal is gone"
rm "$runs/index.sqlite-journal"
# Links in a directory lead to nothing that is shown.
expect 0 "$TUTTI" run stencil -n 1 --size 32 --iterations 4 --write every=2 "${here[@]}"
run=$(last_run)
echo "secret words" >secret
rm "$run"/{result,outcome}.json "$run"/records/*
ln -s "$work/secret" "$run/failure"
"$TUTTI" show "$run" >out 2>err || true
! grep -q "secret words" out err || fail "a link was followed"
# A copy takes the mark along, and is not ours.
expect 0 "$TUTTI" run stencil -n 1 --size 32 --iterations 4 --write every=2,path=out --keep "${here[@]}"
cp -a "$data/out" "$data/mine"
echo "my thesis" >"$data/mine"
expect 1 "$TUTTI" run stencil -n 1 --size 32 --iterations 4 --write every=2,path=mine "${here[@]}"
one_line "does not look like a file that tutti made"
equal "my thesis" "$(cat "$data/mine")" "a copy with our mark"
# A file that takes the place of ours while the ranks open it.
if [ -n "${FAULTS:-}" ]; then
    for backend in posix mpiio; do
        rm -f "$data"/{out,mine,swap}
        echo precious >"$data/mine"
        faulty "rank=1 call=open nth=1 match=$data/swap do=delay:1.5" "$TUTTI" run stencil -n 2 --size 32 --iterations 4 \
            --write every=2,path=swap --backend $backend "${here[@]}" >out 2>err &
        for ((i = 0; i < 100; i++)); do [ ! -e "$data/swap" ] || break; sleep 0.05; done
        mv "$data/mine" "$data/swap"
        wait $! && fail "a run on a replaced file is done"
        equal precious "$(cat "$data/swap")" "what was put in the place of our file ($backend)"
    done
    rm "$data/swap"
fi
# Names that a library takes for those of other files: it would truncate them.
mkdir ' blank' blank 'a\b' a a/b
for backend in mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    for name in ' blank' 'a\b'; do
        echo mine >blank/out
        echo mine >a/b/out
        status=0
        "$TUTTI" run "${job[@]}" --backend $backend --write every=2,path=out --dir "$name" --results "$runs" 2>err || status=$?
        precious blank/out
        precious a/b/out
        [ $backend != netcdf ] || { equal $status 1 "status of netcdf in '$name'"; one_line 'of another file'; }
        [ -z "$(ls "$name")" ] || fail "files are left in '$name'"
    done
done
