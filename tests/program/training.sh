# SPDX-License-Identifier: GPL-3.0-or-later
# Training reads every sample of an epoch once, no more than it says; finds its files again; changes nobody else's.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

training=("$TUTTI" run training --quiet --seed 3 --compute 1 --json out.json "${here[@]}")
small=(--files 21 --size 3k --deviation 500 --batch 2 --epochs 3)
counts() { jq -c '[.calls.open.count, .calls.read.count, (.metrics | .files, .bytes_written | .value * 1)]' out.json; }

# Counts: incomplete batches are dropped, of every rank alike; sizes are those of the files.
for n in 2 5; do
    expect 0 "${training[@]}" -n $n "${small[@]}" --path kept --keep
    used=$((21 / n / 2 * 2 * n * 3))
    equal "$(counts)" "[$used,$used,21,0]" "samples opened and read by $n ranks in three epochs, files, and bytes written meanwhile"
    holds '$some <= $all' some="$(metric bytes_read)" all=$((3 * $(cat "$data"/kept/* | wc -c)))
    find "$data/kept" -type f -printf '%f %s\n' | sort >sizes.$n
    rm -r "$data/kept"
done
cmp sizes.2 sizes.5 || fail "sizes depend on the number of ranks"

# All of every file in each epoch, whoever reads, ahead or not, and in whichever order.
expect 0 "${training[@]}" -n 3 "${small[@]}" --batch 1 --path kept --keep
bytes=$(cat "$data"/kept/* | wc -c)
equal "$(metric bytes_read)" $((3 * bytes)) "bytes of three epochs"
find "$data/kept" -type f -printf '%p %T@\n' | sort >before
for how in "--workers 0" "--workers 3 --prefetch 5 --shuffle none" "--shuffle files --workers 1"; do
    # shellcheck disable=SC2086
    expect 0 "${training[@]}" "${small[@]}" --batch 3 --path kept $how
    equal "$(jq -c '[.metrics | .bytes_read, .files | .value * 1]' out.json)" "[$((3 * bytes)),0]" "bytes read and files made with $how"
done
find "$data/kept" -type f -printf '%p %T@\n' | sort | diff before - || fail "the files have changed"
equal "$(jq -c '[.tables.epochs[].samples]' out.json)" "[18,18,18]" "samples of epochs without their first steps"
jq -e '.metrics.sample_rate.value as $rate | .tables.epochs | (map(.samples) | add) / (map(.seconds) | add) / $rate - 1 | fabs < 1e-9' \
    out.json >why || fail "the rate is not that of the table"

# Files of other keys, spoilt files, directories of others.
expect 1 "${training[@]}" "${small[@]}" --path kept --seed 4
one_line "has [0-9]+ bytes instead of [0-9]+: it was made with other keys or another seed"
for i in $(seq 0 20); do
    printf 'xxxxxxxxxxxxxxxx' | dd of="$data/kept/sample-0000$(printf %02d "$i")" bs=1 seek=800 conv=notrunc status=none
done
expect 1 "${training[@]}" -n 2 "${small[@]}" --path kept
one_line "sample-0000[0-9]+': byte 800 of sample [0-9]+ is not what was written"
rm -r "$data/kept"
mkdir "$data/mine"
expect 1 "${training[@]}" "${small[@]}" --path mine
one_line "does not look like a tree that tutti made"
rmdir "$data/mine"
no_data_left

# Several samples in a file, which a layer compares with what was written; and sizes that suit O_DIRECT.
expect 0 "${training[@]}" -n 2 --workers 0 --layers verify --files 4 --per-file 5 --size 3k --deviation 1k --batch 5 --epochs 2
equal "$(counts)" "[40,40,4,0]" "samples of two epochs, files, and bytes written meanwhile"
jq -e '.layers[0].seconds > 0 and .layers[0].bytes_read == .metrics.bytes_read.value' out.json >why || fail "the layer's cost is $(jq -c .layers out.json)"
expect 0 "${training[@]}" -n 2 --files 4 --per-file 3 --size 8k --deviation 1k --align 4k --batch 2 --epochs 2
again=$(last_run)
no_data_left

# A rank that only sleeps is as good as never kept waiting by files in memory; an inline load is all waiting.
expect 0 "${training[@]}" --files 40 --size 64k --batch 2 --epochs 1 --compute 0 --pause 10ms
holds '$use > 0.5 and $use <= 1 and $rate <= 200' use="$(metric accelerator_utilisation)" rate="$(metric sample_rate)"
jq -r '.warnings[].text' out.json | grep -q "computation is emulated" || fail "nobody says that it is emulated"
expect 0 "${training[@]}" --files 8 --size 64k --batch 2 --epochs 1 --compute 0 --workers 0
equal "$(metric accelerator_utilisation)" 0 "utilisation without computation"

# The cache of memory file systems cannot be emptied, which is told.
equal "$(metric bytes_cached)" "$(metric bytes_read)" "cached bytes"
jq -r '.warnings[].text' out.json | grep -q "reads came from the page cache" || fail "nobody says where reads came from"

# Stopped by a limit or by its driver, in the middle of an epoch.
expect 1 "${training[@]}" -n 2 "${small[@]}" --epochs 1000000 --max-time 0.3
one_line "max-time"
no_data_left
iterations_wanted=50 perform_endlessly 2 "$again"
no_data_left
no_process_left
expect 1 "${training[@]}" --files 10 --size 1m --max-bytes 9m
one_line "max-bytes"

usage "training.prefetch has no effect with training.workers=0: leave it out" "${training[@]}" --workers 0 --prefetch 4
usage "not possible on discard, because it keeps nothing" "${training[@]}" --backend discard
usage "21 samples are less than a batch of 30 for each of 1 ranks" "${training[@]}" "${small[@]}" --batch 30
usage "only one thread at a time may call layers" "${training[@]}" --layers verify
usage "only one thread at a time may call mpiio" "${training[@]}" --backend mpiio
usage "add --mode async" "${training[@]}" --backend mpiio --workers 1
usage "more than can be counted" "${training[@]}" --files 268435456 --per-file 4096 --size 16g

# Each way of loading by a backend of each kind: files of bytes, and of variables.
declare -A loading=([uring]="--workers 0" [netcdf]="--workers 0")
for backend in mpiio uring mmap hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    # shellcheck disable=SC2086
    expect 0 "${training[@]}" -n 2 "${small[@]}" --backend $backend ${loading[$backend]:---workers 1 --mode async} --path kept --keep
    [ $backend != hdf5 ] || ! command -v h5dump >/dev/null ||
        h5dump -H "$data/kept/sample-000001" | grep -q "DATASET \"samples\"" || fail "h5dump finds no samples"
    rm -r "$data/kept"
done
no_data_left
