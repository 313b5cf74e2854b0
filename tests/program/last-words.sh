# SPDX-License-Identifier: GPL-3.0-or-later
# A launcher that cannot start the ranks, or dies: its own words are the error, whatever command launched it.
# labels: sanitize
. "$(dirname "$0")/lib.sh"
job=(stencil -n 2 --size 32 --iterations 4 --write every=2)
printf '%s\n' 'printf "=====\n\n  no slots\033[31m left\nask somebody\n" >&2' 'exit 3' >speaks
echo 'kill -9 $$' >dies

expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --set "launch.template=sh,$work/speaks,{ranks},{command}"
one_line "^tutti: no rank has started:   no slots\?\[31m left \("
expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --set "launch.template=sh,$work/dies,{ranks},{command}"
one_line "^tutti: the launcher was ended by signal 9 \(Killed\) \("

cat >one.yaml <<END
reference: {workload: stencil, size: 32, iterations: 4, ranks: 2, launch: {template: [sh, $work/dies, '{ranks}', '{command}']}}
load: {same: reference}
others: [0]
repeat: 1
END
expect 1 "$TUTTI" ensemble one.yaml "${here[@]}" --quiet
one_line "alone, the reference: the launcher was ended by signal 9 \(Killed\)"

# A launcher that is killed in the middle.
"$TUTTI" run "${job[@]}" --iterations 100000000 --work 100 "${here[@]}" --quiet >out 2>err &
pid=$!
until [ -n "$(pgrep -P $pid)" ] && ls "$runs"/*/progress >/dev/null 2>&1; do sleep 0.1; done
kill -9 "$(pgrep -P $pid | head -n 1)"
status=0
wait $pid || status=$?
equal 1 $status "status of a run whose launcher was killed"
one_line "the launcher was ended by signal 9 \(Killed\)"
no_data_left

# verify has no outcome but its launcher's.
expect 0 "$TUTTI" run "${job[@]}" "${here[@]}" --layers verify --keep
if mpirun --version | grep -q 'Open MPI'; then
    OMPI_MCA_plm=nonsense expect 1 "$TUTTI" verify "$(last_run)"
    one_line "^tutti: verifying has no outcome: [^(]*[A-Za-z].* \(more: "
fi
expect 0 "$TUTTI" verify "$(last_run)"
