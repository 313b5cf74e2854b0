# SPDX-License-Identifier: GPL-3.0-or-later
# What can go wrong with ensembles: wrong files, jobs that write garbage into their directories, a full results
# disk, directories of another version. One clear line each, the right status, nothing left, nothing averaged in.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq pgrep
ensemble=("$TUTTI" ensemble)
answer() { jq -e "$1" answer.json; }
file() { printf '%s\n' "$@" >wrong.yaml; }
wrong() { # PATTERN OPTION...: wrong.yaml is refused, before anything is made
    local pattern=$1
    shift
    usage "$pattern" "${ensemble[@]}" wrong.yaml "${here[@]}" "$@"
    [ ! -e "$runs" ] || fail "a directory was made for a file that was refused"
}
good='reference: {workload: stencil, size: 64, iterations: 20}'

# Files that make no sense.
file 'reference: {workload: stensil}'
wrong "reference: .*stensil"
file "$good" 'load: {workload: nothing}' 'others: [1]'
wrong 'load: .*nothing'
for others in -1 1x 1.5 '""' 100001 many; do
    file "$good" 'load: {same: reference}' "others: [$others]"
    wrong 'others'
done
for repeat in 0 -1 1x; do
    file "$good" 'others: [0]' "repeat: $repeat"
    wrong 'repeat'
done
file "$good" 'others: [1]'
wrong 'no load says what they do'
file 'load: {workload: stencil}'
wrong 'an ensemble needs a reference'
file "$good" 'load: {same: nobody}' 'others: [1]'
wrong "same: 'nobody' is not another job"
file "$good" 'lod: {same: reference}'
wrong "unknown key 'lod"
file "$good" 'load: {same: reference, workload: stencil}' 'others: [1]'
wrong 'either same or a workload'
file 'reference: {workload: stencil, command: [sleep, "1"]}'
wrong 'either a workload or a command'
file "$good" 'load: {same: reference, weight: 0}' 'others: [1]'
wrong 'weight must be above 0'
file 'reference: {workload: stencil, sise: 64}'
wrong 'sise'
file "$good" 'others: [0]' 'require: ["speed >= 3"]'
wrong "'speed >= 3'.*this is neither slowdown, variation nor a metric .*did you mean 'speedup'"
file "$good" 'others: [0]' 'require: ["slowdown <= 3"]'
wrong 'slowdown needs a number of others'
file "$good" 'others: [0'
expect 2 "${ensemble[@]}" wrong.yaml "${here[@]}"
one_line 'wrong.yaml:'
usage 'a matrix needs a set' "${ensemble[@]}" matrix <(echo 'others: [1]') "${here[@]}"
usage 'limit and require are about one' "${ensemble[@]}" matrix \
    <(printf '%s\n' 'set: {a: {workload: stencil}}' 'others: [1]' 'limit: 2') "${here[@]}"
expect 1 "${ensemble[@]}" --resume "$work/none"
one_line 'none/ensemble.json'

# A load that overwrites what is in its directory: the repetition is not used, and nothing else happens. It does
# its damage once; $directory is absolute and never empty.
cat >vandal <<'END'
#!/bin/bash
set -eu
for plan in "$RUNS"/ensemble-*/step1-run*/*/plan.json; do
    directory=${plan%/plan.json}
    [ -f "$plan" ] && [ ! -e "$directory/visited" ] && grep -q vandal "$plan" || continue
    touch "$directory/visited"
    eval "$DAMAGE"
done
sleep 0.05
END
chmod +x vandal
export RUNS=$runs DAMAGE
touch precious
precious=$work/precious
garbage() { # DAMAGE USED: how it is garbled, and whether the repetition can be used all the same
    DAMAGE=$1
    rm -rf "$runs"
    expect $((1 - $2)) "${ensemble[@]}" <(printf '%s\n' 'reference: {workload: stencil, size: 64, iterations: 200, work: 20}' \
        "load: {command: [$work/vandal]}" 'others: [1]' 'repeat: 1' 'alone: 1' 'loads_alone: no' 'warmup: 200ms') "${here[@]}" --json answer.json
    equal "$2" "$(answer '.steps[1].runs')" "runs beside a load that does: $1"
    # Each of three attempts has its run alone.
    equal $((3 - 2 * $2)) "$(answer '.steps[0].runs')" "runs alone"
    [ "$2" = 1 ] || answer '.steps[1].left_out[0].why | length > 0' >/dev/null
    ! grep -qiE 'assert|abort|sanitizer|segmentation' err out || fail "it crashed"
    [ -e "$precious" ] || fail "a file of the user is gone after: $1"
    no_process_left
    no_data_left
}
# shellcheck disable=SC2016
{
    garbage 'head -c 3000 /dev/urandom | tee "$directory"/records/*.ttr >/dev/null' 0
    garbage 'rm "$directory"/records/*.ttr' 0
    garbage 'head -c 100 /dev/urandom >"$directory/plan.json"' 0
    garbage 'rm "$directory/plan.json"' 0
    garbage 'mv "$directory" "$directory.away"' 0
    garbage 'echo garbage >"$directory/go"; echo garbage >"$directory/ready"' 1
    garbage 'head -c 500 /dev/urandom >"$directory/progress"; mkdir -p "$directory/result.json" "$directory/outcome.json"' 0
    garbage 'printf "%s/precious\nprecious\n" "$PWD" >"$directory/manifest"' 1
}

# A directory of a newer or an older tutti, and one that is none.
expect 0 "${ensemble[@]}" <(printf '%s\n' "$good" 'others: [0]' 'repeat: 1') "${here[@]}" --quiet
directory=$(last_run)
cp -r "$directory" newer
for format in "newer 99" "older 1"; do
    jq ".format = ${format#* }" "$directory/ensemble.json" >newer/ensemble.json
    for command in "--resume newer" "show newer"; do
        # shellcheck disable=SC2086
        expect 1 "${ensemble[@]}" $command
        one_line "newer/ensemble.json was made by an? ${format% *} tutti: it has format ${format#* }"
    done
done
head -c 300 /dev/urandom >newer/ensemble.json
expect 1 "${ensemble[@]}" --resume newer
one_line 'newer/ensemble.json'
cp "$directory/ensemble.json" newer
echo '{"point": 7}' >>newer/journal
expect 1 "${ensemble[@]}" --resume newer --quiet
one_line 'newer/journal:2: is not a repetition'
cp "$directory/journal" newer/journal
# Numbers that stand on older definitions are made again from records, but not continued, nor made up.
jq 'del(.definitions) | .jobs[0].runtime = 999' "$directory/step0-run1/repetition.json" >newer/step0-run1/repetition.json
expect 0 "${ensemble[@]}" show newer --json renewed.json
equal "$(jq '.jobs[0].runtime' "$directory/step0-run1/repetition.json")" "$(jq '.repetitions[0].jobs[0].runtime' renewed.json)" \
    "runtime that was made again"
expect 1 "${ensemble[@]}" --resume newer --quiet
one_line "newer' was begun under other definitions of its metrics, and cannot be continued"
rm newer/step0-run1/*/records/*.ttr
expect 1 "${ensemble[@]}" show newer
grep -q "not used: it was measured under older definitions, and '.*' has no records left" err || fail "$(cat err)"
rm newer/step0-run1/repetition.json
expect 1 "${ensemble[@]}" show newer
grep -q "not used: .*repetition.json" err || fail "$(cat err)"
grep -q "newer has no usable repetition" err || fail "$(cat err)"
