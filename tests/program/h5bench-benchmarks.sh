# SPDX-License-Identifier: GPL-3.0-or-later
# Workflows of h5bench: every benchmark and pattern; failures, interruption, other people's files.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/h5bench.lib"

# The file is h5bench's; --keep leaves it, and it can be read as a file that is there already.
workflow "$(benchmark write a.h5 '"DIM_1": "1 K"')" "$(benchmark read a.h5 '"DIM_1": "1 K"')"
expect 0 "${h5bench[@]}" job.json --keep --filter write --quiet
[ ! -s out ] || fail "--quiet prints"
if command -v h5dump >/dev/null; then
    h5dump -H -d /Timestep_2/id_1 "$data/a.h5" >dump
    grep -q 'H5T_STD_I32LE' dump && grep -q 'SIMPLE { ( 2048 ) / ( 2048 ) }' dump || fail "not h5bench's dataset"
    equal "$(h5dump -H -g /Timestep_0 "$data/a.h5" | grep -o 'DATASET "[a-z_0-9]*"' | tr -d '\n')" \
        'DATASET "id_1"DATASET "id_2"DATASET "px"DATASET "py"DATASET "pz"DATASET "x"DATASET "y"DATASET "z"' "datasets of a step"
fi
expect 0 "${h5bench[@]}" job.json --filter read --json all.json
equal "$(statuses)" "skipped done"
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
chunks='"DIM_1": "200", "COMPRESS": "YES", "CHUNK_DIM_1": "64", "CSV_FILE": "rows.csv"'
rows_of() { # OPERATION, of the CSV of its last run
    local csv
    csv=$(grep -l "^operation, $1, $" $(find "$runs" -name rows.csv -printf '%T@ %p\n' | sort -n | cut -d ' ' -f 2-) | tail -n 1)
    sed '1,2d; s/,.*//; /^observed time/q' "$csv" | tr '\n' ';'
}
times='total compute time;total size;raw time;raw rate;metadata time;observed rate;observed time;'
workflow "$(benchmark write-unlimited u.h5 "$chunks")" "$(benchmark append u.h5 "$chunks")" "$(benchmark append u.h5 "$chunks")" \
    "$(benchmark read u.h5 '"DIM_1": "200"')" "$(benchmark overwrite u.h5 "$chunks")" "$(benchmark read u.h5 "$chunks")"
runs_all "38400 38400 38400 38400 38400 38400"
jq -e '.benchmarks[5].result.plan.parameters | .seed == 2 and .["particles.verify"] == true' all.json >/dev/null ||
    fail "what was overwritten is not checked"
equal "$(rows_of 'write unlimited')" "ranks;collective data;collective meta;$times"
equal "$(rows_of append)" "ranks;$times"
equal "$(rows_of overwrite)" "ranks;$times"
for label in 'Total modify size' 'Raw modify time' 'Observed modify completion time' 'SYNC Raw modify rate' 'SYNC Observed modify rate'; do
    equal "$(grep -c "^$label: " out)" 3 "lines '$label'"
done
jq -e '.benchmarks[0].result.plan.parameters | .["hdf5.filter"] == "deflate:9" and .["hdf5.chunk"] == 64' all.json >/dev/null || fail "no chunks"
grep -qE '^Stored size: [0-9.]+ MB, compressed to [0-9.]+ % \(ratio [0-9.]+\)$' out || fail "no stored size"
jq -e '.benchmarks[0].stored > 0' all.json >/dev/null || fail "no stored size in JSON"
no_data_left

# Numbers that vary by rank.
workflow "$(benchmark write_var_normal_dist v.h5 '"DIM_1": "1000", "STDEV_DIM_1": "50", "CSV_FILE": "rows.csv"')" "$(benchmark read v.h5 '"DIM_1": "1000"')"
expect 0 "${h5bench[@]}" job.json --json all.json
jq -e '.benchmarks | .[0].figures["total size"] == .[1].figures["total size"] and .[0].figures["total size"] != 192000 and
    (.[0].figures | .["Total number of particles"] * 96 == .["total size"] and .["Final mean particles"] * 2 == .["Total number of particles"]
     and .["Final standard deviation"] > 0)' all.json >/dev/null || fail "numbers do not vary"
equal "$(rows_of write_var_normal_dist)" "ranks;Total number of particles;Final mean particles;Final standard deviation;collective data;collective meta;subfiling;$times"
grep -q '^Final mean particles: [0-9.]*$' out || fail "the mean is not printed"

# Entries that run other workloads: files that are to stay do, and are as the original has them; the rest goes.
entry() { printf '{"benchmark": "%s", "file": "%s", "configuration": {%s}}' "$1" "$2" "$3"; }
workflow "$(entry e3sm e.h5 '"k": "yes", "r": "2", "f": "1", "x": "canonical", "map": "map_f_case_16p.h5"')" \
    "$(entry macsio m.h5 '"parallel_file_mode": "MIF 1", "part_size": "72", "vars_per_part": "2", "num_dumps": "1"')" \
    "$(entry exerciser x.h5 '"numdims": "2", "minels": "2 4", "dimranks": "1 2", "rshift": "1", "fileblocks": "1 4", "filestrides": "2 4",
        "memblock": "2", "memstride": "3", "metacoll": "true", "keepfile": "true", "usechunked": "true", "derivedtype": "true"')"
expect 0 "${h5bench[@]}" job.json --json all.json
equal "$(statuses)" "done done done"
equal "$(ls "$data" | tr '\n' ' ')" "e.h5_h1 x.h5 " "files that stay"
if command -v h5dump >/dev/null; then
    h5dump -H -d /lat "$data/e.h5_h1" | grep -q 'SIMPLE { ( 866 ) / ( 866 ) }' || fail "not the columns of the F case"
    h5dump -H -p -d /Data/array=0 "$data/x.h5" | grep -A 1 'CHUNKED ( 1, 4 )' >/dev/null || fail "not chunked by blocks"
    # Of the last of ten passes, tiles of the other rank, with a gap after every row of a tile.
    equal "$(h5dump -y -w 0 -m '%g' -d /Data/array=0 -s 0,0 -S 2,1 -c 2,8 "$data/x.h5" | grep -o '^ *[0-9]*' | tr -s ' \n' ' ')" \
        " 37 37 37 37 36 36 36 36 37 37 37 37 36 36 36 36 " "tiles of the exerciser"
    h5dump -y -w 0 -m '%g' -d /Data/records=0 -s 0,0 -S 2,1 -c 2,8 "$data/x.h5" >records
    equal "$(grep -A 3 'DATATYPE  H5T_COMPOUND' records | tr -s ' \n' ' ')" \
        ' DATATYPE H5T_COMPOUND { H5T_IEEE_F64LE "value"; H5T_STD_U64LE "place"; } ' "type of the records"
    equal "$(grep -x ' *[0-9][0-9]*,\?' records | tr -d ' ,' | tr -s '\n' ' ')" \
        "39 0 39 1 39 2 39 3 38 0 38 1 38 2 38 3 39 4 39 5 39 6 39 7 38 4 38 5 38 6 38 7 " "records of the exerciser"
fi
rm "$data"/*

# Applications do their work once, without baselines beside it: all that the dry run says is in the figures.
workflow "$(entry amrex a.h5 '"ncells": "16", "nplotfile": "5", "nparticlefile": "5", "sleeptime": "0"')" \
    "$(entry openpmd o.h5 '"operation": "write", "steps": "6", "minBlock": "4 4 4", "grid": "2 2 2"')" \
    "$(entry e3sm e.h5 '"r": "6", "f": "1", "x": "canonical", "map": "map_f_case_16p.h5"')"
expect 0 "${h5bench[@]}" job.json --dry-run
said=$(awk '$1 == "writes" { print $2, $3 }' out)
expect 0 "${h5bench[@]}" job.json --json all.json
equal "$(awk '/ done$/ { print $5, $6 }' out)" "$said" "bytes that applications write"

# Their rates are without syncs, which the originals do not have, and without the restart; those with syncs stand beside them.
jq -e '[.benchmarks[].figures] | all(.[]; .["raw rate"] > .["raw rate (with sync)"] and .["observed rate"] > .["observed rate (wall)"])' \
    all.json >/dev/null || fail "rates with syncs: $(jq -c '[.benchmarks[].figures]' all.json)"
jq -e '.benchmarks[2].figures | (.["total size"] / .["raw rate"] - .["post-max"] | fabs) < 1e-6 and
    (.["total size"] / .["observed rate"] + .["flush-max"] - .["end-to-end-max"] | fabs) < 1e-6' all.json >/dev/null || fail "rates of E3SM-IO"
grep -q '^SYNC Raw write rate (with sync): ' out && grep -qE '^Write-only +[0-9.]+ +[0-9.]+$' out || fail "no rates with sync: $(cat out)"
workflow "$(entry amrex a.h5 '"ncells": "16", "nplotfile": "1", "nparticlefile": "0", "restart_check": "1", "sleeptime": "0"')" \
    "$(entry e3sm e.h5 '"r": "2", "f": "1", "map": "map_f_case_16p.h5"')"
expect 0 "${h5bench[@]}" job.json --json all.json
jq -e '.benchmarks[0] | .figures["observed time"] < .result.metrics.runtime.value and (.result.phases as $p | .figures |
    .["total size"] / .["raw rate"] - $p.io_write.max | fabs < 1e-6)' all.json >/dev/null || fail "the restart counts as writing"
jq -e '.benchmarks[1].figures | (.["total size"] / .["raw rate"] - .["post-max"] - .["close-max"] | fabs) < 1e-6' all.json >/dev/null ||
    fail "blobs are not written while closing"
workflow "$(entry exerciser x.h5 '"numdims": "1", "minels": "8", "fileblocks": "3"')"
usage "arrays.file_block 3 does not tile 8 elements" "${h5bench[@]}" job.json
workflow "$(entry e3sm e.h5 '"r": "5", "y": "2", "x": "canonical", "map": "map_f_case_16p.h5"')"
expect 2 "${h5bench[@]}" job.json
equal "$(tail -n 1 err)" "tutti: job.json:5:82: y: 2 does not divide the 5 records of r; give a number that does, or -1 for all of them at once"
workflow "$(entry e3sm e.h5 '"r": "5", "y": "2", "f": "0", "x": "canonical", "map": "map_f_case_16p.h5"')"
expect 0 "${h5bench[@]}" job.json --dry-run # h0 has one record

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

# An interruption ends the workflow, and removes what the next benchmark was to read.
short=$tiny
tiny='"TIMESTEPS": "90", "EMULATED_COMPUTE_TIME_PER_TIMESTEP": "1 s"'
slow=$(benchmark write b.h5 '"DIM_1": "9"')
tiny=$short
workflow "$(benchmark write a.h5 '"DIM_1": "9"')" "$slow" "$(benchmark read a.h5 '"DIM_1": "9"')"
"${h5bench[@]}" job.json --json all.json >out 2>err </dev/null &
for ((i = 0; i < 300; i++)); do [ ! -s "$data/b.h5" ] || break; sleep 0.1; done
kill -INT $!
status=0
wait $! || status=$?
equal $status 1 "status of an interrupted workflow"
equal "$(statuses)" "done interrupted not run"
no_data_left
workflow "$(benchmark write a.h5 '"DIM_1": "9", "MODE": "ASYNC"')"

# A file that somebody else made is left alone.
echo precious >"$data/a.h5"
expect 1 "${h5bench[@]}" job.json
equal "$(cat "$data/a.h5")" precious
rm "$data/a.h5"

# A directory that was not there goes again; --dry-run makes nothing; another backend does it as well.
sed -i "s:$data:$data/new:" job.json
expect 0 "${h5bench[@]}" job.json --backend posix
no_data_left
sed -i "s:$data/new:$data:" job.json
sed -i "s:$data:$data/not/there:" job.json
expect 0 "${h5bench[@]}" job.json --dry-run
[ ! -e "$data/not" ] || fail "a dry run made a directory"
sed -i "s:$data/not/there:$data:" job.json
expect 0 "${h5bench[@]}" job.json --dry-run
grep -q 'would run   particles on 2 ranks, backend hdf5' out || fail "nothing is announced"

# A launcher's options reach it, word by word.
sed -i 's/"ranks": "2"/"ranks": "7", "configuration": "-np 1 --no-such-option=a,b"/' job.json
expect 1 "${h5bench[@]}" job.json
jq -e '.parameters | .["launch.options"] == "--no-such-option=a\\,b" and .ranks == "1"' "$(find "$runs" -name plan.json -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)" >/dev/null ||
    fail "the options are not as given"
