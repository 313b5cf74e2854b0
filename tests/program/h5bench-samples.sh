# SPDX-License-Identifier: GPL-3.0-or-later
# The shapes of h5bench's own samples, with smaller dimensions and shorter sleep: all that are ours run as they are.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/h5bench.lib"

# Every sample has these keys, and a value for all three dimensions.
mode=SYNC
sample() { # NAME DIMS KEYS
    local d
    read -r -a d <<<"$2"
    printf '{"benchmark": "%s", "file": "test.h5", "configuration": {"MEM_PATTERN": "%s", "FILE_PATTERN": "%s", "TIMESTEPS": "5",
"DELAYED_CLOSE_TIMESTEPS": "2", "COLLECTIVE_DATA": "YES", "COLLECTIVE_METADATA": "YES", "EMULATED_COMPUTE_TIME_PER_TIMESTEP": "1 ms",
"NUM_DIMS": "%d", "DIM_1": "%s", "DIM_2": "%s", "DIM_3": "%s", "CSV_FILE": "output.csv", "MODE": "%s"%s}}' \
        "$1" "${memory:-CONTIG}" "${file:-CONTIG}" ${#d[@]} "${d[0]}" "${d[1]:-1}" "${d[2]:-1}" $mode "${3:+, $3}"
}
# Open MPI's options are in most samples.
launcher='"command": "mpirun", "ranks": "2"'
[[ $RANKS != *OVERSUBSCRIBE* ]] || launcher='"command": "mpirun", "ranks": "4", "configuration": "--allow-run-as-root --oversubscribe -np 2 "'
all_done() { # BENCHMARKS...
    workflow "$@"
    sed -i "s/\"command\": \"mpirun\", \"ranks\": \"2\"/$launcher/" job.json
    LIMIT=100 expect 0 "${h5bench[@]}" job.json --json all.json
    equal "$(jq -r '[.benchmarks[] | select(.reads) | select(.verified != true)] | length' all.json)" 0 \
        "reads that are not checked"
    no_data_left
}

# One dimension: from contiguous or interleaved memory to either; read as a whole, in "part", in strides.
strides='"STRIDE_SIZE": "2", "BLOCK_SIZE": "2", "BLOCK_CNT": "16"'
all_done "$(sample write 64)" "$(sample read 64 '"READ_OPTION": "FULL"')" "$(sample read 64 '"READ_OPTION": "PARTIAL"')" \
    "$(file=INTERLEAVED sample write 64)" "$(memory=INTERLEAVED sample write 64)" "$(memory=INTERLEAVED file=INTERLEAVED sample write 64)" \
    "$(file=STRIDED sample write 64 "$strides")" "$(file=STRIDED sample read 64 "\"READ_OPTION\": \"STRIDED\", $strides")"

# Two and three; parts of a plane.
block='"BLOCK_SIZE": "1", "BLOCK_SIZE_2": "1"'
all_done "$(file=INTERLEAVED sample write '6 6')" "$(memory=INTERLEAVED sample write '6 6')" \
    "$(memory=INTERLEAVED file=INTERLEAVED sample write '6 6')" "$(sample write '6 6')" "$(sample read '6 6' '"READ_OPTION": "FULL"')" \
    "$(sample read '6 6' "\"READ_OPTION\": \"LDC\", $block")" "$(sample read '6 6' "\"READ_OPTION\": \"RDC\", $block")" \
    "$(sample read '6 6' "\"READ_OPTION\": \"PRL\", $block, \"BLOCK_SIZE_3\": \"1\"")"
equal "$(sizes)" "11520 11520 11520 11520 11520 320 320 3200"
all_done "$(sample write '32 32')" "$(sample read '32 32' '"READ_OPTION": "CS", "BLOCK_SIZE": "2", "BLOCK_SIZE_2": "2", "STRIDE_SIZE": "4", "STRIDE_SIZE_2": "3"')" \
    "$(sample write '4 4 4')" "$(sample read '4 4 4')"

# Asynchronously, aligned, and with the connector for it.
mode=ASYNC
all_done "$(sample write 64)" "$(sample read 64 '"READ_OPTION": "FULL"')" "$(sample write '4 4 4')" "$(sample read '4 4 4')" \
    "$(sample write 64 '"ALIGN":"YES", "ALIGN_THRESHOLD":"4096", "ALIGN_LEN":"4096"')"
mode=SYNC

# Files that change; numbers that vary.
append=$(sample append 40 '"READ_OPTION": "FULL"')
all_done "$(sample write-unlimited 40 '"COMPRESS": "YES"')" "${append/\"DELAYED_CLOSE_TIMESTEPS\": \"2\", /}" \
    "$(sample overwrite 40 '"READ_OPTION": "FULL"')" "$(sample write_var_normal_dist 512 '"STDEV_DIM_1":"100"')"

# Compressed by HDF5's filters; without those that are not installed, which is said.
chunk='"COMPRESS": "YES", "CHUNK_DIM_1": "8", "CHUNK_DIM_2": "8", "CHUNK_DIM_3": "8", "COMPRESS_FILTER"'
all_done "$(sample write '8 8 8' "$chunk: \"GZIP\"")" "$(sample read '8 8 8')"
HDF5_PLUGIN_PATH=$work/none
export HDF5_PLUGIN_PATH
all_done "$(sample write '8 8' "$chunk: \"N_BIT\"")" "$(sample read '8 8')" "$(sample write '8 8' "$chunk: \"SZ3\"")" \
    "$(sample write '8 8' "$chunk: \"ZFP\", \"COMPRESS_PARAMS\": \"1 0 0 1075838976\"")" "$(sample write 8)"
unset HDF5_PLUGIN_PATH
grep -q '^! without effect: hdf5.filter.sz3=sz3 (HDF5 has no such filter' out || fail "nobody says that a filter is missing"

# Applications: a series is read as it was written; a restart. Bytes of 128 mini-blocks of 64 cells, and of two planes of 32 x 16;
# of two plot files and two particle files of 8 boxes of 512 cells, and of a plot file with 8, 64 and 64 of them.
openpmd() { printf '{"benchmark": "openpmd", "configuration": {"operation": %s}}' "$1"; }
amrex='"max_grid_size": "8", "nlevs": "1", "ncomp": "6", "nppc": "2", "nplotfile": "2", "nparticlefile": "2", "sleeptime": "0.01", "restart_check": "1"'
all_done "$(openpmd '"write", "fileLocation": "x", "dim": "3", "balanced": "true", "ratio": "1", "steps": "1", "minBlock": "4 4 4", "grid": "8 4 4"')" \
    "$(openpmd '"read", "pattern": "sy"')" "$(openpmd '"read", "pattern": "m"')" \
    "{\"benchmark\": \"amrex\", \"file\": \"amrex.h5\", \"configuration\": {\"ncells\": \"16\", $amrex, \"mode\": \"SYNC\"}}" \
    '{"benchmark": "amrex", "file": "amrex.h5", "configuration": {"ncells": "16", "nplotfile": "1", "nparticlefile": "0", "sleeptime": "0",
    "mode": "SYNC", "nlevs": "3", "grids_from_file": "1", "ref_ratio_file": "4 2"}}'
equal "$(sizes)" "655360 8192 0 $((2 * (8 * (512 * 6 * 8 + 36) + 72 + 8 * (1024 * 144 + 28)))) $((136 * (512 * 6 * 8 + 36) + 139 * 8))" "sizes of applications"
grep -q "^tutti: amrex: no file of grids is read" err || fail "no word of the grids: $(cat err)"

# E3SM's history files: h1 with two records, and h0; the map is known by its name.
all_done '{"benchmark": "e3sm", "file": "test.h5", "configuration": {"k": "", "r": "2", "map": "../../e3sm/datasets/map_f_case_16p.h5"}}'
grep -q "^tutti: e3sm: 'map_f_case_16p.h5' is not read: .* the decomposition of case F is made up" err || fail "no word of the map: $(cat err)"
grep -qE '^End to end \[s\] +[0-9.]+ +[0-9.]+$' out && grep -qE '^Write requests +[0-9]+$' out || fail "no figures of E3SM-IO"
jq -e '.benchmarks[0].figures | .requests > 100 and .["end-to-end-max"] >= .["open-max"] and .["total size"] > 0' all.json >/dev/null ||
    fail "figures of E3SM-IO are wrong"

# MACSio's parts: a file per rank where more are asked for, in turn to one file, and all ranks together.
macsio() { printf '{"benchmark": "macsio", "file": "test.h5", "configuration": {"parallel_file_mode": "%s", "part_size": "8K", "num_dumps": "2"}}' "$1"; }
all_done "$(macsio 'MIF 8')" "$(macsio 'MIF 1')" "$(macsio SIF)"
each=$((2 * 2 * 20 * 32 * 32 * 8))
equal "$(sizes)" "$each $each $each" "sizes of parts"
equal "$(jq -r '[.benchmarks[].result.metrics.files | .value? // .] | join(" ")' all.json)" "4 2 2" "files of parts"
grep -q '^tutti: macsio: MIF 8 is more files than the 2 ranks' err || fail "no word of the files: $(cat err)"

# The exerciser: two sizes, of 2 x 8 x 8 and of 2 x 16 x 16 doubles, each written ten times; the sample's dimranks are not its ranks.
exerciser='{"benchmark": "exerciser", "configuration": {"numdims": "2", "minels": "8 8", "nsizes": "2", "bufmult": "2 2", "dimranks": "8 4",
"keepfile": "false", "indepio": "true", "addattr": "true", "usechunked": "false"}}'
all_done "$exerciser"
equal "$(sizes)" $((10 * 2 * 8 * (64 + 256))) "bytes of the exerciser"
grep -q "^tutti: exerciser: the product of dimranks '8 4' is 32, but there are 2 ranks: only the first" err || fail "no word of dimranks: $(cat err)"
equal "$(grep -cE '^(Min|Med|Max|Avg|Std) +(512|2048)( +[0-9.]+){7}$' out)" 10 "lines of the exerciser"
equal "$(awk 'length > 80 && !/^(results|workflow)/' out)" "" "lines wider than 80 columns"
jq -e '.benchmarks[0].figures.sizes | length == 2 and all(.[]; .H5DWrite | .[0] <= .[1] and .[1] <= .[2] and .[0] <= .[3] and .[3] <= .[2]) and
    (.[0] | .RawWrBDWTH[2] * .H5DWrite[0] - 1024 | fabs < 1e-3)' all.json >/dev/null || fail "figures of the exerciser are wrong"

# From and to the memory of a GPU, for which the tests' own device stands; the figures of the copies are h5bench's.
workflow "$(sample cuda_write 64 '"FILE_PER_PROC": "YES"')" "$(sample cuda_read 64 '"FILE_PER_PROC": "YES", "READ_OPTION": "FULL"')" "$(sample cuda_write '6 6')"
expect 0 "${h5bench[@]}" job.json --json all.json --device shadow
equal "$(jq -r '.benchmarks[1].verified' all.json)" true "whether the read is checked"
equal "$(jq -r '[.benchmarks[].result.plan.parameters | "\(.device) \(.["device.staging"])"] | unique | join(",")' all.json)" "shadow pageable" "the device"
jq -e '[.benchmarks[].figures | .["total size"] - (.["raw d2h rate"] // .["raw h2d rate"]) * (.["raw d2h time"] // .["raw h2d time"]) | fabs < 1e-6] | all' \
    all.json >/dev/null || fail "what left and entered the device: $(jq -c '[.benchmarks[].figures]' all.json)"
grep -q '^Raw d2h time: [0-9.]* s$' out && grep -q '^SYNC Raw h2d rate: ' out || fail "no figures of the device: $(cat out)"
expect 0 "${h5bench[@]}" job.json --json all.json --device host
equal "$(jq -c '[.benchmarks[].figures | has("raw d2h time")] | unique' all.json)" "[false]" "copies without a device"
if ! ldconfig -p | grep -q 'libcuda\.so'; then
    expect 1 "${h5bench[@]}" job.json
    grep -q "device cuda: the CUDA driver cannot be opened" err || fail "no word of the driver: $(cat err)"
fi
no_data_left

# What belongs to other programs is named; so is what MACSio and E3SM-IO could do, and what they would ignore has no effect.
workflow '{"benchmark": "dlio", "configuration": {"generate-data": "true", "record-length": "64"}}' \
    '{"benchmark": "qmcpack", "configuration": {"i": "100", "g": "4 4 1"}}' \
    "$(sample cuda_write 64 '"FILE_PER_PROC": "YES", "DYNAMIC_VFD_NAME": "gds"')" "$(sample write 64)" \
    '{"benchmark": "macsio", "file": "m.h5", "configuration": {"part_size": "800B", "num_dumps": "1", "meta_type": "tabular"}}' \
    '{"benchmark": "macsio", "file": "m.h5", "configuration": {"part_size": "800B", "num_dumps": "1"}}' \
    '{"benchmark": "e3sm", "file": "e.h5", "configuration": {"f": "1", "g": "-1", "map": "map_g_case_16p.h5"}}'
# The connector of another cache is not loaded in MODE SYNC; its path may be a list.
sed -i 's/"vol": {}/"vol": {"library": "\/lib", "path": ["vol\/lib"], "connector": "cache_ext config=x;under_vol=512"}/' job.json
expect 1 "${h5bench[@]}" job.json --json all.json
equal "$(statuses)" "not run not run not run done not run done done"
grep -q "meta_type: an option of MACSio without counterpart" out || fail "not said why: $(cat out)"
grep -q "^tutti: e3sm: g has no effect" err || fail "no word of the subfiles: $(cat err)"
no_data_left
