#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The figures of speed, each a ratio inside one run, against its target: bench/run.sh BUILD [FIGURES...]
# What cannot be measured here (no root for the throttled device) says so. Status 1 if a target is missed.
#   bench/run.sh --names   the names of all figures
set -euo pipefail
all=(kernel computing large_dump particles hiding hiding_adios2 full_node asked_for tiny_runs logged discard memory content
    small_transfers transfers creates training counters measuring tracing starting a_million many_runs many_ranks simulated coverage
    analyses verdicts model auto_regret packing caching reports page gpu)
if [ "${1:-}" = --names ]; then
    printf '%s\n' "${all[@]}"
    exit
fi
source=$(realpath "$(dirname "$0")/..")
build=$(realpath "$1")
chosen=("${@:2}")
tutti=$build/tutti
work=$(mktemp -d "${TMPDIR:-/tmp}/tutti-bench.XXXXXX")
shm=$(mktemp -d /dev/shm/tutti-bench.XXXXXX)
disk=$work/disk
tree_disk=$build/newer/bench # of hiding_adios2
finish() {
    local each
    for each in "$disk" "$tree_disk"; do
        [ ! -e "$each.img" ] || "$source/testbed/throttled-disk" down "$each"
    done
    rm -rf "$work" "$shm"
}
trap finish EXIT
trap 'exit 130' INT TERM

cmake --build "$build" --target bench -j "$(nproc)" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
backends=$("$tutti" list backends | grep -owE '^ *(posix|mpiio|hdf5)')
missed=0

heading() { printf '%-58s %8s  %-9s %s\n' figure ratio target ok; }
row() { # FIGURE VALUE OPERATOR TARGET
    local ok=no
    if jq -en --argjson v "$2" --argjson t "$4" "\$v $3 \$t" >/dev/null; then ok=yes; else missed=1; fi
    printf '%-58s %8.3f  %-9s %s\n' "$1" "$2" "$3 $4" $ok
}
note() { printf '%-58s %s\n' "$1" "$2"; }
calculate() { # EXPRESSION NAME=NUMBER...
    local expression=$1 arguments=() pair
    shift
    for pair; do arguments+=(--argjson "${pair%%=*}" "${pair#*=}"); done
    jq -n "${arguments[@]}" "$expression"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
mapfile -t launcher <"$build/bench/launcher"
ranks() { "${launcher[@]}" 2 "$@"; }
n=2 # ranks of a run
run() { "$tutti" run "$@" -n "$n" --results "$work/runs" --min-free 0 --quiet --json "$work/out.json"; }
metric() { jq -e ".metrics.$1.value" "$work/out.json"; }

kernel() {
    ranks "$build/bench/bench_stencil_kernel" >"$work/kernel.json"
    row "2D 5-point: of the bound set by streaming copy" "$(jq .stream_ratio "$work/kernel.json")" '>=' 0.85
    row "sine: of a scalar libm loop" "$(jq .sine_ratio "$work/kernel.json")" '>=' 4
}

# What computation takes when it was asked for by time, of that time.
computing() {
    for _ in 1 2 3; do
        run stencil --size 1024 --iterations 60 --compute 20ms --dir "$shm"
        calculate '($t / 60 / 0.02 - 1) | fabs' t="$(jq .phases.compute.median "$work/out.json")" >>"$work/computing"
    done
    row "compute 20ms: how far from it, of it" "$(median <"$work/computing")" '<=' 0.1
}

# Rounds of all contenders in turn, so that drift hits them alike; the median of the ratios.
large_dump() {
    local size=8192 dumps=4 backend bare
    [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 6000000 ] || size=4096
    for _ in 1 2 3 4 5; do
        bare=$(ranks "$build/bench/bench_pwrite_loop" "$shm/bare" $((size * size * 4)) $dumps | jq .rate)
        rm "$shm/bare"
        for backend in $backends; do
            run stencil --size $size --iterations $dumps --write every=1 --backend "$backend" --dir "$shm"
            calculate '$rate / $bare' rate="$(metric write_rate)" bare="$bare" >>"$work/dump.$backend"
        done
    done
    for backend in $backends; do
        row "large dump to memory, $backend: of a bare pwrite loop" "$(median <"$work/dump.$backend")" '>=' 0.9
    done
}

# Computation per epoch is made about 1.6 times as long as the I/O by choosing the iterations between dumps.
# It is bound by the CPU: one bound by memory varies with what other machines on the same host do.
hiding_run() { # EVERY BACKEND
    # Independent I/O: ranks that wait for each other in collective calls need a core to wait on.
    run stencil --size 2048 --perturbation sine --iterations $(($1 * 13)) --write every="$1" \
        --mode async+bg --backend "$2" --baseline 2 --dir "$disk" \
        $([ "$2" = posix ] || echo "--$2.method independent")
    if ! jq -e '.metrics | .compute_only.value > .io_only.value' "$work/out.json" >/dev/null; then
        missed=1
        note "async+bg at 50 MiB/s, $2" "invalid: compute $(metric compute_only) s, I/O $(metric io_only) s"
    fi
    metric hidden_fraction >>"$work/hidden.$2"
    calculate '$e / $c' e="$(metric epoch_time)" c="$(metric compute_only)" >>"$work/epoch.$2"
    metric inflation >>"$work/inflation.$2"
}

hiding() { # [PLACE SIZE SECONDS]: of the device, if it is seen under another path than $disk; about what a dump takes
    local status=0 every backend round
    "$source/testbed/throttled-disk" up "${2:-512M}" 50M "${1:-$disk}" 2>"$work/why" || status=$?
    if [ $status -ne 0 ]; then
        note "async+bg on a throttled device" "not measured: $(cat "$work/why")"
        return
    fi
    # The fastest of three: what disturbs the measurement must not make the computation too short.
    for _ in 1 2 3; do
        run stencil --size 2048 --perturbation sine --iterations 100 --write every=0 --dir "$shm"
        metric runtime >>"$work/calibration"
    done
    every=$(calculate '1.6 * $io / ($t / 100) | ceil' io="${3:-0.64}" t="$(sort -g "$work/calibration" | head -n 1)")
    for round in 1 2 3; do
        for backend in $backends; do hiding_run "$every" "$backend"; done
    done
    for backend in $backends; do
        row "async+bg at 50 MiB/s, $backend: hidden fraction" "$(median <"$work/hidden.$backend")" '>=' 0.95
        row "async+bg at 50 MiB/s, $backend: epoch of max(compute, I/O)" "$(median <"$work/epoch.$backend")" \
            '<=' 1.05
        note "  $backend: hidden fraction in each round" "$(printf '%8.3f' $(<"$work/hidden.$backend"))"
        note "  $backend: inflation of the computation beside it" \
            "$(printf '%8.3f' "$(median <"$work/inflation.$backend")")"
    done
}

# The same by ADIOS2, in the tree of Debian 13 that make check-testbed leaves. Every dump adds to a BP5 file, and new pages
# take CPU time: one rank leaves a CPU to the thread that writes.
hiding_adios2() {
    local tree=$build/newer tutti=$work/inside work=$shm disk=/bench backends=adios2 n=1
    if [ ! -e "$tree/tutti/build/modules/backend_adios2.so" ]; then
        note "async+bg at 50 MiB/s, adios2" "not measured: testbed/newer up $tree makes a tree that has it"
        return
    fi
    printf '#!/bin/sh\nexec "%s" run "%s" tutti "$@"\n' "$source/testbed/newer" "$tree" >"$tutti"
    chmod +x "$tutti"
    hiding "$tree_disk" 1G 0.95 # every dump makes new pages and metadata
}

# As many ranks as CPUs, so that a helper has none of its own; in one run with enough epochs for an interval.
full_node() {
    local n backend said
    n=$(nproc)
    for backend in $backends; do
        "$tutti" run stencil -n "$n" --size "$(calculate '2048 * ($n | sqrt) | floor' n="$n")" --iterations 2000 \
            --write every=80 --mode async+bg --baseline 3 --backend "$backend" --dir "$work" --results "$work/runs" \
            --min-free 0 --quiet --json "$work/out.json"
        row "async+bg, $n ranks on $n CPUs, $backend: hidden fraction" "$(metric hidden_fraction)" '>=' 0.85
        said=$(jq -r 'if any(.warnings[].text; startswith("no CPU is free")) then "; the report says why" else "" end' "$work/out.json")
        note "  $backend: 95 % interval; speed-up over sync; inflation" "$(printf '%.2f to %.2f; %.2f; %.2f' \
            $(jq '.metrics | (.hidden_fraction_low, .hidden_fraction_high, .speedup, .inflation).value // 0' \
                "$work/out.json"))$said"
    done
}

# Runtime of as many measured epochs with and without baselines, of which 61 and 97 dumps have 10 and 16: where a device
# is the limit, which may rest in a baseline; where a throttle is, which sleeps; where computation is, which sleeps, too.
asked_for_run() { # KIND BASELINE
    local dumps=41 steps=65 options
    [ "$2" = 0 ] || dumps=61 steps=97
    case $1 in
    device) options=(stencil --size 1024 --iterations $((2 * dumps)) --write every=2 --dir "$disk") ;;
    throttle) options=(stencil --size 512 --iterations $((2 * dumps)) --write every=2 --layers throttle
        --throttle.rate 40m --dir "$shm") ;;
    computation) options=(particles --dims 16384 --steps $steps --compute 40ms --layers throttle --throttle.rate 40m
        --dir "$shm") ;;
    esac
    run "${options[@]}" --mode async+bg --baseline "$2"
    metric runtime
}

asked_for() {
    local round kind kinds=(throttle computation)
    if [ -e "$disk.img" ] || "$source/testbed/throttled-disk" up 512M 50M "$disk" 2>"$work/why"; then
        kinds+=(device)
    else
        note "with baselines, bound by a device" "not measured: $(cat "$work/why")"
    fi
    for round in 1 2 3 4 5; do
        for kind in "${kinds[@]}"; do
            calculate '$b / $a' a="$(asked_for_run "$kind" 0)" b="$(asked_for_run "$kind" 6)" >>"$work/asked.$kind"
        done
    done
    for kind in "${kinds[@]}"; do
        row "with baselines, bound by $kind: off the runtime without" \
            "$(median <"$work/asked.$kind" | jq '. - 1 | fabs')" '<=' 0.02
        note "  $kind: ratio in each round" "$(printf '%8.3f' $(<"$work/asked.$kind"))"
    done
}

# A climate model's record, whose largest variable a rank has in this many runs: with two ranks and the atmosphere's 72
# levels, a run of one element for every second column on each level.
climate_run() { # RUNS OPTIONS...
    run climate --case F --files h1 --columns $(($1 * 2 / 72)) --sync never --dir "$shm" "${@:2}"
}

# A rank's time that is not spent in the library below, and the memory that a run of elements takes beyond its data.
tiny_runs() {
    local backend libraries runs
    for backend in $backends $("$tutti" list backends | grep -owE '^ *pnetcdf'); do
        libraries=$([ ! -e "$build/modules/backend_$backend.so" ] || ldd "$build/modules/backend_$backend.so" |
            awk '/lib(hdf5|pnetcdf)/ { print $3 }')
        for _ in 1 2 3; do
            rm -f "$work/inside"
            LIBRARY_TIME=$work/inside LD_PRELOAD="$build/bench/bench_library_time.so $libraries" \
                climate_run 200000 --records 3 --backend "$backend"
            awk '{ share = 1 - $2 / $1; if (share > most) most = share } END { print most + 0 }' "$work/inside" >>"$work/inside.$backend"
        done
        row "200,000 tiny runs, $backend: time outside the library" "$(median <"$work/inside.$backend")" '<' 0.05
        for runs in 200000 400000 800000; do
            climate_run $runs --records 1 --backend "$backend"
            jq '.metrics | .peak_memory.value - .bytes_written.value / 2' "$work/out.json"
        done >"$work/memory.$backend"
        jq -n '[inputs] | [(.[1] - .[0]) / 200000, (.[2] - .[1]) / 400000]' "$work/memory.$backend" >"$work/per_run.json"
        # tutti's list has 16 bytes per run; libraries make lists of their own.
        if [ "$backend" = posix ]; then
            row "  posix: bytes of memory per run beyond its data" "$(jq '.[1]' "$work/per_run.json")" '<=' 32
        else
            note "  $backend: bytes of memory per run beyond its data" "$(printf '%8.1f' "$(jq '.[1]' "$work/per_run.json")")"
        fi
        row "  $backend: what further runs take, of what the first took" "$(jq '.[1] / .[0]' "$work/per_run.json")" '<=' 1.2
    done
}

# The atmosphere's history files as a log, and with every element at its place.
logged_rate() { # OPTIONS...
    "$tutti" run climate -n "$(nproc)" --case F --backend mpiio --mpiio.method collective --dir "$work" \
        --results "$work/runs" --min-free 0 --quiet --json "$work/out.json" "$@"
    metric open_to_close_rate
}

logged() {
    local placed
    for _ in 1 2 3; do
        placed=$(logged_rate)
        calculate '$log / $placed' placed="$placed" log="$(logged_rate --layers log)" >>"$work/logged"
    done
    row "F case, $(nproc) ranks, mpiio on $(df --output=fstype "$work" | tail -n 1): log of canonical" \
        "$(median <"$work/logged")" '>=' 5
    note "  in each round" "$(printf '%7.2f' $(<"$work/logged"))"
}

# Through the whole program, timing and counting included, over the whole runtime.
discard() {
    local blocks=65536 steps=100
    run pattern --backend discard --phase write --variables 1 --dims $((2 * blocks)) --blocks $blocks \
        --steps $steps --dir "$shm"
    row "discard: million writes/s per rank" \
        "$(calculate '$n / $t / 1e6' n=$((blocks * steps)) t="$(metric runtime)")" '>=' 1
}

# Records in memory to arrays in the file, of a step that has arrays in both; conversion counted.
particles_rate() { # OPTIONS...
    run particles --dims 2097152 --steps 4 --backend hdf5 --sync never --dir "$shm" "$@"
    metric application_rate
}

particles() {
    local plain who
    grep -q hdf5 <<<"$backends" || { note "particles through HDF5" "not measured: no backend hdf5"; return; }
    for _ in 1 2 3 4 5; do
        plain=$(particles_rate)
        for who in engine library; do
            calculate '$rate / $plain' plain="$plain" \
                rate="$(particles_rate --memory records --conversion $who)" >>"$work/particles.$who"
        done
    done
    row "particles, records to arrays, by tutti: of arrays to arrays" "$(median <"$work/particles.engine")" '>=' 0.7
    note "  by HDF5's own conversion" "$(printf '%8.3f' "$(median <"$work/particles.library")")"
}

content() {
    "$build/bench/bench_content" >"$work/content.json"
    row "random data made: of copying memory on a core" "$(jq .made "$work/content.json")" '>=' 0.5
    row "random data checked: of copying memory on a core" "$(jq .checked "$work/content.json")" '>=' 0.5
    row "a random order over 2^40 places: time of one over 2^20" "$(jq .order "$work/content.json")" '<=' 1.5
}

# One process, one file, the same depth, request and time; tutti's rate of that of fio.
fio_rate() { # RW SIZE DIRECT DEPTH
    rm -f "$work/fio.data"
    [[ $1 == *write ]] || cp --sparse=never "$work/seq.data" "$work/fio.data"
    fio --name=x --filename="$work/fio.data" --size=256m --rw="$1" --bs="$2" --direct="$3" --iodepth="$4" \
        --ioengine="$([ "$4" = 1 ] && echo psync || echo io_uring)" --fallocate=none --invalidate=0 --norandommap=0 \
        --output-format=json | jq '.jobs[0] | [.read.iops, .write.iops] | max'
    rm -f "$work/fio.data" # so that both write into memory that the kernel has just got back
}

bulk_rate() { # RW SIZE DIRECT DEPTH BACKEND
    local order=sequential rw=(--read no)
    [[ $1 != rand* ]] || order=random
    [[ $1 == *write ]] || rw=(--write no --paths "$work/seq.data" --cold no)
    "$tutti" run bulk --results "$work/runs" --dir "$work" --min-free 0 --quiet --json "$work/out.json" --backend "$5" \
        --block 256m --transfer "$2" --order $order --depth "$4" --sync never --data scatter "${rw[@]}" \
        --"$5".odirect "$([ "$3" = 1 ] && echo yes || echo no)"
    jq '.tables.accesses[0] | .transfers / .transfer' "$work/out.json"
}

transfers() {
    local rw size direct round backend=uring what
    "$tutti" list backends | grep -w '^  uring' | grep -qv 'not in this build' || backend=
    if [ -z "$backend" ] || ! command -v fio >/dev/null; then
        note "bulk of fio" "not measured: needs fio and backend uring"
        return
    fi
    head -c 256m /dev/urandom >"$work/seq.data"
    for round in 1 2 3; do
        for rw in randread randwrite read write; do
            for direct in 0 1; do
                size=4k
                [[ $rw == rand* ]] || size=1m
                calculate '$t / $f' f="$(fio_rate $rw $size $direct 16)" t="$(bulk_rate $rw $size $direct 16 uring)" \
                    >>"$work/fio.$rw.$direct"
            done
        done
        calculate '$d / $s' d="$(bulk_rate randread 4k 1 16 uring)" s="$(bulk_rate randread 4k 1 1 posix)" >>"$work/depth"
    done
    for rw in randread randwrite read write; do
        for direct in 0 1; do
            what=buffered
            [ $direct = 0 ] || what=direct
            row "bulk, uring, depth 16, $rw, $what: of fio" "$(median <"$work/fio.$rw.$direct")" '>=' 0.95
        done
    done
    row "bulk, direct random reads at depth 16: of one at a time" "$(median <"$work/depth")" '>' 1
    rm -f "$work"/*.data
}

# What a single transfer costs beside its system call: 4 KiB in memory, one process, against a bare loop.
small_transfers() {
    local what
    for _ in 1 2 3 4 5 6 7; do
        "${launcher[@]}" 1 "$build/bench/bench_pwrite_loop" "$shm/bare" $((128 << 20)) 1 4096 >"$work/bare.json"
        rm "$shm/bare"
        "$tutti" run bulk --block 128m --transfer 4k --data timestamp --files process --sync never --cold no \
            --results "$work/runs" --dir "$shm" --min-free 0 --quiet --json "$work/out.json"
        jq --slurpfile bare "$work/bare.json" '.tables.accesses[0] | .[2] / .[5] / $bare[0].rate' "$work/out.json" \
            >>"$work/small.write"
        jq --slurpfile bare "$work/bare.json" '.tables.accesses[1] | .[2] / .[5] / $bare[0].read_rate' "$work/out.json" \
            >>"$work/small.read"
    done
    for what in write read; do
        row "bulk, posix, 4 KiB in memory, $what: of a bare loop" "$(median <"$work/small.$what")" '>=' 0.7
    done
}

# Empty files of one process in one directory.
creates() {
    local n=100000 bare
    for _ in 1 2 3; do
        mkdir "$shm/creates"
        bare=$("$build/bench/bench_creates" "$shm/creates" $n)
        rm -rf "$shm/creates"
        "$tutti" run metadata --items $n --stat no --open no --results "$work/runs" --dir "$shm" --min-free 0 --quiet \
            --json "$work/out.json"
        calculate '$t / $b' t="$(metric create_rate)" b="$bare" >>"$work/creates"
    done
    row "metadata, files made: of a bare loop of system calls" "$(median <"$work/creates")" '>=' 0.95
}

# Samples of CosmoFlow's size in memory, read by one process, against a bare loop over the same files.
training() {
    local sizes=(--files 100 --size 2828486 --deviation 71311) bare
    for _ in 1 2 3 4 5; do
        "$tutti" run training "${sizes[@]}" --batch 1 --workers 0 --compute 0 --epochs 25 --cold no --results "$work/runs" --dir "$shm" \
            --path samples --keep --min-free 0 --quiet --json "$work/out.json"
        bare=$("$build/bench/bench_read_loop" "$shm/samples" 25)
        calculate '$t / $b' t="$(metric application_read_rate)" b="$bare" >>"$work/training"
    done
    rm -r "$shm/samples"
    row "training, samples of 2.8 MB: of a bare read loop" "$(median <"$work/training")" '>=' 0.95
}

# Beyond the two fields, and beyond what an MPI program that does nothing takes.
# The most that a rank of the run of that process had for itself, in bytes. Pages of libraries are there once for all
# ranks of a node, though the kernel counts them for each.
private_memory() { # PID
    local most=0 now rank
    while kill -0 "$1" 2>/dev/null; do
        for rank in $(pgrep -f "^[^ ]*tutti perform $work/runs"); do
            now=$(awk '/^Rss(Anon|Shmem):/ { sum += $2 } END { print sum * 1024 }' "/proc/$rank/status" 2>/dev/null) || continue
            [ "${now:-0}" -le $most ] || most=$now
        done
        sleep 0.05
    done
    [ $most -gt 0 ] || { echo "bench: no rank was seen" >&2; return 1; }
    echo $most
}

memory() {
    local bare backend size=2048 private
    bare=$(ranks "$build/bench/bench_pwrite_loop" "$shm/bare" 8 1 | jq .peak_memory)
    rm "$shm/bare"
    for backend in $backends; do
        run stencil --size $size --iterations 400 --write every=20 --backend "$backend" --dir "$shm" &
        private=$(private_memory $!)
        wait $!
        row "memory per rank beyond its field, $backend (MiB)" \
            "$(calculate '($p - $f) / 1048576' p="$private" f=$((size * size * 8)))" '<=' 16
        note "  $backend: resident with libraries, beyond a bare MPI program" "$(printf '%8.3f' "$(calculate \
            '($p - $bare - $f) / 1048576' p="$(metric peak_memory)" bare="$bare" f=$((size * size * 8)))")"
    done
}

# The collector's own account of its CPU time; fewer samples than asked for would be no saving.
counters() {
    local directory
    run stencil --size 1024 --perturbation sine --iterations 15000 --write every=50 --dir "$shm"
    directory=$(jq -r .directory "$work/out.json")
    row "counters at 10 Hz: share of a core" "$(jq '[.counters.hosts[].collector_cpus] | max' "$work/out.json")" '<' 0.01
    row "counters at 10 Hz: samples per 100 ms" "$(calculate '$n / $t / 10' \
        n="$(tail -n +2 "$directory"/counters/*.csv | wc -l)" t="$(metric runtime)")" '>=' 0.9
}

# Cost per event times events, and the counters, as a share of the time of the run that counters() made.
# Events: at most five phases in an iteration, and ten calls more in a dump.
measuring() {
    local iterations=15000 dumps=300
    mkdir "$shm/measuring"
    "$build/bench/bench_measuring" "$shm/measuring" >"$work/measuring.json"
    row "measuring: share of a run's time, counters included" "$(calculate \
        '($i * ($m.iteration_ns + 5 * $m.event_ns) + $d * 10 * $m.event_ns) / 1e9 / $t + $c' i=$iterations d=$dumps \
        m="$(<"$work/measuring.json")" t="$(metric runtime)" \
        c="$(jq '[.counters.hosts[].collector_cpus] | max' "$work/out.json")")" '<' 0.01
    note "  ns per event, and per iteration" \
        "$(printf '%8.0f %8.0f' $(jq '.event_ns, .iteration_ns' "$work/measuring.json"))"
}

# Requests of 4 KiB to memory, of which each is two spans; runs with and without a trace in turn.
tracing() {
    local round with without trace
    for round in {1..15}; do
        for trace in $([ $((round % 2)) = 0 ] && echo yes no || echo no yes); do
            run bulk --block 128m --transfer 4k --read no --trace $trace --dir "$shm"
            [ $trace = yes ] && with=$(metric runtime) || without=$(metric runtime)
        done
        calculate '$a / $b' a="$with" b="$without" >>"$work/tracing"
    done
    row "a trace of 4 KiB writes to memory: runtime with / without" "$(median <"$work/tracing")" '<=' 1.02
    note "  in each round" "$(printf '%7.3f' $(<"$work/tracing"))"
}

# Sixteen jobs that were ready, told to start at one instant.
starting() {
    local kind spread
    printf '%s\n' 'reference: {workload: stencil, size: 64, iterations: 50}' >"$work/stencil.yaml"
    printf '%s\n' 'reference: {command: [sleep, "0.3"]}' >"$work/command.yaml"
    for kind in stencil command; do
        printf '%s\n' 'load: {same: reference}' 'others: [15]' 'repeat: 5' 'start: together' >>"$work/$kind.yaml"
        "$tutti" ensemble "$work/$kind.yaml" --dir "$shm" --results "$work/runs" --min-free 0 --quiet \
            --json "$work/answer.json" || note "16 jobs, $kind" "some repetitions failed"
        spread=$(jq '[.repetitions[] | select(.others == 15 and .complete) | [.jobs[].start_ns] | (max - min) / 1e6]
            | sort | .[length / 2 | floor]' "$work/answer.json")
        row "16 local jobs ($kind): first to last start (ms)" "$spread" '<=' 20
    done
}

seconds_of() { # COMMAND...: the fastest of three
    local start
    for _ in 1 2 3; do
        start=$(date +%s.%N)
        "$@" >"$work/timed.out" || return
        calculate '$b - $a' a="$start" b="$(date +%s.%N)"
    done | sort -g | head -n 1
}

# Thirteen thousand runs, each with its parameters and metrics, of which two dozen are compared.
a_million() {
    local results=$shm/many label n=13000 id
    mkdir "$results"
    for label in rest a b one; do
        "$tutti" run stencil --size 64 --iterations 200 --write every=50 --label $label --dir "$shm" --results "$work/$label" \
            --min-free 0 --quiet
    done
    copies() { # LABEL FIRST LAST: tee writes many files at once
        local from at=$2 last
        from=$(echo "$work/$1"/*)
        for (( ; at <= $3; at += 500)); do
            last=$((at + 499 < $3 ? at + 499 : $3))
            (
                cd "$results"
                eval "mkdir run-{$at..$last}"
                eval "tee run-{$at..$last}/plan.json" <"$from/plan.json" >/dev/null
                eval "tee run-{$at..$last}/result.json" <"$from/result.json" >/dev/null
            )
        done
    }
    copies a 1 12
    copies b 13 24
    copies one 25 25
    copies rest 26 $n
    "$tutti" index "$results" >"$work/index.log"
    note "  values in the index" "$("$tutti" export "$results" --json - |
        jq '[.runs[] | (.parameters | length) + (.metrics | length)] | add')"
    ln -s "$results" "$work/tutti-runs"
    id=$(jq -r .id "$work"/one/*/plan.json)
    row "index of a million values: show (s)" "$(cd "$work" && seconds_of "$tutti" show "${id##*-}")" '<=' 1
    row "index of a million values: compare (s)" \
        "$(seconds_of "$tutti" compare label=a label=b --dir "$results")" '<=' 1
    rm -rf "$results"
    # And a single run with as many iterations.
    "$tutti" run stencil --size 8 --iterations 1000000 --write every=0 --dir "$shm" --results "$work/long" --min-free 0 --quiet
    row "a run of a million iterations: show (s)" "$(seconds_of "$tutti" show "$work"/long/*)" '<=' 1
}

# Five thousand runs: listed for the first time, and again.
many_runs() {
    local results=$shm/listed first
    "$tutti" run stencil -n 2 --size 64 --iterations 200 --write every=50 --dir "$shm" --results "$work/listed" \
        --min-free 0 --quiet
    first=$(echo "$work/listed"/*)
    mkdir "$results"
    (
        cd "$results"
        for at in {1..4501..500}; do
            eval "mkdir run-{$at..$((at + 499))}"
            eval "tee run-{$at..$((at + 499))}/plan.json" <"$first/plan.json" >/dev/null
            eval "tee run-{$at..$((at + 499))}/result.json" <"$first/result.json" >/dev/null
        done
    )
    anew() { rm -f "$results/index.sqlite" && "$tutti" runs "$results"; }
    row "5,000 runs: listed for the first time (s)" "$(seconds_of anew)" '<=' 2
    row "5,000 runs: listed again (s)" "$(seconds_of "$tutti" runs "$results")" '<=' 0.2
    rm -rf "$results"
}

# All on this machine; a rank may not cost more memory than in a job of two.
many_ranks() {
    local few
    run stencil --size 512 --iterations 4 --write every=2 --dir "$shm"
    few=$(metric peak_memory)
    "$tutti" run stencil -n 128 --size 512 --iterations 4 --write every=2 --dir "$shm" --results "$work/runs" \
        --min-free 0 --quiet --json "$work/out.json"
    row "128 ranks: memory per rank, of a rank of two" "$(calculate '$m / $f' m="$(metric peak_memory)" f="$few")" '<=' 1.2
}

# How often the interval of a median covers it, on simulated runs.
coverage() {
    "$build/bench/bench_coverage" >"$work/coverage.json" 2>/dev/null
    row "median's interval, 6 to 19 runs: least coverage" "$(jq .few.least "$work/coverage.json")" '>=' 0.93
    row "median's interval, from 20 runs: least coverage" "$(jq .many.least "$work/coverage.json")" '>=' 0.93
    row "median's interval, from 20 runs: most coverage" "$(jq .many.most "$work/coverage.json")" '<=' 0.97
}

# From the records on storage to the answer: 1,000 runs of two ranks and 500 frames.
analyses() {
    local results=$shm/analyzed
    "$tutti" run frames -n 2 --edge 4 --frames 4 --drop-first 0 --dir "$shm" --results "$work/analyzed" --min-free 0 --quiet
    mkdir "$results"
    "$build/bench/bench_make_runs" "$work/analyzed"/* "$results" 1000 2 500
    "$tutti" index "$results" >"$work/index.log"
    row "a million samples of 1,000 runs: analyzed (s)" "$(seconds_of "$tutti" analyze "$results")" '<' 1
    rm -rf "$results"
}

# 100,000 ranks of 1,000 iterations, made by the real writer from simulated ranks: 1,000 nodes of 100.
simulated() {
    local directory=$work/simulated
    mkdir "$directory"
    "$build/bench/bench_simulated" make "$directory" 1000 100 1000
    note "100,000 ranks x 1,000 iterations: on disk" "$(du -sm "$directory" | cut -f1) MB"
    "$build/bench/bench_simulated" look "$directory" >"$work/simulated.json"
    row "  attributed (s)" "$(jq .seconds "$work/simulated.json")" '<=' 60
    row "  memory for that, of 1 GiB" "$(jq '.bytes / 1073741824' "$work/simulated.json")" '<=' 1
    show_anew() { rm -f "$directory/result.json" && "$tutti" show "$directory"; }
    row "  shown for the first time (s)" "$(seconds_of show_anew)" '<=' 60
    rm -rf "$directory"
}

# Runtimes of short runs one after the other, as an ensemble takes them: all the same job.
verdicts() {
    printf '%s\n' 'reference: {workload: stencil, size: 128, iterations: 40000, work: 4}' 'others: [0]' 'cpus: 1' \
        'repeat: 96' >"$work/same.yaml"
    "$tutti" ensemble "$work/same.yaml" --dir "$shm" --results "$work/runs" --min-free 0 --quiet --json "$work/answer.json"
    jq '.repetitions[] | select(.complete) | .jobs[0].runtime' "$work/answer.json" |
        "$build/bench/bench_verdicts" >"$work/verdicts.json"
    row "A/A, groups of 12 drawn from real runs: called different" "$(jq .resampled "$work/verdicts.json")" '<=' 0.05
    row "10 % put upon one of two such groups: found" "$(jq .found "$work/verdicts.json")" '>' 0.5
    note "  interleaved fresh groups: pairs, called different" "$(jq -r '"\(.pairs)  \(.fresh)"' "$work/verdicts.json")"
}

# What auto adds to an epoch of 10 ms, and the fit that the model makes.
model() {
    ranks "$build/bench/bench_model" >"$work/model.json"
    row "model: fit to 100,000 runs (s)" "$(jq .fit "$work/model.json")" '<=' 0.2
    row "overlap auto: what it adds to an epoch of 10 ms, of it" "$(jq '.epoch_ns / 1e7' "$work/model.json")" '<' 0.005
    note "  ns per epoch" "$(printf '%8.0f' "$(jq .epoch_ns "$work/model.json")")"
}

# A store that is as slow as the computation, where overlap pays most, and one that takes no time, where it costs a copy.
# Computation sleeps, so that all modes have the same of it. All in turn, without baselines.
auto_run() { # KIND MODE
    local options=(--dims 65536 --pause 20ms --layers throttle --throttle.rate 200m)
    [ "$1" = throttle ] || options=(--dims 262144 --pause 5ms --backend discard)
    run particles --steps 100 --mode "$2" --baseline 0 --dir "$shm" "${options[@]}" 2>"$work/notices"
    metric runtime
}

auto_regret() {
    local kind
    for kind in throttle discard; do
        for _ in 1 2 3 4 5; do
            calculate '$auto / ([$sync, $async] | min)' auto="$(auto_run $kind auto)" sync="$(auto_run $kind sync+imm)" \
                async="$(auto_run $kind async+bg)" >>"$work/regret.$kind"
        done
        row "overlap auto, $kind: runtime of the better fixed mode" "$(median <"$work/regret.$kind")" '<=' 1.05
        note "  $kind: in each round" "$(printf '%7.3f' $(<"$work/regret.$kind"))"
    done
}

# The CPU time of layer compress, with its index and checksums, beside the library alone on the same bytes in the same blocks.
packing() {
    local options=(stencil --size 2048 --iterations 4 --perturbation sine --dir "$shm" --sync never --keep)
    run "${options[@]}" --write every=1,series=append,path="$shm/plain"
    for _ in 1 2 3 4 5; do
        run "${options[@]}" --write every=1,series=append,path="$shm/packed" --layers compress --compress.block 256k
        rm "$shm/packed"
        calculate '$bare / $layer' bare="$("$build/bench/bench_pack_loop" "$shm/plain" 262144)" \
            layer="$(jq '.layers[0].cpu_seconds' "$work/out.json")" >>"$work/packing"
    done
    rm "$shm/plain"
    row "layer compress, lz4: speed of the library per thread" "$(median <"$work/packing")" '>=' 0.9
}

# A report of half a million samples and a million spans, in a browser.
page() {
    local name ms
    [ -s "$build/page/report.html" ] && command -v chromium >/dev/null || { note "the page" "needs npm and chromium"; return; }
    PAGE=$build/page TMPDIR=$work node "$source/bench/page.mjs" >"$work/page"
    while read -r name ms; do
        case $name in
        open) note "a report of both: its first figure is there after (ms)" "$ms" ;;
        zoom) row "10^6 spans: slowest redraw of a zoom (ms)" "$ms" '<=' 50 ;;
        timeline) row "10^6 spans: redraw of the whole (ms)" "$ms" '<=' 50 ;;
        *) row "500,000 samples: redraw as $name (ms)" "$ms" '<=' 50 ;;
        esac
    done <"$work/page"
}

# The write calls and syncs of a dump into the cache, of one into the node's memory itself, while the target is ten times slower.
caching() {
    local options=(stencil --size 2048 --iterations 6 --compute 50ms --write every=1,series=append --dir "$shm") bare
    for _ in 1 2 3 4 5; do
        run "${options[@]}"
        bare=$(metric write_rate)
        run "${options[@]}" --layers cache,throttle --throttle.rate "$(calculate '$b / 10 | floor' b="$bare")" --cache.dir "$shm" --cache.size 4g \
            --cache.sync local
        calculate '$rate / $bare' rate="$(metric write_rate)" bare="$bare" >>"$work/caching"
    done
    row "dump into the cache, target ten times slower: of memory" "$(median <"$work/caching")" '>=' 0.9
}

# What a report costs that has very many numbers; what the page makes of it is bench/page.mjs's.
reports() {
    "$build/bench/bench_report" >"$work/reports.json"
    row "report of 500,000 samples: seconds to write" "$(jq .samples_seconds "$work/reports.json")" '<=' 5
    note "  its size" "$(jq -r '.samples_bytes / 1e6 | "\(.) MB"' "$work/reports.json")"
    row "report of a million spans: seconds to write" "$(jq .spans_seconds "$work/reports.json")" '<=' 10
    note "  its size" "$(jq -r '.spans_bytes / 1e6 | "\(.) MB"' "$work/reports.json")"
}

# A field on a GPU: its kernels of the device's own copy (16 bytes a point), data leaving it, and how much of that is hidden.
gpu_run() { "$tutti" run stencil --device cuda -n 1 --dir "$shm" --results "$work/runs" --min-free 0 --quiet --json "$work/out.json" "$@"; }
# Of the first dump by the tenth: what its caller waited for, its staging and its write.
first_of_tenth() { # FILE
    jq '[.traceEvents[] | select(.name == "copy" or .name == "io_stage" or .name == "write")]
        | group_by(.name) | map(sort_by(.ts)) | (map(.[0].dur) | add) / (map(.[9].dur) | add)' "$1"
}
of_copy() { calculate '$r * 16 / $c' r="$(metric update_rate)" c="$1"; }
gpu() {
    local copy pinned problem
    if ! "$build/bench/bench_device" cuda >"$work/device.json" 2>"$work/why"; then
        note "a field on a GPU" "not measured: $(cat "$work/why")"
        return
    fi
    copy=$(jq .copy "$work/device.json") pinned=$(jq .pinned_256 "$work/device.json")
    note "$(jq -r .name "$work/device.json"): copy on the device; to pinned, pageable memory (GB/s)" \
        "$(jq -r '[.copy, .pinned_256, .pageable] | map(. / 1e9 | round | tostring) | join("  ")' "$work/device.json")"
    gpu_run --size 16384 --iterations 3000 --residual 10
    row "2D 5-point, 16384^2, residual every tenth: of copy" "$(of_copy "$copy")" '>=' 0.9
    gpu_run --size 16384 --iterations 2000 --shape box
    note "2D 9-point, 16384^2: of copy" "$(printf '%8.3f' "$(of_copy "$copy")")"
    gpu_run --size 16384 --iterations 2000 --perturbation sine
    note "2D 5-point with sine, 16384^2: G updates/s" "$(printf '%8.1f' "$(calculate '$r / 1e9' r="$(metric update_rate)")")"
    row "2D 5-point with sine, 16384^2: of a plain kernel" \
        "$(calculate '$r / $p' r="$(metric update_rate)" p="$(jq .plain_sine "$work/device.json")")" '>=' 0.95
    gpu_run --size 640 --dims 3 --iterations 2000
    row "3D 7-point, 640^3: of copy" "$(of_copy "$copy")" '>=' 0.8
    row "pinned copies of 16 MiB, of those of 256 MiB" "$(jq '.pinned_16 / .pinned_256' "$work/device.json")" '>=' 0.95
    # Computation is longer than the dump, which goes to memory.
    gpu_run --size 8192 --iterations 1600 --compute 8 --write every=50 --mode async+bg --backend discard
    row "staging: of the device's own copy to pinned memory" "$(calculate '$r / $p' r="$(metric staging_rate)" p="$pinned")" '>=' 0.95
    gpu_run --size 1448 --iterations 4000 --compute 8 --write every=50 --mode async+bg --backend discard
    row "staging of 16 MiB: of the same copy" "$(calculate '$r / $p' r="$(metric staging_rate)" p="$pinned")" '>=' 0.95
    for _ in 1 2 3 4 5; do
        rm -rf "$work/traced"
        gpu_run --size 8192 --iterations 600 --compute 8 --write every=50 --mode async+bg --baseline 0 --backend discard --trace yes --results "$work/traced"
        "$tutti" export "$work/traced" --trace "$work/trace.json" >"$work/export.log"
        first_of_tenth "$work/trace.json" >>"$work/first"
    done
    row "the first dump: of the tenth" "$(median <"$work/first")" '<=' 1.1
    gpu_run --size 8192 --iterations 6400 --compute 8 --write every=200 --mode async+bg
    row "staging and write hidden beside longer computation" "$(metric hidden_fraction)" '>=' 0.95
    row "kernels beside staging: of those alone" "$(metric inflation)" '<=' 1.05
}

read -r load _ </proc/loadavg
if [ "${load%.*}" -ge 1 ]; then
    echo "bench: the machine is busy (load $load): these figures may be wrong" >&2
fi
[ ${#chosen[@]} -gt 0 ] || chosen=("${all[@]}")
for figure in "${chosen[@]}"; do
    [[ " ${all[*]} " == *" $figure "* ]] || { echo "bench: '$figure' is none of ${all[*]}" >&2; exit 2; }
done
heading
for figure in "${chosen[@]}"; do $figure; done
exit $missed
