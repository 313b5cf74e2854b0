# SPDX-License-Identifier: GPL-3.0-or-later
# No wait without an end: a rank that fails to open, is stopped or sleeps, wherever it is, and a launcher that
# starts nobody. One line with rank, call and file, status 1, nothing left.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq pgrep
[ -n "${FAULTS:-}" ] || skip "needs the preloaded library of faults"
job=("$TUTTI" run stencil -n 2 --size 48 --iterations 6 --write every=3 "${here[@]}" --patience 0.2)

# ends PATTERN FAULT OPTION...
ends() {
    local pattern=$1 fault=$2
    shift 2
    expect 1 env LD_PRELOAD="$FAULTS" TUTTI_FAULT="$fault" TUTTI_FAULT_LOG="$work/hits" "${job[@]}" "$@"
    [ -s hits ] || fail "the fault was not met: $fault"
    rm -f hits
    one_line "$pattern"
    ! jq -e '.status == "done"' "$(last_run)/outcome.json" >/dev/null 2>&1 || fail "the outcome is done after: $fault"
    no_process_left
    no_data_left
}

# A rank that cannot open what rank 0 has made: known before the library is asked.
for backend in posix mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    ends "rank 1: open of '.*/stencil': Permission denied" "rank=1 call=open match=/stencil do=EACCES" --backend $backend
done
# The library's own open fails, or writes of metadata do, and the others stay in its collective.
for backend in mpiio hdf5; do
    has_backend $backend || continue
    ends "(in open|MPI_File_open|H5Fcreate) of '.*/stencil'" "rank=1 call=open match=/stencil nth=2 do=EMFILE" --backend $backend
done
! has_backend hdf5 || ends "of '.*/stencil'" "rank=1 call=write match=/stencil nth=3 count=all do=EIO" --backend hdf5

# A rank is stopped during start, open, close and removal, or sleeps there.
ends "rank 1 on .* has not answered for .*its last note is open of '.*/stencil'; the run was ended after nothing moved" \
    "rank=1 call=open match=/stencil do=stop"
ends "rank 1 on .* has not answered for .*its last note is close of '.*/stencil'" "rank=1 call=close match=/stencil do=stop"
ends "rank 0 on .* has not answered for .*its last note is removal of '" "rank=0 call=unlink match=/stencil do=stop"
ends "rank 1 (has not begun|on .* has not answered for .*MPI_Init_thread)" "rank=1 call=open match=ompi nth=1 do=stop"
ends "rank 1 on .* has been in open of '.*/stencil' for" "rank=1 call=open match=/stencil do=delay:60"
# One that is stopped while it computes, whatever the others wait for.
for how in 'stencil --size 200 --compute 20 --iterations 1000000' \
    'checkpoint --width 64 --ffn 140 --depth 2 --vocabulary 500 --checkpoints 1000 --every 2 --compute 50'; do
    rm -rf "$runs"
    "$TUTTI" run $how -n 2 "${here[@]}" --patience 0.2 >out 2>err &
    driver=$!
    until rank=$(pgrep -f "perform.*$runs" | tail -n 1) && [ -s "$(echo "$runs"/*/progress)" ]; do
        kill -0 $driver || fail "the run ended by itself: $(cat err)"
        sleep 0.1
    done
    kill -STOP "$rank"
    timeout 60 tail --pid=$driver -f /dev/null || fail "hangs with a rank that is stopped: $how"
    ! wait $driver || fail "a run with a stopped rank ended well"
    one_line "rank [01] on .* has not answered for"
    no_process_left
    no_data_left
done

# A launcher that starts nobody, and limits under which Open MPI's hangs.
printf '#!/bin/sh\nexec sleep 60\n' >launcher
chmod +x launcher
expect 1 "${job[@]}" --launch.by template --launch.template "$work/launcher,{ranks},{command}" --launch.start_timeout 1s
one_line "no rank has begun after launch.start_timeout, 1 s"
expect 0 "${job[@]}" --layers verify --keep
expect 1 "$TUTTI" verify "$(last_run)" --launch.by template --launch.template "$work/launcher,{ranks},{command}" --launch.start_timeout 1s
one_line "no rank has begun after launch.start_timeout, 1 s"
expect 0 "$TUTTI" verify "$(last_run)"
[ ! -e "$(last_run)/verify/notes" ] || fail "verify leaves its notes"
expect 0 "$TUTTI" clean "$(last_run)"
# One that goes on when its ranks have ended.
printf '#!/bin/sh\n%s "$@"\nexec sleep 60\n' "$RANKS" >launcher
expect 1 "${job[@]}" --launch.by template --launch.template "$work/launcher,{ranks},{command}"
one_line "the run was over, but its launcher did not end for 14 s"
no_process_left
no_data_left
expect 1 bash -c 'ulimit -f 100; exec "$@"' - "${job[@]}"
one_line "ulimit -f"
no_process_left
