# SPDX-License-Identifier: GPL-3.0-or-later
# Checkpoints: what stands in place is whole and the newest, any number of ranks restores it, and nothing else is touched,
# also when a rank is killed while it renames.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

small=(--width 64 --ffn 128 --depth 3 --vocabulary 512 --checkpoints 3 --every 2)
checkpoint=("$TUTTI" run checkpoint --quiet --seed 3 --compute 1 "${small[@]}" --json out.json "${here[@]}")
parameters=$((2 * 512 * 64 + 64 + 3 * (2 * 64 + 4 * 64 * 64 + 3 * 64 * 128)))
bytes() { cat "$@" | wc -c; }

counts() { jq -c '[.metrics | .bytes_written, .bytes_read, .files | .value * 1]' out.json; }
for how in "--mode async+bg" "--sharding parallel --pipeline 2 --sync close"; do
    # shellcheck disable=SC2086
    expect 0 "${checkpoint[@]}" -n 4 $how --path ck --keep
    equal "$(counts)" "[$((3 * 14 * parameters)),$((14 * parameters)),24]" "bytes written and restored, and files made, with $how"
    equal "$(find "$data" -type f | wc -l)" 16 "files of the newest two checkpoints"
    equal "$(bytes "$data"/ck.000003.model.000[0-3])" $((2 * parameters)) "bytes of the model"
    equal "$(bytes "$data"/ck.000002.optimizer.*)" $((12 * parameters)) "bytes of the optimizer"
    cmp -s "$data"/ck.00000[23].model.0000 && fail "two checkpoints are the same"
    jq -e '.metrics.checkpoint_time.value as $mean | .tables.checkpoints | map(.number) == [1, 2, 3] and
        ((map(.seconds) | add / 3) - $mean | fabs) < 1e-9' out.json >why || fail "the table is $(jq -c .tables.checkpoints out.json)"
    [[ $how == *parallel* ]] || rm "$data"/ck.*
done

# Other numbers of ranks restore what four have saved; nobody takes one checkpoint for another, or a spoilt one for right.
restore=("${checkpoint[@]}" --phase restore --saved-by 4 --sharding parallel --pipeline 2 --path ck)
expect 0 "${restore[@]}" -n 2
equal "$(counts)" "[0,$((14 * parameters)),0]" "bytes written, bytes restored by two ranks, and files made"
expect 0 "${restore[@]}" -n 5 --restore-ranks 2 --checkpoints 2
expect 1 "${restore[@]}" -n 2 --saved-by 2
one_line "bytes instead of [0-9]+: it was saved with other keys, or by another number of ranks"
mv "$data"/ck.000002.model.0001 "$data"/ck.000003.model.0001
expect 1 "${restore[@]}" -n 2
one_line "checkpoint 3: byte [0-9]+ of [a-z0-9_]+ is not what was saved"
rm "$data"/ck.000003.model.0001
expect 1 "${restore[@]}" -n 2
one_line "checkpoint 3 is not there as a whole: '.*ck.000003.model.0001' is missing; .* a run leaves only the newest"
rm "$data"/ck.*
no_data_left

# Steps come before the first checkpoint, too, and the last one that was saved is the one that is restored.
expect 0 "${checkpoint[@]}" -n 2 --checkpoints 2 --every 3 --keep-newest 1 --keep --path ck
equal "$(jq '[.samples.ranks[0].rows[][0]] | max' out.json)" $((3 * 3 + 1)) "steps and the restore"
equal "$(ls "$data" | cut -d . -f 2 | sort -u)" 000002 "what stays"
expect 0 "${checkpoint[@]}" -n 2 --phase restore --checkpoints 2 --path ck
expect 1 "${checkpoint[@]}" -n 2 --phase restore --checkpoints 1 --path ck
one_line "checkpoint 1 is not there as a whole"
rm "$data"/ck.*

# Beside computation only the copy is waited for, while the store is slow; also for the last one.
expect 0 "${checkpoint[@]}" --mode async+bg --compute 20ms --every 12 --checkpoints 2 --phase save --layers throttle --throttle.rate 16m
jq -e '.tables.checkpoints | all(.stall < 0.7 * .seconds)' out.json >why || fail "training stands still: $(jq -c .tables.checkpoints out.json)"
expect 0 "${checkpoint[@]}" -n 3 --restore-ranks 2 --layers verify
equal "$(jq -c '.verify | [.bytes, .wrong_blocks]' out.json)" "[$((2 * 14 * parameters)),0]" "bytes of two checkpoints, and wrong blocks"
equal "$(jq -c '.layers[0].bytes_read * 1' out.json)" $((14 * parameters)) "bytes that the layer has restored"
no_data_left

# A file of somebody else's stands where a checkpoint is to be.
echo mine >"$data/ck.000002.optimizer.0001"
expect 1 "${checkpoint[@]}" -n 2 --path ck
one_line "ck.000002.optimizer.0001' exists and does not look like a file that tutti made"
equal "$(cd "$data" && echo *)" ck.000002.optimizer.0001 "what is left"
equal "$(cat "$data/ck.000002.optimizer.0001")" mine "the file"
rm "$data/ck.000002.optimizer.0001"

# Killed before a rename, and after it: what was made is known under whichever name it has.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    for where in renameat2:when=3 fsync:when=6; do
        expect 1 env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq -o calls -e trace="${where%:*}" \
            -e inject="${where%:*}:signal=KILL:${where#*:}" "${checkpoint[@]}" --checkpoints 2 --path ck
        grep -q "killed by SIGKILL" calls || fail "nobody was killed at $where"
        no_data_left
    done
fi
expect 1 "${checkpoint[@]}" -n 2 --checkpoints 1000000 --max-time 0.3
one_line "max-time"
no_data_left
expect 0 "${checkpoint[@]}" -n 2
iterations_wanted=30 perform_endlessly 2 "$(last_run)"
no_data_left
no_process_left

usage "leave out --sync never" "${checkpoint[@]}" --sync never
usage "phase=restore needs checkpoint.path" "${checkpoint[@]}" --phase restore
usage "saved_by needs checkpoint.phase=restore" "${checkpoint[@]}" --saved-by 2
usage "checkpoint.depth has no effect with a checkpoint.model of a published size: leave it out" "$TUTTI" run checkpoint "${here[@]}" --model 8b --depth 3
usage "checkpoint.pipeline has no effect without checkpoint.sharding=parallel" "${checkpoint[@]}" -n 2 --pipeline 2
usage "checkpoint.restore_ranks has no effect with checkpoint.phase=save" "${checkpoint[@]}" -n 2 --phase save --restore-ranks 1
usage "restore_ranks is 3, but there are 2 ranks" "${checkpoint[@]}" -n 2 --restore-ranks 3
usage "4 ranks are not a multiple of tensor 3 x pipeline 1" "${checkpoint[@]}" -n 4 --sharding parallel --tensor 3
usage "keeps nothing" "${checkpoint[@]}" --phase restore --path x --backend discard
expect 0 "${checkpoint[@]}" --backend discard

declare -A modes=([hdf5]="--mode async" [mpiio]="--mode async+bg")
for backend in mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    # shellcheck disable=SC2086
    expect 0 "${checkpoint[@]}" -n 2 --backend $backend ${modes[$backend]:-} --checkpoints 1 --restore-ranks 1 --keep --path ck
    [ $backend != hdf5 ] || ! command -v h5dump >/dev/null ||
        equal "$(h5dump -H "$data/ck.000001.model.0000" | grep -c DATASET)" 30 "tensors in the file"
    rm "$data"/ck.*
done
# The helper writes also where nonblocking calls would overlap: nobody could tell when these have ended.
if has_backend uring; then
    expect 0 "${checkpoint[@]}" -n 2 --backend uring --mode async
    equal "$(jq -r .overlap.executor out.json)" helper "who writes"
fi
no_data_left
