# SPDX-License-Identifier: GPL-3.0-or-later
# Workflows of h5bench: a chain of files, its metrics, what cannot be done, and what is refused.
# labels: sanitize
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/h5bench.lib"

# A particle has 32 bytes. What is written is read and checked, as a whole and in part.
one_d='"NUM_DIMS": "1", "DIM_1": "1 K", "DIM_2": "1", "DIM_3": "1", "MEM_PATTERN": "CONTIG", "FILE_PATTERN": "CONTIG"'
workflow "$(benchmark write a.h5 "$one_d, \"NUM_PARTICLES\": \"16 M\", \"CSV_FILE\": \"out.csv\"")" \
    "$(benchmark read a.h5 "$one_d, \"READ_OPTION\": \"FULL\", \"CSV_FILE\": \"/elsewhere/in.csv\"")" \
    "$(benchmark read a.h5 '"DIM_1": "1K", "READ_OPTION": "PARTIAL", "TO_READ_NUM_PARTICLES": "100"')" \
    "$(benchmark write a.h5 "$one_d, \"MODE\": \"ASYNC\", \"DELAYED_CLOSE_TIMESTEPS\": \"1\", \"IO_MEM_LIMIT\": \"1 M\"")" \
    "$(benchmark read a.h5 "$one_d, \"MODE\": \"ASYNC\", \"COLLECTIVE_DATA\": \"YES\"")"
runs_all "196608 196608 19200 196608 196608"
no_data_left
! grep -q '^vol:' out || fail "a word of a connector that nobody asked for"
for text in '^tutti .*the benchmarks of h5bench' '^SYNC Raw write rate: ' '^SYNC Observed write rate: [0-9.]+ .B/s$' \
    '^Total number of ranks: 2$' '^Total emulated compute time: 0.004000 s$' '^Total write size: 192.000000 KB$' '^Raw write time: [0-9.]+ s$' \
    '^Metadata time: [0-9.]+ s$' '^H5F(create|flush|close)\(\) time: [0-9.]+ s$' '^Observed completion time: [0-9.]+ s$' \
    '^Total read size: 18.750000 KB$' '^Observed read completion time: ' \
    '^ASYNC Observed read rate \(wall\): ' '^ +1 write +a.h5 +2 +192 KiB +.* done$' '^ +5 read .* verified$' '^Verified: every byte'; do
    grep -qE "$text" out || fail "no line like $text"
done
equal "$(awk 'length > 80 && !/^(results|workflow)/' out)" "" "lines wider than 80 columns"
jq -e '.benchmarks[4].result.plan.parameters | .overlap == "async" and .["particles.prefetch"] == true
    and .["particles.verify"] == true and .["hdf5.method"] == "collective"' all.json >/dev/null || fail "not what was asked"
jq -e '.benchmarks[3].result.plan.parameters | .inflight == 2 and .sync == "close"' all.json >/dev/null || fail "no delay"
# A connector is for MODE ASYNC. An HDF5 that cannot load it says so; what stands in for it is said, too.
connector="async under_vol=0;under_info={}"
sed "s/\"vol\": {}/\"vol\": {\"connector\": \"$connector\"}/" job.json >vol.json
expect 0 "${h5bench[@]}" vol.json --dry-run
if "$TUTTI" run pattern --backend hdf5 --hdf5.vol native --dry-run >/dev/null 2>why; then
    grep -q "hdf5.vol .*async under_vol=0" out || fail "the connector is lost: $(cat out)"
else
    grep -q "^vol: the connector '$connector' is not loaded; MODE ASYNC" out || fail "no word of the connector: $(head -3 out)"
    expect 0 "$TUTTI" h5bench vol.json --filter write --json vol.out --results "$work/elsewhere" --min-free 0
    equal "[null,\"$connector\"]" "$(jq -c '[.benchmarks[] | select(.status == "done").connector_not_loaded]' vol.out)" "who overlaps without it"
    usage "^tutti: hdf5.vol needs HDF5 1.14 or newer, and this build has 1\.[0-9.]+$" "$TUTTI" run pattern --backend hdf5 --hdf5.vol "$connector"
    expect 0 env HDF5_VOL_CONNECTOR="$connector" "$TUTTI" run pattern --backend hdf5 --json out.json --dir "$data" --results "$work/elsewhere" --min-free 0
    equal "$(jq -r '.facts[] | select(.key == "hdf5.vol") | .read_back + " " + .proof' out.json)" "native no effect" "a connector of the environment"
fi
# Both definitions, from the same times.
jq -e '.benchmarks[] | .figures | (.["total size"] / .["observed rate (wall)"] - .["observed time"] | fabs) < 1e-9 and
    (.["total size"] / .["observed rate"] + .["total compute time"] - .["observed time"] | fabs) < 1e-9' all.json >/dev/null ||
    fail "rates and times do not agree"
csv=$(find "$runs" -name out.csv)
equal "$(cut -d , -f 1 "$csv" | head -n 13 | tr '\n' ';')" "metric;operation;ranks;collective data;collective meta;subfiling;total compute time;total size;raw time;raw rate;metadata time;observed rate;observed time;" "metrics of the CSV"
equal "$(sed -n '/^total size/p' "$csv")" "total size, 192.000000, KB"
equal "$(find "$runs" -name in.csv | wc -l)" 1 "CSV files of the other benchmark, in its run directory"
equal "$(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" 1 "directories for the workflow"

# The metadata stress: hdf5-iotest's columns.
workflow '{"benchmark": "metadata", "file": "m.h5", "configuration": {"steps": "3", "arrays": "4", "rows": "5", "columns": "6",
    "process-rows": "2", "process-columns": "1", "scaling": "weak", "dataset-rank": "2", "slowest-dimension": "step",
    "layout": "chunked", "mpi-io": "collective", "csv-file": "m.csv"}}'
expect 0 "${h5bench[@]}" job.json --json all.json
equal "$(sizes)" 5760
grep -qE '^Create time \[s\] +[0-9.]+ +[0-9.]+$' out && grep -qE '^Write rate \[MiB/s\] +[0-9.]+ +[0-9.]+$' out ||
    fail "no times of hdf5-iotest"
jq -e '.benchmarks[0].figures | .["write-phase-max"] >= .["creat-min"] + .["write-min"] and
    (.["write-rate-min"] * .["write-max"] - 2880 | fabs) < 1e-3' all.json >/dev/null || fail "times or rates are wrong"
csv=$(find "$runs" -name m.csv)
equal "$(head -n 1 "$csv")" "steps,arrays,rows,cols,scaling,proc-rows,proc-cols,slowdim,rank,layout,mpi-io,wall [s],fsize [B],\
write-phase-min [s],write-phase-max [s],creat-min [s],creat-max [s],write-min [s],write-max [s],write-rate-min [MiB/s],\
write-rate-max [MiB/s],read-phase-min [s],read-phase-max [s],read-min [s],read-max [s],read-rate-min [MiB/s],read-rate-max [MiB/s]"
equal "$(tail -n 1 "$csv" | cut -d , -f 1-11)" "3,4,5,6,weak,2,1,step,2,chunked,collective"
awk -F, 'NR == 2 { exit !(NF == 27 && ($20 * 1048576 * $19 - 2880) ^ 2 < 1) }' "$csv" || fail "not what hdf5-iotest stores"
no_data_left

# What cannot be done is named, and the rest is done.
workflow '{"benchmark": "openpmd", "configuration": {"operation": "read", "pattern": "sx"}}' '{"benchmark": "dlio", "configuration": {}}' \
    "$(benchmark append l.h5 '"DIM_1": "9", "MODE": "LOG"')" "$(benchmark write a.h5 '"DIM_1": "9"')"
expect 1 "${h5bench[@]}" job.json --json all.json
equal "$(statuses)" "not run not run not run done"
grep -qE '^! [0-9] openpmd not run: no benchmark before it writes a series of openPMD$' out && grep -qE '^! [0-9] dlio not run: not planned$' out || fail "not named"
grep -q 'MODE LOG: a log that is closed cannot be changed' out || fail "the log layer is not named"

# MODE LOG is the layer log.
workflow "$(benchmark write l.h5 '"DIM_1": "900", "MODE": "LOG"')" "$(benchmark read l.h5 '"DIM_1": "900", "MODE": "LOG"')"
expect 0 "${h5bench[@]}" job.json --json all.json
equal "$(statuses)" "done done"
equal "$(jq -c '[.benchmarks[].result.layers[].name]' all.json)" '["log","log"]' layers
expect 0 "${h5bench[@]}" job.json --filter write --validate-mode
expect 1 "${h5bench[@]}" job.json --filter write --validate-mode --layers ''
grep -q 'it ran without a log, not in MODE LOG' out || fail "the wrong mode is not named"
expect 1 "${h5bench[@]}" job.json --filter write --validate-mode --overlap async
grep -q 'it ran asynchronously, not in MODE LOG' out || fail "the wrong mode is not named"
workflow '{"benchmark": "amrex", "file": "a.h5", "configuration": {"ncells": "8", "nplotfile": "1", "nparticlefile": "0", "mode": "LOG"}}' \
    '{"benchmark": "amrex", "file": "b.h5", "configuration": {"ncells": "8", "nplotfile": "1", "nparticlefile": "0", "mode": "ASYNC"}}'
expect 0 "${h5bench[@]}" job.json --validate-mode
expect 1 "${h5bench[@]}" job.json --validate-mode --overlap none
grep -q '^! 2 amrex failed: it ran synchronously, not in MODE ASYNC' out || fail "the wrong mode is not named: $(cat out)"

# It starts ranks itself.
expect 2 "${ranks[@]}" 2 "${h5bench[@]}" job.json
grep -q 'h5bench works alone; start it without a launcher' err || fail "no word about the launcher"

# Benchmarks that are wrong are left out, and the others run, unless none may fail.
workflow "$(benchmark write a.h5 '"DIM_1": "9", "DIM_1X": "9"')" "$(benchmark wirte a.h5 '"DIM_1": "9"')" \
    '{"benchmark": "macsio", "file": "m.h5", "configuration": {"part_size": "800B", "num_dumps": "1", "vars_per_part": "0"}}' \
    '{"benchmark": "amrex", "file": "c.h5", "configuration": {"ncells": "8", "max_grid_size": "5"}}' "$(benchmark write b.h5 '"DIM_1": "9"')"
expect 1 "${h5bench[@]}" job.json --json all.json
equal "$(statuses)" "not run not run not run not run done"
equal "$(grep -cE '^tutti: job.json:5:[0-9]+: .*; benchmark [1-4] is left out$' err)" 4 "benchmarks that are left out"
grep -q '^! 2 wirte not run: job.json:5:[0-9]*: .wirte. is not a benchmark of h5bench' out && grep -q '^! 4 amrex not run: ' out || fail "not named: $(cat out)"
expect 1 "${h5bench[@]}" job.json --dry-run
grep -q '^wirte: job.json:5' out && grep -q '^would run   particles' out || fail "not in the dry run: $(cat out)"
usage "'DIM_1X' is not a key of h5bench" "${h5bench[@]}" job.json --abort-on-failure

# Nonsense has its place.
workflow "$(benchmark write a.h5 '"DIM_1": "9", "DIM_1X": "9"')"
usage "job.json:5:[0-9]+: 'DIM_1X' is not a key of h5bench" "${h5bench[@]}" job.json
usage "needs a workflow" "${h5bench[@]}"
usage "^tutti: unable to open none.json: No such file" "${h5bench[@]}" none.json
usage "has no benchmark 'raed'" "${h5bench[@]}" job.json --filter raed
