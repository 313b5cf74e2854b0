# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by every whole-program test. ctest gives $TUTTI (the binary), $SOURCE (the tree) and
# $RANKS (what starts ranks, up to their number), and in the release build $FAULTS (see faulty).
# A test runs in a private directory of its own, $work, which is removed at the end.
set -euo pipefail
: "${TUTTI:?the binary under test}" "${SOURCE:?the source tree}" "${RANKS:?the launcher}"

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIP: $*"; exit 77; }
needs() { # COMMAND...
    local c
    for c; do command -v "$c" >/dev/null || skip "needs $c"; done
}
needs_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
has_backend() {
    "$TUTTI" list backends | grep -w "^  $1" | grep -qv 'not in this build' || return
    [ "$1" != uring ] || kernel_has_uring
}
# Containers forbid it, and old kernels do not have it.
kernel_has_uring() {
    local why
    why=$("$TUTTI" run pattern -n 1 --dims 1 --backend uring "${here[@]}" 2>&1) || true
    [[ $why != *io_uring* ]]
}
needs_backend() { has_backend "$1" || skip "this build or this machine has no backend $1"; }

# Without what makes other tests start and end sooner (see tests/CMakeLists.txt).
mpi_as_users_have_it() {
    unset OMPI_MCA_pml OMPI_MCA_mpi_yield_when_idle OMPI_MCA_odls_base_sigkill_timeout
}

# For tests that compare whole files. Data sieving writes what its buffer happens to hold to places that nobody writes: gaps
# between runs, and NetCDF-4's variables that only name a dimension. Open MPI does it in synchronous runs.
unwritten_stays_empty() { export OMPI_MCA_fbtl_posix_write_datasieving=0; }

# Start the script again in a mount namespace of its own, so that its mounts die with it.
private_mounts() {
    [ -z "${PRIVATE_MOUNTS:-}" ] || return 0
    unshare -m true 2>/dev/null || skip "needs root, for a mount namespace"
    cd /
    rm -rf "$work"
    exec env PRIVATE_MOUNTS=yes unshare -m --propagation private bash "$script" "$@"
}

on_exit=()
finish() {
    local status=$? command
    set +e
    for command in "${on_exit[@]}"; do $command; done
    cd /
    rm -rf "$work"
    exit $status
}
trap 'echo "FAILED: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND" >&2' ERR
if [ -w /dev/shm ]; then tmp=/dev/shm; else tmp=${TMPDIR:-/tmp}; fi
work=$(mktemp -d "$tmp/tutti-test.XXXXXX")
trap finish EXIT
trap 'exit 143' TERM INT
script=$(realpath "$0")
data=$work/data runs=$work/runs
# Not one for all tests: Open MPI's launchers remove what others are about to use.
on_disk=${TMPDIR:-/tmp} # for what must not be in memory
export TMPDIR=$work/tmp
mkdir "$data" "$TMPDIR"
chmod 1777 "$TMPDIR" # as users have it
cd "$work"

# Options that keep a run inside $work; the test machine's disk may be as full as it likes.
here=(--dir "$data" --results "$runs" --min-free 0)

# expect STATUS COMMAND...: output in $work/out and $work/err. Nothing may take a minute.
expect() {
    local want=$1 status=0
    shift
    timeout -k 5 "${LIMIT:-60}" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    [ $status = "$want" ] && return 0
    echo "--- stdout"; tail -n 40 "$work/out"
    echo "--- stderr"; tail -n 40 "$work/err"
    [ $status != 124 ] || fail "hangs: $*"
    fail "status $status instead of $want: $*"
}
# The stderr of the last command is one line that matches the (extended) expression; what --mode
# means is said besides.
one_line() {
    local lines
    lines=$(grep -v '^tutti: --mode [a-z+]* is ' "$work/err") || true
    [ "$(wc -l <<<"$lines")" = 1 ] && grep -qE -- "$1" <<<"$lines" && return 0
    echo "--- stderr"; cat "$work/err"
    fail "expected one line like: $1"
}
# faulty FAULT COMMAND...: with a fault of the preloaded library ($SOURCE/tests/faults/faults.c); $work/hits has
# a line for each call that was hit.
faulty() {
    local fault=$1
    shift
    rm -f "$work/hits"
    env LD_PRELOAD="$FAULTS" TUTTI_FAULT="$fault" TUTTI_FAULT_LOG="$work/hits" "$@"
}
# usage PATTERN COMMAND...: wrong usage, status 2, one line, nothing on stdout.
usage() {
    local pattern=$1
    shift
    expect 2 "$@"
    one_line "$pattern"
    [ ! -s "$work/out" ] || fail "stdout is not empty"
}

# A Slurm of three nodes until the test ends.
slurm_up() {
    local status=0
    chmod 711 "$work" # munge and the daemons look into it
    "$SOURCE/testbed/slurm" up "$work/slurm" 2>why || status=$?
    [ $status != 77 ] || skip "$(cat why)"
    [ $status = 0 ] || fail "$(cat why)"
    on_exit+=("$SOURCE/testbed/slurm down $work/slurm")
    export SLURM_CONF=$work/slurm/slurm.conf
}

# What the kernel was asked: observe OPTIONS... COMMAND... The leak sanitizer does not work beside strace.
observe() { ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq "$@"; }

# "${ranks[@]}" N COMMAND...: under mpiexec itself, as a user would do it.
read -ra ranks <<<"$RANKS"

metric() { jq -e ".metrics.$1.value * 1" "${2:-$work/out.json}"; } # NAME [FILE]
slowest() { # PHASE: seconds of the slowest rank in each iteration, added up; what rates divide by
    jq --arg phase "$1_ns" '.samples | (.columns | [index("iteration", $phase)]) as [$i, $p] | [.ranks[].rows | map(select(.[-1] == 0)) |
        group_by(.[$i])[] | [.[0][$i], (map(.[$p]) | add)]] | group_by(.[0]) | map(map(.[1]) | max) | add / 1e9' "$work/out.json"
}
equal() { [ "$1" = "$2" ] || fail "${3:-values} differ: '$1' and '$2'"; }
holds() { # a condition on numbers in jq's language, with the numbers as arguments: '$a < $b' a=1 b=2
    local condition=$1 arguments=() pair
    shift
    for pair; do arguments+=(--argjson "${pair%%=*}" "${pair#*=}"); done
    [ "$(jq -n "${arguments[@]}" "$condition")" = true ] || fail "not true: $condition with $*"
}
# mpirun itself may return before its ranks have ended.
no_data_left() {
    local left i
    for ((i = 0; i < 100; i++)); do
        left=$(find "$data" -mindepth 1)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    [ -z "$left" ] || fail "data files left behind: $left"
}
# Until a run in the background has a data file of that size, as find has sizes: wait_for_data PID +1k
wait_for_data() {
    until [ -n "$(find "$data" -type f -size "$2")" ]; do
        kill -0 "$1" || { cat err; fail "the run ended by itself"; }
        sleep 0.1
    done
}
no_process_left() {
    local i
    for ((i = 0; i < 100; i++)); do
        pgrep -f "$runs" >/dev/null || return 0
        sleep 0.1
    done
    fail "processes left: $(pgrep -fa "$runs")"
}
# Ranks first: a launcher that ends lets them clean up. While the memory of a killed process goes, pgrep does not see it any more.
kill_run() {
    local pids pid i
    pids="$(pgrep -f -- "perform $runs" || true) $(pgrep -f -- "$runs" || true)"
    # shellcheck disable=SC2086 # words
    kill -9 $pids 2>/dev/null || true
    for pid in $pids; do
        for ((i = 0; i < 200; i++)); do
            [[ $(cat "/proc/$pid/stat" 2>/dev/null) =~ ')'\ [^Z] ]] || break
            sleep 0.05
        done
    done
}
# By time: names of runs that began in the same second say nothing about their order.
last_run() { find "$runs" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-; }
# perform_endlessly N DIRECTORY [OPTIONS...]: the plan of a finished run of N ranks again, until something was done, and
# then told to stop, as a driver does it. Its directory is $work/endless.
perform_endlessly() {
    local n=$1 i pid status=0 past=0
    rm -rf endless 20260101T000000Z-0000e0d1
    mkdir -p 20260101T000000Z-0000e0d1/records
    ln -s 20260101T000000Z-0000e0d1 endless
    cp "$2/plan.json" endless
    touch endless/{manifest,ready,go,stop}
    timeout -k 5 "${LIMIT:-60}" "${ranks[@]}" "$n" "$TUTTI" perform "$work/20260101T000000Z-0000e0d1" --loop "${@:3}" >out 2>err </dev/null &
    pid=$!
    for ((i = 0; i < 300 && ${past:-0} < ${iterations_wanted:-1}; i++)); do
        sleep 0.1
        past=$(cut -d ' ' -f 1 endless/progress 2>/dev/null) || true
    done
    printf '!' >>endless/stop
    wait $pid || status=$?
    [ $status = 0 ] && return 0
    tail -n 20 out err
    fail "status $status of a run that was told to stop"
}
