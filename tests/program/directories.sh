# SPDX-License-Identifier: GPL-3.0-or-later
# Data directories that are missing, closed or read-only, and files that are not ours.
# processors: 1
# timeout: 240
. "$(dirname "$0")/lib.sh"
private_mounts "$@"
job=(stencil -n 2 --size 64 --iterations 10 --results "$runs" --min-free 0)

expect 1 "$TUTTI" run "${job[@]}" --write every=5 --dir "$work/nowhere"
one_line "nowhere.*does not exist"

mkdir locked other
touch locked/mine
if [ "$(id -u)" = 0 ]; then
    # As somebody who may not write here, with results where they may.
    chmod 755 "$work"
    chown 65534 other
    expect 1 setpriv --reuid 65534 --regid 65534 --clear-groups \
        "$TUTTI" run "${job[@]}" --results "$work/other" --write every=5 --dir "$work/locked"
    one_line "locked.*Permission denied|Permission denied.*locked"
    mkdir readonly
    mount -t tmpfs -o size=1m tmpfs readonly
    on_exit+=("umount $work/readonly")
    mount -o remount,ro readonly
    expect 1 "$TUTTI" run "${job[@]}" --write every=5 --dir "$work/readonly"
    one_line "readonly.*Read-only file system|Read-only file system.*readonly"
fi

# A file that another program made is never touched.
for backend in posix mpiio hdf5; do
    "$TUTTI" list backends | grep -qw $backend || continue
    echo "somebody's thesis" >"$data/foreign"
    expect 1 "$TUTTI" run "${job[@]}" --dir "$data" --backend $backend --write "every=5,path=$data/foreign"
    one_line "foreign.*exist"
    equal "somebody's thesis" "$(cat "$data/foreign")" "the foreign file"
    rm "$data/foreign"
    no_data_left
done

# A directory that claims somebody's file as its own deletes nothing, by whatever command.
expect 0 "$TUTTI" run "${job[@]}" --dir "$data" --write every=5
directory=$(last_run)
echo "somebody's thesis" >"$data/thesis"
echo "$data/thesis" >"$directory/manifest"
expect 0 "$TUTTI" show "$directory"
usage "performed already" "$TUTTI" perform "$directory"
mkdir -p stranger/verify
echo 1 >stranger/verify/outcome.json
expect 1 "$TUTTI" verify stranger
[ -f "$data/thesis" ] && [ -f stranger/verify/outcome.json ] || fail "a foreign file was deleted"
rm "$data/thesis"

# Nor does a directory with links in it let anything be written elsewhere, or more ranks be started.
expect 0 "$TUTTI" run "${job[@]}" --dir "$data" --write every=5,path="$data/kept" --layers verify --keep
directory=$(last_run)
echo "somebody's thesis" >thesis
ln -s "$work/thesis" "$directory/result.json.part"
rm "$directory/result.json"
expect 0 "$TUTTI" show "$directory"
ln -sf "$work/thesis" "$directory/verify/stderr"
ln -f "$work/thesis" "$directory/verify/stdout"
expect 0 "$TUTTI" verify "$directory"
equal "somebody's thesis" "$(cat "$work/thesis")" "a linked file"
mkfifo "$directory/verify/00001-0.ttv"
expect 1 "$TUTTI" verify "$directory"
one_line "not a plain file"
sed -i 's/"ranks": "2"/"ranks": "60"/' "$directory/plan.json"
expect 1 "$TUTTI" verify "$directory"
one_line "no records of rank 59"
equal "somebody's thesis" "$(cat thesis)" "the foreign file"
rm "$data/kept"

# A place of results of any length.
long=$work/$(printf '%0200d' 1)/$(printf '%0200d' 2)/$(printf '%0200d' 3)
mkdir -p "$long"
expect 0 "$TUTTI" run "${job[@]}" --results "$long" --dir "$data" --write every=5

# Data directories of any length, but where Open MPI's own MPI-IO has no room for it; one that fits is taken.
long=$work/$(printf '%0200d' 5)
deep=$long/$(printf '%0200d' 2)/$(printf '%0200d' 3)
mkdir -p "$deep"
expect 0 "$TUTTI" run "${job[@]}" --dir "$deep" --write every=5 --backend posix
for backend in mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    room=$((256 - 1 - 11 - ${#long} - 1))
    expect 0 "$TUTTI" run "${job[@]}" --dir "$long" --backend $backend --write every=5,path="$long/$(printf "%0${room}d" 4)"
    mpirun --version | grep -q 'Open MPI' || continue
    expect 1 "$TUTTI" run "${job[@]}" --dir "$long" --backend $backend \
        --write every=5,path="$long/$(printf "%0$((room + 1))d" 4)"
    one_line "at most 244 characters, and this one has 245; .*0004' \("
    expect 1 "$TUTTI" run "${job[@]}" --dir "$deep" --backend $backend --write every=5
    one_line "at most 244 characters"
done
[ -z "$(find "$long" -type f)" ] || fail "data left in a long directory"

# Results that somebody removes during the run: an error, and still no data left.
"$TUTTI" run "${job[@]}" --results gone --dir "$data" --iterations 100000000 --max-time 5s \
    --write every=100,files=process >out 2>err &
driver=$!
wait_for_data $driver +1k
rm -rf gone
status=0
wait $driver || status=$?
equal 1 $status "status"
one_line "gone/"
no_data_left

# What a library would wait for or in for ever is not a file to read from.
mkfifo pipe
for backend in posix mpiio hdf5; do
    "$TUTTI" list backends | grep -qw $backend || continue
    for source in pipe other; do
        expect 1 "$TUTTI" run "${job[@]}" --dir "$data" --backend $backend --write every=5 \
            --read "every=5,path=$work/$source"
        one_line "'$work/$source' is a (pipe|directory)"
    done
done

# PnetCDF and ROMIO open what stands behind a ':', whoever's it is.
echo precious >foreign
for backend in mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    expect 1 "$TUTTI" run "${job[@]}" --dir "$data" --backend $backend --write every=5,path=ufs:foreign
    one_line "without ':'"
    equal precious "$(cat foreign)" "the foreign file"
done

# A result of an older tutti is made again; a run directory of one is refused in one line.
expect 0 "$TUTTI" run "${job[@]}" --dir "$data" --write every=5
directory=$(last_run)
jq '.tutti.format = 1 | .metrics = {}' "$directory/result.json" >old.json
mv old.json "$directory/result.json"
expect 0 "$TUTTI" show "$directory" --json out.json
jq -e '.metrics.runtime.value > 0' out.json >/dev/null || fail "an old result was shown as it is"
jq 'del(.format) | .version = 1' "$directory/plan.json" >old.json
mv old.json "$directory/plan.json"
rm "$directory/result.json"
expect 1 "$TUTTI" show "$directory"
one_line "plan.json was made by an older tutti: it has format 0, and this one reads 2"
