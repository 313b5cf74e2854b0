# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh BACKEND [NUMBER]: the covering runs of one backend, or only one of them. Each writes, reads back and
# checks every byte, also in the memory between. DEVICE=cuda: with all data in a GPU's memory (make check-gpu). DEVICE=shadow, the
# tests' own device: only the factors of device.factors, which change what is done for a device.
# Sourced from the whole-program tests: a private directory, expect, skip.
. "$(dirname "$0")/../program/lib.sh"
backend=$1 only=${2:-}
needs awk
needs_backend "$backend"
suite=$SOURCE/tests/conformance
device=()
if [ -n "${DEVICE:-}" ]; then
    device=(--device "$DEVICE")
    if ! "$TUTTI" run pattern -n 1 --dims 8 "${here[@]}" "${device[@]}" >out 2>err; then
        [ "$DEVICE" != shadow ] && grep -q 'cannot be opened\|sees no device\|not NVRTC' err && skip "$(cat err)"
        fail "$(cat err)"
    fi
fi
zfp=zfp # where this build has it
"$TUTTI" info --build | grep -qw zfp || zfp=lz4

# A factor of the backend's own file takes the place of the common one.
factors() {
    local own=$suite/$backend.factors
    if [ "${DEVICE:-}" = shadow ]; then
        cat "$suite/device.factors"
        return
    fi
    [ -e "$own" ] || own=/dev/null
    awk '/^#/ || !NF { next } FNR == NR { own[$1]; print; next } !($1 in own)' "$own" "$suite/factors"
}

layers() { # STACK
    case $1 in
    none) ;;
    throttle) echo --layers throttle --throttle.rate 400m --throttle.buffer 64k --throttle.ops 20000 ;;
    *cache*) cache "$1" ;;
    *subfile) subfile "$1" ;;
    verify,log) echo --layers "$1" --log.segment 4k ;;
    verify,compress) echo --layers "$1" --compress.codec zstd --compress.block 1k --compress.threads 2 ;;
    verify,zfp) echo --layers verify,compress --compress.codec "$zfp" --compress.block 1k ;;
    verify,interrupted,log) echo --layers verify,fault,log --fault.rate 0.5 --fault.action eintr ;;
    verify,short-writes,compress) echo --layers verify,fault,compress --fault.rate 0.5 --fault.action short ;;
    *align) echo --layers "$1" --align.size 4k ;;
    verify,interrupted) echo --layers verify,fault --fault.rate 0.5 --fault.action eintr ;;
    verify,short-writes) echo --layers verify,fault --fault.rate 0.5 --fault.action short ;;
    verify,short-reads) echo --layers verify,fault --fault.call read --fault.rate 0.5 --fault.action short ;;
    *) echo --layers "$1" ;;
    esac
}

# In the data directory, where nothing may be left. The small one has room for some of what two ranks write, the returning one
# closes files later.
cache() { # STACK
    local options=(--cache.dir "$data") stack=$1
    case $1 in
    *small-cache*) options+=(--cache.size 40k) ;;
    *local-cache*) options+=(--cache.sync local --cache.size 100k) ;;
    *returning-cache*) options+=(--cache.close return) ;;
    esac
    stack=${stack/small-cache/cache} stack=${stack/local-cache/cache} stack=${stack/returning-cache/cache}
    case $stack in
    *subfile) echo "${options[@]}" "$(subfile "$stack")" ;;
    *short-writes*) echo --layers "${stack/short-writes/fault}" --fault.rate 0.5 --fault.action short "${options[@]}" ;;
    *) echo --layers "$stack" "${options[@]}" ;;
    esac
}

# Small stripes over more files than two ranks; on the way, other layers as above.
subfile() { # STACK
    local options=(--subfile.count 3 --subfile.stripe 1k)
    case $1 in
    *log*) options+=(--log.segment 4k) ;;
    *compress*) options+=(--compress.codec zstd --compress.block 1k) ;;
    *align*) options+=(--align.size 512) ;;
    *short-writes*) options+=(--fault.rate 0.5 --fault.action short) ;;
    esac
    echo --layers "${1/short-writes/fault}" "${options[@]}"
}

method() { # HOW
    case $1 in
    filtered) echo --hdf5.method collective --hdf5.filter shuffle,deflate:1,fletcher32 ;;
    *) echo --hdf5.method "$1" ;;
    esac
}

selection() { # KIND
    case $1 in
    many) echo --selection runs --runs 200000 --run-max 8 --order shuffled ;;
    sorted | shuffled) echo --selection runs --runs 30 --run-max 8 --order "$1" ;;
    *) echo --selection "$1" ;;
    esac
}

reading() { # HOW FILES
    case $1:$2 in
    shift:shared) echo --reopen yes --shift yes ;;
    shift:process | reopen:*) echo --reopen yes ;;
    prefetch:*) echo --reopen yes --prefetch yes ;;
    later:*) echo --path "$data/later" ;;
    esac
}

# Words of a run: one factor a word, to the options of tutti.
run_case() { # FACTOR=VALUE...
    local word options=() n=1 how=open files=shared
    for word; do
        [ "${word%%=*}" != files ] || files=${word#*=}
    done
    for word; do
        local key=${word%%=*} value=${word#*=}
        case $key in
        -ranks) n=$value ;;
        -stack) options+=($(layers "$value")) ;;
        -selection) options+=($(selection "$value")) ;;
        -method) options+=($(method "$value")) ;;
        -variables) options+=(--variables "${value%:*}" --fixed "${value#*:}") ;;
        -read) how=$value options+=($(reading "$value" "$files")) ;;
        *) options+=("--$key" "$value") ;;
        esac
    done
    # random calls that fail differ from run to run, but not their seed
    options+=("${here[@]}" --seed 11 --quiet --backend "$backend" "${device[@]}")
    if [ "$how" = later ]; then
        expect 0 "${ranks[@]}" "$n" "$TUTTI" run pattern "${options[@]}" --phase write --keep
        expect 0 "${ranks[@]}" "$n" "$TUTTI" run pattern "${options[@]}" --phase read
        rm -rf "$data"/later*
    else
        expect 0 "${ranks[@]}" "$n" "$TUTTI" run pattern "${options[@]}"
    fi
    no_data_left
}

factors | awk -f "$suite/cover.awk" >cases
# What a climate model does: a hundred thousand tiny runs per rank and more.
echo "-ranks=2 -selection=many dims=4000000 element=f32 memory=scattered -variables=1:0 steps=1" >>cases
total=$(wc -l <cases) number=0 failed=0
while read -r case <&3; do
    number=$((number + 1))
    [ -z "$only" ] || [ "$only" = $number ] || continue
    # shellcheck disable=SC2086 # words
    if (trap - EXIT ERR; run_case $case) >log 2>&1; then
        continue
    fi
    failed=$((failed + 1))
    echo "--- case $number: $case"
    cat log
    rm -rf "$data" && mkdir "$data"
done 3<cases
echo "$total runs on $backend${DEVICE:+ with device $DEVICE}, $failed failed"
[ $failed = 0 ]
