# SPDX-License-Identifier: GPL-3.0-or-later
# A launcher that cannot start the ranks, or dies: its own words are the error, whatever command launched it.
# labels: sanitize
# processors: 1
. "$(dirname "$0")/lib.sh"
job=(stencil -n 2 --size 32 --iterations 4 --write every=2)
printf '%s\n' 'printf "=====\n\n  no slots\033[31m left\nask somebody\n" >&2' 'exit 3' >speaks
echo 'kill -9 $$' >dies

expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --set "launch.template=sh,$work/speaks,{ranks},{command}"
one_line "^tutti: no rank has started:   no slots\?\[31m left \("
expect 1 "$TUTTI" run "${job[@]}" "${here[@]}" --set "launch.template=sh,$work/dies,{ranks},{command}"
one_line "^tutti: the launcher was ended by signal 9 \(Killed\) \("
# MPI itself does not come up on the ranks: that is told when the launcher ends, and not after launch.start_timeout.
if [[ $("${ranks[0]}" --version 2>&1) == *Open*MPI* || $("${ranks[0]}" --version 2>&1) == *OpenRTE* ]]; then
    OMPI_MCA_pml=nosuch expect 1 "$TUTTI" run "${job[@]}" "${here[@]}"
    one_line "^tutti: no rank has started: "
fi

cat >one.yaml <<END
reference: {workload: stencil, size: 32, iterations: 4, ranks: 2, launch: {template: [sh, $work/dies, '{ranks}', '{command}']}}
load: {same: reference}
others: [0]
repeat: 1
END
expect 1 "$TUTTI" ensemble one.yaml "${here[@]}" --quiet
one_line "alone, the reference: the launcher was ended by signal 9 \(Killed\)"

# A launcher that is killed in the middle: what it leaves in shared memory is removed, and nothing that only looks so.
unset OMPI_MCA_pml # with segments, if the machine's MPI makes any
"$TUTTI" run "${job[@]}" --iterations 100000000 --work 100 "${here[@]}" --quiet >out 2>err &
pid=$!
until ls "$runs"/*/progress >/dev/null 2>&1; do sleep 0.1; done
sleep 0.5 # the driver looks a few times a second
launcher=$(pgrep -P $pid | head -n 1)
job=$(tr '\0' '\n' <"/proc/$(pgrep -P "$launcher" | head -n 1)/environ" | sed -n 's/^PMIX_NAMESPACE=\([0-9]*\)$/\1/p')
job=$(printf '%x' "${job:-0}")
foreign=(/dev/shm/{"vader_segment.$HOSTNAME.$(id -u).${job}0.0","vader_segment.$HOSTNAME.12345.$job.0","vader_segment.$HOSTNAME.$(id -u).$job.0.mine"})
on_exit+=("rm -f ${foreign[*]}")
touch "${foreign[@]}"
kill -9 "$launcher"
status=0
wait $pid || status=$?
equal 1 $status "status of a run whose launcher was killed"
one_line "the launcher was ended by signal 9 \(Killed\)"
no_data_left
ls "${foreign[@]}" >/dev/null || fail "a foreign segment was removed"
rm "${foreign[@]}"
left=$(find /dev/shm -maxdepth 1 -name "vader_segment.*.$job.*")
[ -z "$left" ] || fail "segments left: $left"

job=(stencil -n 2 --size 32 --iterations 4 --write every=2)
# verify has no outcome but its launcher's.
expect 0 "$TUTTI" run "${job[@]}" "${here[@]}" --layers verify --keep
if mpirun --version | grep -q 'Open MPI'; then
    OMPI_MCA_plm=nonsense expect 1 "$TUTTI" verify "$(last_run)"
    one_line "^tutti: verifying has no outcome: [^(]*[A-Za-z].* \(more: "
fi
# A launcher that starts nothing is ended, for verify as for a run; notes of an earlier verify do not count as a beginning.
for i in 1 2; do
    expect 1 "$TUTTI" verify "$(last_run)" --launch.template 'sh,-c,sleep 1000,{ranks},{command}' --launch.start-timeout 1s
    one_line "no rank has begun after launch.start_timeout, 1 s"
    touch "$(last_run)/verify/notes"
done
no_process_left
expect 0 "$TUTTI" verify "$(last_run)"
