# SPDX-License-Identifier: GPL-3.0-or-later
# In a tree of Debian 13 tutti builds without warnings, backend hdf5 conforms, also through a connector that works
# asynchronously, and connectors do what h5bench's file says. What the connector itself counts tells that it was used.
# timeout: 1500
# labels: testbed
. "$(dirname "$0")/lib.sh"
newer=$SOURCE/testbed/newer tree=$(dirname "$TUTTI")/newer
# /dev/shm is the same inside and outside, and so is $work then.
[ "$tmp" = /dev/shm ] || skip "needs /dev/shm"
status=0
"$newer" up "$tree" 2>why || status=$?
[ $status != 77 ] || skip "$(cat why)"
[ $status = 0 ] || fail "$(cat why)"

inside=("$newer" run "$tree" env HDF5_PLUGIN_PATH="$work/plugins")
with=() # more for the environment
mkdir plugins
cp "$SOURCE/tests/faults/connector.c" .
"${inside[@]}" sh -c "cd $work && mpicc -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC -o plugins/libcounting.so connector.c \
    \$(pkg-config --cflags --libs hdf5-openmpi)"
tutti() { # STATUS WORDS...
    local want=$1
    shift
    expect "$want" "${inside[@]}" "${with[@]}" tutti "$@" --dir "$data" --results "$runs" --min-free 0
}
fact() { jq -r --arg key "$1" '.facts[] | select(.key == $key) | .read_back + ", " + .proof' out.json; }
counted() { awk -F "[ =]" -v what="$1" '{ for (i = 1; i < NF; i += 2) if ($i == what) n += $(i + 1) } END { print n + 0 }' "$work/log"; }
passes="pass_through under_vol=0;under_info={}" counts="counting log=$work/log"
small=(run pattern -n 2 --backend hdf5 --json "$work/out.json")

# The native connector has no asynchronous calls: nothing is probed, and the helper overlaps.
tutti 0 "${small[@]}" --mode async
equal "$(jq -r '.overlap.executor + " " + (.overlap.probe_contiguous // "-")' out.json)" "helper -" "overlap without a connector"
equal "$(fact hdf5.vol)" "" "a connector that nobody asked for"

# Connectors by name, one of HDF5's own and one of ours; or from the environment.
tutti 0 "${small[@]}" --hdf5.vol "$passes"
equal "$(fact hdf5.vol)" "pass_through, in effect"
tutti 0 "${small[@]}" --hdf5.vol "$passes" --mode async
equal "$(jq -r '.overlap.executor' out.json)" helper "overlap through a connector that blocks"
grep -q 'before the call returned' <<<"$(jq -r '.overlap.probe_contiguous' out.json)" || fail "the probe says $(jq .overlap out.json)"
for how in given environment; do
    rm -f log
    if [ $how = given ]; then
        tutti 0 "${small[@]}" --hdf5.vol "$counts"
    else
        with=(HDF5_VOL_CONNECTOR="$counts")
        tutti 0 "${small[@]}"
        with=()
    fi
    equal "$(fact hdf5.vol)" "counting, in effect"
    equal "$(fact hdf5.vol.path)" "$work/plugins, unconfirmed"
    equal "$(fact hdf5.method)" "collective, in effect"
    # every rank: one file, its dumps and the reads that check them
    equal "$(counted creates) $(counted async)" "2 0"
    holds '$writes >= 2 and $reads >= 2' writes="$(counted writes)" reads="$(counted reads)"
done

# Event sets: the probe sees data leave, so dumps are submitted. A busy machine may be too slow for the probe.
for ((i = 0; i < 5; i++)); do
    rm -f log
    tutti 0 run stencil -n 2 --size 256 --iterations 40 --write every=5 --mode async --backend hdf5 --json "$work/out.json" \
        --hdf5.vol "$counts;async"
    [ "$(jq -r .overlap.executor out.json)" != native ] || break
done
equal "$(jq -r .overlap.executor out.json)" native "overlap by event sets: $(jq -c .overlap out.json)"
equal "$(fact hdf5.events)" "8 of 8 calls went on after they returned, in effect"
holds '$async >= 16' async="$(counted async)"
tutti 0 run bulk -n 2 --block 1m --transfer 64k --depth 4 --backend hdf5 --hdf5.method independent --json "$work/out.json" \
    --hdf5.vol "$counts;async"
grep -q 'by nonblocking calls' <<<"$(jq -r .overlap.transfers out.json)" || fail "streams: $(jq -c .overlap out.json)"

# What fails later is a failure, and what cannot be loaded is named.
tutti 1 run stencil -n 2 --size 256 --iterations 40 --write every=5 --mode async --backend hdf5 --hdf5.vol "$counts;async;fail"
one_line "H5Dwrite_async of '.*Input/output error"
tutti 1 "${small[@]}" --hdf5.vol "absent x=1"
one_line "no connector 'absent' can be loaded from '$work/plugins'; HDF5_PLUGIN_PATH"
tutti 1 "${small[@]}" --hdf5.vol "counting nonsense"
one_line "connector 'counting' does not take 'nonsense'"
with=(HDF5_VOL_CONNECTOR=absent)
tutti 0 "${small[@]}"
equal "$(fact hdf5.vol)" "native, no effect" "a connector that HDF5 silently does without"
with=()
no_data_left

# h5bench's file: its connector for MODE ASYNC only, its path and what it preloads.
particles='"file": "x.h5", "configuration": {"MEM_PATTERN": "CONTIG", "FILE_PATTERN": "CONTIG", "TIMESTEPS": "3", "DIM_1": "4 K"'
h5bench_file() { # VOL
    echo "{\"mpi\": {\"command\": \"mpirun\", \"ranks\": \"2\"}, \"vol\": {$1}, \"file-system\": {}, \"directory\": \"$data\", \"benchmarks\": [
        {\"benchmark\": \"write\", $particles, \"MODE\": \"SYNC\"}}, {\"benchmark\": \"write\", $particles, \"MODE\": \"ASYNC\"}}]}"
}
rm -f log
mkdir elsewhere
mv plugins/libcounting.so elsewhere
"${inside[@]}" cc -shared -fPIC -o "$work/marker.so" -x c - <<<'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void mark(void) { close(open("preloaded", O_CREAT | O_WRONLY, 0666)); }'
h5bench_file "\"path\": \"$work/elsewhere\", \"library\": \"$work/elsewhere\", \"preload\": \"$work/marker.so\",
    \"connector\": \"$counts;async\"" >job.json
expect 0 "${inside[@]}" sh -c "cd $work && exec tutti h5bench job.json --results $runs --min-free 0 --json all.json"
equal "$(jq -c '[.benchmarks[].result | [.facts[] | select(.key == "hdf5.vol") | .read_back]]' all.json)" '[[],["counting"]]' "connectors of h5bench"
holds '$n > 0' n="$(counted creates)"
[ -e preloaded ] || fail "nothing was preloaded"
h5bench_file "\"path\": \"$work/plugins\", \"connector\": \"async under_vol=0;under_info={}\"" >job.json
expect 1 "${inside[@]}" sh -c "cd $work && exec tutti h5bench job.json --results $runs --min-free 0 --quiet"
one_line "no connector 'async' can be loaded from '$work/plugins'"
mv elsewhere/libcounting.so plugins

# All shapes, layers and modes; then all shapes that a connector which works asynchronously is given. The factors are those of
# the copy in the tree.
conforms() { # CONNECTOR
    with=(HDF5_VOL_CONNECTOR="$1")
    LIMIT=600 expect 0 "${inside[@]}" "${with[@]}" ctest --test-dir build -R '^conformance.hdf5$' --output-on-failure
    grep -q '100% tests passed' out || fail "conformance with '$1': $(cat out)"
}
conforms native
rm -f log
printf '%s\n' '-stack none' 'mode async' >>"$tree/tutti/source/tests/conformance/hdf5.factors"
conforms "$counts;async"
holds '$async > 200' async="$(counted async)"
equal "" "$(grep "$tree[./]" /proc/mounts)" "mounts left behind"
