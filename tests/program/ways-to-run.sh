# SPDX-License-Identifier: GPL-3.0-or-later
# The same job started in every way gives the same residual; output goes where it was asked to.
# processors: 1
# timeout: 240
# labels: sanitize
. "$(dirname "$0")/lib.sh"
mpi_as_users_have_it
needs jq
job=(stencil --size 64 --iterations 20 --write every=5)

# By itself.
expect 0 "$TUTTI" run "${job[@]}" -n 2 "${here[@]}" --json launched.json
residual=$(metric residual launched.json)
awk 'length > 80 { print; exit 1 }' out || fail "the table is wider than 80 columns"
grep -q residual out || fail "the table does not show the residual"
no_data_left
# The run directory prints the same again.
cp out printed
expect 0 "$TUTTI" show "$(last_run)"
diff printed out || fail "tutti show differs from what run printed"

# Under mpirun, without -n or with the right one; a wrong one is an error.
expect 0 "${ranks[@]}" 2 "$TUTTI" run "${job[@]}" "${here[@]}" --json mpirun.json
equal "$residual" "$(metric residual mpirun.json)" residuals
expect 0 "${ranks[@]}" 2 "$TUTTI" run "${job[@]}" -n 2 "${here[@]}" --quiet
[ ! -s out ] || fail "--quiet is not quiet"
status=0
"${ranks[@]}" 2 "$TUTTI" run "${job[@]}" -n 3 "${here[@]}" >out 2>err || status=$?
[ $status = 2 ] || fail "three ranks asked of a launcher that started two: status $status"
grep -q '3' err
# A command that is no rank's does not run as ranks.
status=0
"${ranks[@]}" 2 "$TUTTI" show "$(last_run)" >out 2>err || status=$?
[ $status != 0 ] || fail "tutti show ran as two ranks"

# From a file, with settings on top.
cat >job.yaml <<YAML
workload: stencil
stencil: {size: 64, iterations: 7}
write:
  every: 5
YAML
expect 0 "$TUTTI" run job.yaml -n 1 --set stencil.iterations=20 "${here[@]}" --json yaml.json
equal "$residual" "$(metric residual yaml.json)" residuals

# stdout is the JSON alone.
expect 0 "$TUTTI" run "${job[@]}" -n 2 "${here[@]}" --json -
jq -e . out >/dev/null || fail "stdout is not clean JSON"
equal "$residual" "$(metric residual out)" residuals
expect 0 "${ranks[@]}" 2 "$TUTTI" run "${job[@]}" "${here[@]}" --json -
equal "$residual" "$(metric residual out)" residuals

# CSV: a row per rank and iteration after comments that say what it is.
expect 0 "$TUTTI" run "${job[@]}" -n 2 "${here[@]}" --csv samples.csv
grep -q '^# tutti [0-9]' samples.csv
[ "$(grep -vc '^#' samples.csv)" -ge 41 ] || fail "fewer than 2 x 20 rows and a header in the CSV"

# A dry run says what it would do and does nothing.
before=$(find "$work" | sort)
expect 0 "$TUTTI" run "${job[@]}" -n 2 "${here[@]}" --dry-run
grep -q 'B' out || fail "a dry run says no bytes"
equal "$before" "$(find "$work" | sort)" "the files before and after a dry run"
no_data_left

# Ranks that read other settings, as files of the same name on their nodes may have them.
for other in "--iterations 9" "--size x"; do
    status=0
    timeout -k 5 20 "${ranks[@]}" 1 "$TUTTI" run "${job[@]}" "${here[@]}" : -n 1 "$TUTTI" run "${job[@]}" "${here[@]}" $other \
        >out 2>err </dev/null || status=$?
    equal $status 2 "status with $other on one rank"
    grep -qE "^tutti: rank 1: .*(iterations is not what rank 0 has|size: 'x')" err || fail "said: $(cat err)"
    no_data_left
done

# A file of one letter in the directory where tutti was started, which Open MPI itself cannot open.
cd "$data"
for backend in posix mpiio; do
    ! has_backend $backend || expect 0 "$TUTTI" run stencil -n 2 --size 32 --iterations 4 --write every=2,path=k --backend $backend --quiet \
        --dir . --results "$runs" --min-free 0
done
cd "$work"
no_data_left
