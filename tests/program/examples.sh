# SPDX-License-Identifier: GPL-3.0-or-later
# Every file in examples/ runs: one with a reference or a set is an ensemble, one with vary a study. docs-commands.sh runs the documentation's
# commands.
# processors: 1
# timeout: 600
. "$(dirname "$0")/lib.sh"

# What these files measure is not looked at: shorter runs show as well that every key of them works.
declare -A shorter=(
    [acceptance.yaml]="--set reference.iterations=1000"
    [bulk-cuda.yaml]="--block 16m"
    [checkpoint-cuda.yaml]="--width 64 --ffn 128"
    [frames-cuda.yaml]="--edge 20 --frames 4"
    [particles-cuda.yaml]="--dims 65536"
    [ensemble.yaml]="--set reference.iterations=200"
    [matrix.yaml]="--set set.solver.iterations=1000 --set set.reader.passes=10"
    [stencil-cuda.yaml]="--size 128 --iterations 400 --compute 1"
    [stencil.yaml]="--iterations 200"
)
for file in "$SOURCE"/examples/*.yaml; do
    backend=$(sed -n 's/^backend: *\([a-z0-9]*\).*/\1/p' "$file")
    if [ -n "$backend" ] && ! has_backend "$backend"; then continue; fi
    command=(run)
    # The tests' own device stands for one that this machine may not have.
    ! grep -q '^device:' "$file" || shorter[${file##*/}]+=" --device shadow"
    ! grep -q '^reference:' "$file" || command=(ensemble)
    ! grep -q '^set:' "$file" || command=(ensemble matrix)
    grep -q "^workload:" "$file" || ! grep -q "^parts:" "$file" || command=(survey flash)
    ! grep -q '^vary:' "$file" || command=(study --repeat 1)
    # What is to be judged needs its repetitions; for the rest one shows that it works.
    if [ "${command[0]}" = ensemble ] && ! grep -q '^require:' "$file"; then command+=(--repeat 1 --alone 1 --loads-alone no); fi
    [ "${command[0]}" = run ] || ! grep -q '^reference:' "$file" || command+=(--warmup 100ms)
    # shellcheck disable=SC2086
    LIMIT=300 expect 0 "$TUTTI" "${command[@]}" "$file" "${here[@]}" ${shorter[${file##*/}]:-}
    no_data_left
done

# Published sizes are for another machine: what they need can be said here. Ranks, what is written and read, in how many files.
published="amr 8 168 MiB 84.3 MiB 4
checkpoint-1t 1024 16.9 TiB 16.9 TiB 2048
checkpoint-405b 512 5.17 TiB 5.17 TiB 1024
checkpoint-70b 64 920 GiB 920 GiB 128
checkpoint-8b 8 105 GiB 105 GiB 16
cosmoflow 8 1.35 TiB 6.74 TiB 524288
openpmd 64 200 GiB 0 B 10"
for file in "$SOURCE"/examples/published/*.yaml; do
    expect 0 "$TUTTI" run "$file" --dry-run "${here[@]}"
    awk -v name="$(basename "$file" .yaml)" '/^would run/ { ranks = $5 } /^writes/ { written = $2 " " $3; sub(/,$/, "", written); files = $(NF - 1) }
        /^reads/ { read = $2 " " $3 } END { print name, ranks, written, read, files }' out
done >sizes
equal "$published" "$(cat sizes)" "published sizes"

# One repetition shows that every key works, and tells nothing. The published sizes are for another machine.
acceptance=$SOURCE/examples/acceptance
LIMIT=120 expect 4 "$TUTTI" accept "$acceptance/suite.yaml" --repeat 1 --quiet "${here[@]}"
expect 0 "$TUTTI" accept "$acceptance/suite.yaml" --size published --dry-run "${here[@]}"
equal 6 "$(grep -c '^part ' out)" "parts of the suite"
expect 0 "$TUTTI" run "$acceptance/gate.yaml" --label golden --require= --repeat 1 --quiet "${here[@]}"
expect 4 "$TUTTI" run "$acceptance/gate.yaml" --repeat 1 --quiet "${here[@]}"
expect 4 "$TUTTI" watch "$acceptance/canary.yaml" "${here[@]}"
no_data_left
for script in "$acceptance"/*.sbatch; do expect 0 bash -n "$script"; done

for file in h5bench h5bench-applications; do
    ! has_backend hdf5 || expect 0 "$TUTTI" h5bench "$SOURCE/examples/$file.json" --results "$runs" --min-free 0
done
[ ! -e h5bench-data ] || fail "h5bench leaves data behind"

REPEAT=1 DIR=$data LIMIT=300 expect 0 bash "$SOURCE/examples/papers/appendix"
