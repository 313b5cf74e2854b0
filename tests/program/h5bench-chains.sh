# SPDX-License-Identifier: GPL-3.0-or-later
# Workflows of h5bench: who wrote the file that is read, in this workflow or before; what is missing; what fails beside it.
# processors: 1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/h5bench.lib"

small='"DIM_1": "50"'
verified() { # INDEX
    jq -r ".benchmarks[$1] | (.result.plan.parameters[\"particles.verify\"] | if . then \"yes\" else \"no\" end) + \" \" + (.notice // \"-\")" all.json
}

# A benchmark that is left out has not changed the file.
workflow "$(benchmark write a.h5 "$small")" "$(benchmark overwrite a.h5 "$small")" "$(benchmark read a.h5 "$small")"
expect 0 "${h5bench[@]}" job.json --json all.json --filter write,read
equal "$(statuses)" "done skipped done"
equal "$(verified 2)" "yes -"
no_data_left

# A file that is not there is missed in one line, and it is said why; the rest is run.
expect 1 "${h5bench[@]}" job.json --json all.json --filter overwrite,read
equal "$(statuses)" "skipped failed failed"
equal "$(grep -c "^tutti: benchmark '\(overwrite\|read\)': '$data/a.h5' is not there: --filter leaves out the benchmark that makes it$" err)" 2
equal "$(wc -l <err)" 2 "lines about it"
grep -qE '^! [0-9]+ read failed: benchmark' out || fail "the summary does not say why"
workflow "$(benchmark read a.h5 "$small")" "$(benchmark write a.h5 "$small, \"SUBFILING\": \"YES\"")" "$(benchmark read a.h5 "$small")"
expect 1 "${h5bench[@]}" job.json --json all.json
grep -q 'is not there: no benchmark before it makes it$' err && grep -q 'is not there: the benchmark that makes it was not done$' err ||
    fail "not said why: $(cat err)"

# A file of an earlier run is checked if its plan is at hand and it has not been changed since.
touch "$data/mark"
if setfattr -n user.tutti.run -v x "$data/mark" 2>/dev/null; then has_marks=yes; else has_marks=no; fi
rm "$data/mark"
workflow "$(benchmark write a.h5 "$small")" "$(benchmark overwrite a.h5 "$small")" "$(benchmark read a.h5 "$small")"
unknown="no not checked: what is in the file is not known for certain"
if [ $has_marks = yes ]; then
    expect 0 "${h5bench[@]}" job.json --keep --quiet --filter write --seed 5
    expect 0 "${h5bench[@]}" job.json --json all.json --filter read
    equal "$(verified 2) $(jq -r '.benchmarks[2].result.plan.seed // .benchmarks[2].result.plan.parameters.seed' all.json)" "yes - 5"
    expect 0 "${h5bench[@]}" job.json --json all.json --filter read --results "$work/elsewhere"
    equal "$(verified 2)" "$unknown"
    sleep 0.02 # times of files have the clock's ticks
    expect 0 "${h5bench[@]}" job.json --json all.json --filter overwrite,read
    equal "$(verified 2)" "yes -"
    expect 0 "${h5bench[@]}" job.json --json all.json --filter read
    equal "$(verified 2)" "$unknown"
    grep -q '^! not checked: what is in the file is not known for certain$' out || fail "no notice"

    # What failed to be written may be there all the same, but not as it should.
    setfattr -x user.tutti.run "$data/a.h5"
    expect 1 "${h5bench[@]}" job.json --json all.json --filter write,read
    equal "$(statuses)" "failed skipped done"
    equal "$(verified 2)" "no not checked: an earlier benchmark failed to write the file"
    rm "$data/a.h5"

    # Processes have files of h5bench's names, which are found as well.
    workflow "$(benchmark write p.h5 "$small, \"FILE_PER_PROC\": \"YES\"")" "$(benchmark read p.h5 "$small")"
    expect 0 "${h5bench[@]}" job.json --keep --quiet --filter write
    equal "$(ls "$data" | tr '\n' ' ')" "rank_0_p.h5 rank_1_p.h5 " "files of processes"
    expect 0 "${h5bench[@]}" job.json --json all.json --filter read
    equal "$(verified 1)" "yes -"
    rm "$data"/rank_?_p.h5
fi

# Datasets are closed late also where they are read or changed.
workflow "$(benchmark write a.h5 "$small")" "$(benchmark overwrite a.h5 "$small, \"DELAYED_CLOSE_TIMESTEPS\": \"2\"")" \
    "$(benchmark read a.h5 "$small, \"DELAYED_CLOSE_TIMESTEPS\": \"2\"")"
expect 0 "${h5bench[@]}" job.json --json all.json
equal "$(jq -r '[.benchmarks[].result.facts[] | select(.key == "hdf5.delayed_close") | .proof] | join(" ")' all.json)" "in effect in effect"

# A CSV file that cannot be written is a failure, but not the end.
workflow "$(benchmark write a.h5 "$small, \"CSV_FILE\": \"plan.json\"")" "$(benchmark read a.h5 "$small, \"CSV_FILE\": \"in.csv\"")"
expect 1 "${h5bench[@]}" job.json --json all.json
one_line "^tutti: CSV_FILE: 'plan.json' cannot name a new file$"
equal "$(statuses)" "failed done"
equal "$(verified 1)" "yes -"
jq -e '.benchmarks[0] | .figures["total size"] == 9600 and (.reason | test("CSV_FILE"))' all.json >/dev/null || fail "its figures are lost"
no_data_left
