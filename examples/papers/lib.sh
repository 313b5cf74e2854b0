# SPDX-License-Identifier: GPL-3.0-or-later
# What the figures share. Sourced; each runs in a directory of its own with the testbed in it, and removes both.
#   REPEAT=2     repetitions of every step; six or more give intervals, fewer ranges
#   RESULTS=DIR  keeps the ensembles' directories there
#   TUTTI=FILE   the binary
set -euo pipefail
papers=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
testbed=$(realpath "$papers/../../testbed")
TUTTI=$(realpath "${TUTTI:-$papers/../../build/tutti}")
REPEAT=${REPEAT:-2}

say() { echo "$*" >&2; }
needs() { # COMMAND...
    local c
    for c; do command -v "$c" >/dev/null || { say "$(basename "$0"): needs $c"; exit 77; }; done
}

on_exit=()
finish() {
    local status=$? i
    set +e
    for ((i = ${#on_exit[@]} - 1; i >= 0; i--)); do ${on_exit[i]}; done
    cd /
    rm -rf "$work"
    exit $status
}
needs jq "$TUTTI"
work=$(mktemp -d)
results=$(realpath -m "${RESULTS:-$work/runs}")
trap finish EXIT
trap 'exit 143' TERM INT
cd "$work"

# ---- measuring ----

servers_up() { # N: as store
    on_exit+=("$testbed/servers down $work/store")
    "$testbed/servers" up "$1" 8M "$work/store"
}
servers_down() {
    "$testbed/servers" down "$work/store"
    unset 'on_exit[-1]'
}

file_system=ext4 # of the servers; btrfs compresses
network_up() { # OPTION...: net, a file system of host b, mounted on a as far, with the reader's files
    on_exit+=("$testbed/network down $work/net" "$testbed/servers down $work/store")
    "$testbed/network" up 2M net "$@"
    net/on b "$testbed/servers" up 1 200M store 10.77.1.2 $file_system
    mkdir store/files
    for i in {1..16}; do head -c 1M /dev/urandom >"store/files/$i"; done
    sync -f store
    net/on a "$testbed/servers" mount store far
}
network_down() {
    "$testbed/servers" down store
    "$testbed/network" down net
    unset 'on_exit[-1]' 'on_exit[-1]'
}

play() { # NAME [matrix] FILE OPTION...: the answer is in NAME.json
    local name=$1
    shift
    say "-- $name"
    "$TUTTI" ensemble "$@" --repeat "$REPEAT" --results "$results" --json "$name.json" >"$name.txt" ||
        { cat "$name.txt"; return 1; }
}

# A measured number is three words: value, low and high; the ends of the interval or, below six runs, of
# the range.
slowdown() { # NAME OTHERS [REFERENCE LOAD]
    jq -r --argjson n "$2" --arg reference "${3:-}" --arg load "${4:-}" '.steps[] | select(.others == $n and
        ($reference == "" or .reference == $reference) and ($load == "" or .loads[0] == $load)) | .slowdown |
        "\(.value) \(.low // .range[0]) \(.high // .range[1])"' "$1.json"
}
runtime() { # NAME OTHERS: in seconds
    jq -r --argjson n "$2" '.steps[] | select(.others == $n) | .runtime |
        "\(.median) \(.low // .values[0]) \(.high // .values[-1])"' "$1.json"
}
alone() { runtime "$1" 0; } # NAME
delay() { # NAME: seconds that one other adds
    awk '{ print $1 - $4, $2 - $6, $3 - $5 }' <<<"$(runtime "$1" 1) $(alone "$1")"
}
number() { echo "$1 $1 $1"; } # one that is known
ratio() { # NUMBER NUMBER
    awk '{ print $1 / $4, $2 / $6, $3 / $5 }' <<<"$1 $2"
}

contention() { # NAME OTHERS: what tutti says of the CPUs, if it does
    jq -r --argjson n "$2" '.steps[] | select(.others == $n) | .contention // empty' "$1.json"
}

# ---- saying ----

show() { awk '{ if ($2 == $3) printf "%.2f", $1; else printf "%.2f (%.2f to %.2f)", $1, $2, $3 }' <<<"$1"; }
row() { printf '%-42s %-10s %s\n' "$@"; }
header() { # TITLE
    echo
    echo "$1"
    if [ "$REPEAT" -ge 6 ]; then row '' paper 'measured (95 % interval)'; else row '' paper "measured (range of $REPEAT runs each)"; fi
}

# claim TEXT A OP B [WHY]: whether A is below (<) or above (>) B, as the paper says; WHY: what is different
# here. Numbers whose ranges overlap do not decide.
claim() {
    local verdict
    verdict=$(awk -v op="$3" '{
        if (op == ">") { split($4 " " $5 " " $6 " " $1 " " $2 " " $3, x) } else { split($0, x) }
        if (x[3] <= x[5]) print "reproduced"; else if (x[2] > x[6]) print "not reproduced"; else print "cannot tell" }' <<<"$2 $4")
    case $verdict in
    "not reproduced") verdict+=": $(show "$2") is not $3 $(show "$4")${5:+; $5}" ;;
    "cannot tell") verdict+=": $(show "$2") and $(show "$4") overlap; a larger REPEAT may tell" ;;
    *) verdict+=": $(show "$2") $3 $(show "$4")" ;;
    esac
    printf '%s\n    %s\n' "$1" "$verdict"
}

# What tutti says of CPUs: then a slowdown is not storage's or the network's.
cautions() {
    local file
    for file in *.json; do
        jq -r --arg name "${file%.json}" '.steps[] | select(.contention) |
            "caution, \($name) with \(.others) others: \(.contention)"' "$file"
        jq -r --arg name "${file%.json}" '.steps[] | .others as $n | .left_out[] |
            "caution, \($name) with \($n) others: a repetition is not used: \(.why)"' "$file"
    done
}
