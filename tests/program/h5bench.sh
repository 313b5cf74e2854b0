# SPDX-License-Identifier: GPL-3.0-or-later
# Workflows of h5bench: chains of files, every pattern, its metrics, what cannot be done, and what is refused.
# processors: 1
# labels: sanitize
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq
needs_backend hdf5

h5bench=("$TUTTI" h5bench --results "$runs" --min-free 0)
tiny='"TIMESTEPS": "3", "EMULATED_COMPUTE_TIME_PER_TIMESTEP": "2 ms"'
benchmark() { # NAME FILE KEYS
    printf '{"benchmark": "%s", "file": "%s", "configuration": {%s, %s}}' "$1" "$2" "$tiny" "$3"
}
workflow() { # BENCHMARKS..., into job.json
    local IFS=,
    printf '{"mpi": {"command": "mpirun", "ranks": "2"},\n"vol": {},\n"file-system": {},\n"directory": "%s",\n"benchmarks": [%s]}\n' \
        "$data" "$*" >job.json
}
statuses() { jq -r '[.benchmarks[].status] | join(" ")' "$work/all.json"; }
sizes() { jq -r '[.benchmarks[].figures["total size"] | floor] | map(tostring) | join(" ")' "$work/all.json"; }
runs_all() { # SIZES
    expect 0 "${h5bench[@]}" job.json --json all.json
    [[ "$(statuses)" =~ ^(done ?)+$ ]] || fail "not all is done: $(statuses)"
    equal "$(sizes)" "$1" "sizes"
}

# A particle has 32 bytes. What is written is read and checked, as a whole and in part.
one_d='"NUM_DIMS": "1", "DIM_1": "1 K", "DIM_2": "1", "DIM_3": "1", "MEM_PATTERN": "CONTIG", "FILE_PATTERN": "CONTIG"'
workflow "$(benchmark write a.h5 "$one_d, \"NUM_PARTICLES\": \"16 M\", \"CSV_FILE\": \"out.csv\"")" \
    "$(benchmark read a.h5 "$one_d, \"READ_OPTION\": \"FULL\", \"CSV_FILE\": \"/elsewhere/in.csv\"")" \
    "$(benchmark read a.h5 '"DIM_1": "1K", "READ_OPTION": "PARTIAL", "TO_READ_NUM_PARTICLES": "100"')" \
    "$(benchmark write a.h5 "$one_d, \"MODE\": \"ASYNC\", \"DELAYED_CLOSE_TIMESTEPS\": \"1\", \"IO_MEM_LIMIT\": \"1 M\"")" \
    "$(benchmark read a.h5 "$one_d, \"MODE\": \"ASYNC\", \"COLLECTIVE_DATA\": \"YES\"")"
runs_all "196608 196608 19200 196608 196608"
no_data_left
for text in '^tutti .*the benchmarks of h5bench' '^SYNC Raw write rate: ' '^SYNC Observed write rate \(h5bench\): ' \
    '^ASYNC Observed read rate \(wall\): ' '^write +2 +192 KiB +.* done$'; do
    grep -qE "$text" out || fail "no line like $text"
done
equal "$(awk 'length > 80 && !/^(results|workflow)/' out)" "" "lines wider than 80 columns"
jq -e '.benchmarks[4].result.plan.parameters | .overlap == "async" and .["particles.prefetch"] == "yes"
    and .["particles.verify"] == "yes" and .["hdf5.method"] == "collective"' all.json >/dev/null || fail "not what was asked"
jq -e '.benchmarks[3].result.plan.parameters | .inflight == "2" and .sync == "close"' all.json >/dev/null || fail "no delay"
# Both definitions, from the same times.
jq -e '.benchmarks[] | .figures | (.["total size"] / .["observed rate (wall)"] - .["observed time"] | fabs) < 1e-9 and
    (.["total size"] / .["observed rate"] + .["total compute time"] - .["observed time"] | fabs) < 1e-9' all.json >/dev/null ||
    fail "rates and times do not agree"
csv=$(find "$runs" -name out.csv)
equal "$(cut -d , -f 1 "$csv" | head -n 13 | tr '\n' ';')" "metric;operation;ranks;collective data;collective meta;subfiling;total compute time;total size;raw time;raw rate;metadata time;observed rate;observed time;" "metrics of the CSV"
equal "$(sed -n '/^total size/p' "$csv")" "total size, 192.000000, KB"
equal "$(find "$runs" -name in.csv | wc -l)" 1 "CSV files of the other benchmark, in its run folder"
equal "$(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" 1 "folders for the workflow"

# The file is h5bench's; --keep leaves it.
expect 0 "${h5bench[@]}" job.json --keep --filter write --quiet
[ ! -s out ] || fail "--quiet prints"
if command -v h5dump >/dev/null; then
    h5dump -H -d /Timestep_2/id_1 "$data/a.h5" >dump
    grep -q 'H5T_STD_I32LE' dump && grep -q 'SIMPLE { ( 2048 ) / ( 2048 ) }' dump || fail "not h5bench's dataset"
    equal "$(h5dump -H -g /Timestep_0 "$data/a.h5" | grep -o 'DATASET "[a-z_0-9]*"' | wc -l)" 8 "datasets of a step"
fi
# A file that is there already can be read.
expect 0 "${h5bench[@]}" job.json --filter read --json all.json
equal "$(statuses)" "skipped done done skipped done"
rm "$data/a.h5"

# Two and three dimensions, records, blocks of rank 0, strides, a file per process.
two_d='"NUM_DIMS": "2", "DIM_1": "20", "DIM_2": "30", "MEM_PATTERN": "INTERLEAVED", "FILE_PATTERN": "INTERLEAVED"'
strides='"FILE_PATTERN": "STRIDED", "DIM_1": "100", "STRIDE_SIZE": "10", "BLOCK_SIZE": "3", "BLOCK_CNT": "10"'
workflow "$(benchmark write i.h5 "$two_d")" "$(benchmark read i.h5 "$two_d")" \
    "$(benchmark write c.h5 '"NUM_DIMS": "2", "DIM_1": "20", "DIM_2": "30", "MEM_PATTERN": "INTERLEAVED"')" \
    "$(benchmark read c.h5 '"READ_OPTION": "LDC", "BLOCK_SIZE": "2", "BLOCK_SIZE_2": "3"')" \
    "$(benchmark read c.h5 '"READ_OPTION": "CS", "BLOCK_SIZE": "3", "BLOCK_SIZE_2": "3", "STRIDE_SIZE": "4", "STRIDE_SIZE_2": "2"')" \
    "$(benchmark write t.h5 '"NUM_DIMS": 3, "DIM_1": 4, "DIM_2": 5, "DIM_3": 6, "FILE_PER_PROC": "YES", "ALIGN": "YES", "ALIGN_LEN": "4 K"')" \
    "$(benchmark write s.h5 "$strides")" "$(benchmark read s.h5 "$strides")"
runs_all "115200 115200 115200 1152 4320 23040 5760 5760"
no_data_left

# Unlimited, appended to twice, overwritten, read: what was made first is still there, but new.
chunks='"DIM_1": "200", "COMPRESS": "YES", "CHUNK_DIM_1": "64"'
workflow "$(benchmark write-unlimited u.h5 "$chunks")" "$(benchmark append u.h5 "$chunks")" "$(benchmark append u.h5 "$chunks")" \
    "$(benchmark read u.h5 '"DIM_1": "200"')" "$(benchmark overwrite u.h5 "$chunks")" "$(benchmark read u.h5 "$chunks")"
runs_all "38400 38400 38400 38400 38400 38400"
jq -e '.benchmarks[5].result.plan.parameters | .seed == "2" and .["particles.verify"] == "yes"' all.json >/dev/null ||
    fail "what was overwritten is not checked"
jq -e '.benchmarks[0].result.plan.parameters | .["hdf5.compress"] == "9" and .["hdf5.chunk"] == "64"' all.json >/dev/null || fail "no chunks"
no_data_left

# Numbers that vary by rank.
workflow "$(benchmark write_var_normal_dist v.h5 '"DIM_1": "1000", "STDEV_DIM_1": "50"')" "$(benchmark read v.h5 '"DIM_1": "1000"')"
expect 0 "${h5bench[@]}" job.json --json all.json
jq -e '.benchmarks | .[0].figures["total size"] == .[1].figures["total size"] and .[0].figures["total size"] != 192000 and
    .[0].figures["total particles"] * 96 == .[0].figures["total size"]' all.json >/dev/null || fail "numbers do not vary"

# The metadata stress: hdf5-iotest's columns.
workflow '{"benchmark": "metadata", "file": "m.h5", "configuration": {"steps": "3", "arrays": "4", "rows": "5", "columns": "6",
    "process-rows": "2", "process-columns": "1", "scaling": "weak", "dataset-rank": "2", "slowest-dimension": "step",
    "layout": "chunked", "mpi-io": "collective", "csv-file": "m.csv"}}'
expect 0 "${h5bench[@]}" job.json --json all.json
equal "$(sizes)" 5760
grep -q '^creat  *[0-9.]* [mun]*s  *[0-9.]* [mun]*s$' out || fail "no times of hdf5-iotest"
jq -e '.benchmarks[0].figures | .["write-phase-max"] >= .["creat-min"] + .["write-min"] and
    (.["write-rate-min"] * .["write-max"] - 2880 | fabs) < 1e-3' all.json >/dev/null || fail "times or rates are wrong"
csv=$(find "$runs" -name m.csv)
equal "$(awk -F, '{ print NF }' "$csv" | tr '\n' ' ')" "32 32 " "columns of the CSV"
no_data_left

# What cannot be done is named, and the rest is done.
workflow '{"benchmark": "openpmd", "configuration": {"operation": "write", "dim": "3"}}' '{"benchmark": "exerciser", "configuration": {}}' \
    "$(benchmark write l.h5 '"DIM_1": "9", "MODE": "LOG"')" "$(benchmark write a.h5 '"DIM_1": "9"')"
expect 1 "${h5bench[@]}" job.json --json all.json
equal "$(statuses)" "not run not run not run done"
grep -q '^! openpmd not run: not built yet$' out && grep -q '^! exerciser not run: not planned$' out || fail "not named"
grep -q 'MODE LOG: the log layer is not built yet' out || fail "the log layer is not named"

# What fails is said at once; the rest goes on, or not.
workflow "$(benchmark read none.h5 '"DIM_1": "9"')" "$(benchmark write a.h5 '"DIM_1": "9"')"
expect 1 "${h5bench[@]}" job.json --json all.json
one_line "none.h5"
equal "$(statuses)" "failed done"
expect 1 "${h5bench[@]}" job.json --json all.json --abort-on-failure
equal "$(statuses)" "failed not run"
workflow "$(benchmark write a.h5 '"DIM_1": "9", "MODE": "ASYNC"')"
expect 0 "${h5bench[@]}" job.json --validate-mode
expect 1 "${h5bench[@]}" job.json --validate-mode --overlap none
grep -q 'it ran synchronously, not in MODE ASYNC' out || fail "the wrong mode is not named"
no_data_left

# A file that somebody else made is left alone.
echo precious >"$data/a.h5"
expect 1 "${h5bench[@]}" job.json
equal "$(cat "$data/a.h5")" precious
rm "$data/a.h5"

# A folder that was not there goes again; --dry-run makes nothing; another backend does it as well.
sed -i "s:$data:$data/new:" job.json
expect 0 "${h5bench[@]}" job.json --backend posix
no_data_left
sed -i "s:$data/new:$data:" job.json
expect 0 "${h5bench[@]}" job.json --dry-run
grep -q 'would run   particles on 2 ranks, backend hdf5' out || fail "nothing is announced"

# A launcher's options reach it, word by word.
sed -i 's/"ranks": "2"/"ranks": "7", "configuration": "-np 1 --no-such-option=a,b"/' job.json
expect 1 "${h5bench[@]}" job.json
jq -e '.parameters | .["launch.options"] == "--no-such-option=a\\,b" and .ranks == "1"' "$(find "$runs" -name plan.json -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)" >/dev/null ||
    fail "the options are not as given"

# It starts ranks itself.
expect 2 "${ranks[@]}" 2 "${h5bench[@]}" job.json
grep -q 'h5bench works alone; start it without a launcher' err || fail "no word about the launcher"

# Nonsense has its place.
workflow "$(benchmark write a.h5 '"DIM_1": "9", "DIM_1X": "9"')"
usage "job.json:5:[0-9]+: 'DIM_1X' is no key of h5bench" "${h5bench[@]}" job.json
usage "needs a workflow" "${h5bench[@]}"
usage "^tutti: unable to open none.json: No such file" "${h5bench[@]}" none.json
usage "has no benchmark 'raed'" "${h5bench[@]}" job.json --filter raed
