# SPDX-License-Identifier: GPL-3.0-or-later
# Standard streams that are closed when the program begins: nothing that it opens takes their place, and what
# cannot be shown is no success.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq

cat >two.yaml <<'END'
reference: {workload: stencil, size: 32, iterations: 6, write: {every: 3}, backend: posix, ranks: 1}
load: {same: reference}
others: [0]
repeat: 2
END

# without STREAMS STATUS COMMAND...: with those of 0, 1 and 2 closed.
without() {
    local streams=$1 want=$2 status=0
    shift 2
    (
        exec </dev/null >"$work/out" 2>"$work/err"
        [[ $streams != *0* ]] || exec 0<&-
        [[ $streams != *1* ]] || exec 1>&-
        [[ $streams != *2* ]] || exec 2>&-
        exec timeout -k 5 "${LIMIT:-60}" "$@"
    ) || status=$?
    equal $status "$want" "status without $streams: $*"
}

for closed in 0 1 2 012; do
    unseen=0
    [[ $closed != *1* ]] || unseen=1 # the table

    rm -rf "$runs" answer.json
    without $closed $unseen "$TUTTI" ensemble two.yaml "${here[@]}" --json answer.json
    jq -e '.steps[0].runs == 2' answer.json >/dev/null || fail "repetitions are lost without $closed"
    directory=$(last_run)
    equal 2 "$(wc -l <"$directory/journal")" "lines of the journal without $closed"
    jq -s -e 'map(has("point")) | all' "$directory/journal" >/dev/null || fail "the journal is damaged without $closed"
    expect 0 "$TUTTI" show "$directory"
    expect 0 "$TUTTI" ensemble --resume "$directory"

    rm -rf "$runs" out.json
    without $closed $unseen "$TUTTI" run stencil -n 1 --size 32 --iterations 6 --write every=3 "${here[@]}" --json out.json
    jq -e .valid out.json >/dev/null || fail "the run without $closed is not valid"
    expect 0 "$TUTTI" show "$(last_run)"
    without $closed $unseen "$TUTTI" runs "$runs"
    expect 0 "$TUTTI" runs "$runs"
    equal 2 "$(wc -l <out)" "lines of the list"
    no_data_left
done

# Nothing was to be shown. A command has streams of its own.
without 012 0 "$TUTTI" run stencil -n 1 --size 32 --iterations 3 "${here[@]}" --quiet
without 012 0 "$TUTTI" run command --words 'sh,-c,echo said; echo so >&2' "${here[@]}" --quiet
equal said "$(cat "$(last_run)/stdout")" "stdout of a command"
equal so "$(cat "$(last_run)/stderr")" "stderr of a command"
# What fails is not hidden by a closed stderr.
without 2 1 "$TUTTI" show nowhere
without 1 1 "$TUTTI" show "$(last_run)" --json -
