# SPDX-License-Identifier: GPL-3.0-or-later
# What is written changes neither with the mode nor with the version of the program: for a fixed matrix of workloads
# and backends, what cmp, h5dump and ncdump see of the files has the sums in same-files.sums.
# `bash same-files.sh --record` prints them anew.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs h5dump ncdump
unwritten_stays_empty

# Workload and options; every line runs on every backend, in one mode after the other. A mode that writes something else
# has another sum; conformance has every pair of mode and backend.
jobs=(
    "stencil --size 37 --iterations 6 --write every=2,series=overwrite"
    "stencil --dims 3 --size 11 --iterations 6 --write every=2,series=append --perturbation sine"
    "stencil --size 37 --iterations 6 --write every=3,series=group,files=process"
    "pattern --variables 3 --fixed 1 --selection runs --runs 40 --order shuffled --blocks 2 --memory scattered --steps 3 --series append"
    "pattern --element x:f64,id:i64,tag:char*8 --selection strided --balance some-empty --series file"
    "frames --edge 10 --frames 3 --decomposition 3d"
    "particles --dims 500 --steps 2"
    "arrays --steps 2 --arrays 3 --rows 4 --columns 5 --rank 3 --process-rows 3"
    "bulk --block 64k --transfer 8k --segments 2 --order random --read no"
)
backends=(posix uring mpiio hdf5 netcdf pnetcdf)
modes=(sync+imm async+bg)

# A file's content in the words of an independent reader, without its name.
content() {
    case $backend in
        hdf5) h5dump "$1" | tail -n +2 ;;
        netcdf | pnetcdf) ncdump "$1" | tail -n +2 ;;
        *) cat "$1" ;;
    esac
}
sums() {
    local job file n=0
    for backend in "${backends[@]}"; do
        has_backend "$backend" || continue
        for job in "${jobs[@]}"; do
            mode=${modes[n++ % 2]}
            rm -rf "$data" "$runs"
            mkdir "$data"
            # shellcheck disable=SC2086
            "$TUTTI" run $job -n 3 --backend "$backend" --mode "$mode" --seed 7 --keep --quiet "${here[@]}" 2>err >out ||
                { echo "refused $backend $job"; continue; }
            find "$data" -type f | LC_ALL=C sort | while read -r file; do
                echo "$(content "$file" | sha1sum | cut -c 1-16) ${file##*/} $backend $job"
            done
        done
    done | LC_ALL=C sort -u
}

if [ "${1:-}" = --record ]; then
    sums
    exit
fi
expected=$SOURCE/tests/program/same-files.sums
sums >now
# A backend that this build lacks has no files to compare.
for backend in "${backends[@]}"; do
    has_backend "$backend" || { grep -v " $backend " "$expected" >fewer && mv fewer expected.sums && expected=$work/expected.sums; }
done
[ "$(grep -cv ^refused now)" -gt 50 ] || fail "nothing to compare"
diff "$expected" now >differs || { head -n 20 differs; fail "files differ from what they were"; }

# What the applications leave, the tools of each format read.
declare -A reads=([hdf5]="h5dump -H" [netcdf]="ncdump -h" [pnetcdf]="ncvalidator -q")
command -v ncvalidator >/dev/null || reads[pnetcdf]="ncdump -h"
for backend in "${!reads[@]}"; do
    has_backend $backend || continue
    for workload in "openpmd --min-block 4:4 --grid 4:4 --encoding group" "amr --cells 8 --plot-files 1 --particle-files 1" \
        "climate --columns 30 --levels 2" "checkpoint --width 16 --ffn 32 --depth 1 --vocabulary 32 --checkpoints 1 --every 1 --phase save" \
        "arrays --arrays 2 --steps 1 --rows 4 --columns 4" "parts --size 800 --dumps 1"; do
        # shellcheck disable=SC2086 # words
        expect 0 "$TUTTI" run $workload --quiet "${here[@]}" --backend $backend --path kept --keep
        find "$data" -type f -path '*kept*' >files
        [ -s files ] || fail "$workload has kept nothing"
        # shellcheck disable=SC2086
        while read -r file; do expect 0 ${reads[$backend]} "$file"; done <files
        rm -r "$data"/kept*
    done
done
