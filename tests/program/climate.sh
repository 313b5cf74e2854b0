# SPDX-License-Identifier: GPL-3.0-or-later
# Every element of a history file lies where it belongs, whichever rank asked for it and in whichever way; wrong ones are
# noticed; requests are as many as the kernel sees; an index leads to the elements of blobs.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq cmp awk

# Sizes of the case that is asked for.
cat >small <<'END_OF_FILE'
#!/bin/bash
case " $* " in
*' --case G '*) sizes=(--levels 3 --cells 40 --edges 130 --vertices 90) ;;
*' --case I '*) sizes=(--latitudes 6 --longitudes 10) ;;
*) sizes=(--columns 60 --levels 3) ;;
esac
exec "$TUTTI" run climate "${sizes[@]}" "$@"
END_OF_FILE
chmod +x small
climate=("$work/small" --quiet "${here[@]}" --records 2 --json out.json)
kept() { # NAME OPTION...: files that stay
    local name=$1
    shift
    expect 0 "${climate[@]}" --keep --path "$data/$name" "$@"
}
same() { cmp "$data/$1" "$data/$2" || fail "the files $1 and $2 differ"; }
size() { stat -c %s "$data/$1"; }

# F: a file of 387 distributed variables and one record, and one of 24 with all records; sizes by the list of variables.
kept f -n 2
fixed=$((3 * 60 * 8 + (3 * 3 + 3 * 4 + 1) * 8 + 5 * 4))
record=$(((1 + 2 + 6) * 8 + 5 * 4 + 2 * 8))
equal "$(size f_h1)" $((fixed + 2 * (record + 20 * 60 * 8 + 1 * 180 * 8))) "size of h1"
equal "$(size f_h0)" $((fixed + record + 321 * 60 * 8 + 63 * 180 * 8)) "size of h0"
equal "$(($(size f_h0) + $(size f_h1)))" "$(metric bytes_written)" "bytes written"

# The same bytes by one rank, in the model's own order, from every second element of memory, and asynchronously.
kept one -n 1
same f_h0 one_h0
same f_h1 one_h1
kept other -n 3 --sorted no --memory interleaved --mode async+bg --compute 1 --files h1
same f_h1 other_h1

# G and I: all arrays are full; holes stay where the land ends.
kept g -n 2 --case G
record=$((64 + 6 * 8 + 8 * (4 * 40 + 130 + 3 * (24 * 40 + 130 + 90) + 4 * 4 * 40)))
equal "$(size g)" $((4 * (2 * 40 + 130 + 3 * (40 + 130 + 90)) + 4 * 3 * 8 + 2 * record)) "size of G's file"
kept g1 -n 1 --case G
same g g1
levels=$((460 + 15 * 69 + 10 * 2 + 9 + 17))
fixed=$((4 * (15 + 15 + 10 + 6 + 10) + 5 * 60 * 4)) record=$((4 + 5 * 4 + 16 + 32))
kept i -n 2 --case I --type float --fill yes
equal "$(size i_h1)" $((fixed + record + levels * 60 * 4)) "size of I's h1"
equal "$(size i_h0)" $((fixed + (15 * 6 + 10 * 2) * 60 * 4 + 2 * (record + levels * 60 * 4))) "size of I's h0"
equal "$(($(size i_h0) + $(size i_h1)))" "$(metric bytes_written)" "bytes written without holes"
kept i1 -n 1 --case I --type float
[ "$(metric bytes_written)" -lt $((($(size i_h0) + $(size i_h1)) / 2)) ] || fail "more than the land was written"
equal "$(cmp -l "$data/i_h1" "$data/i1_h1" | awk '$3 != 0' | wc -l)" 0 "bytes that are neither right nor holes"
rm "$data"/*

# Requests: of F, whose columns are never neighbours, the kernel sees every one.
if command -v strace >/dev/null; then
    for sorted in yes no; do
        observe -e trace=pwritev -o calls "${climate[@]}" -n 2 --files h1 --sorted $sorted >out 2>err || fail "$(cat err)"
        equal "$(grep -c 'pwritev(' calls)" "$(metric requests)" "requests"
    done
fi

# Blobs: by its index every element is found where the canonical file has it.
if has_backend hdf5 && command -v h5dump >/dev/null; then
    values() { h5dump -y -w 1 -m %.17g "${@:2}" "$data/$1" | awk '/DATA {/ { inside = 1; next } /}/ { inside = 0 } inside { gsub(",", ""); print $1 }'; }
    kept blob -n 3 --layout blob --backend hdf5 --files h1 --sorted no
    kept canonical -n 3 --backend hdf5 --files h1
    for variable in profile_001=D3 surface_020=D2; do
        map=${variable#*=} variable=${variable%=*}
        values blob_h1 -d "/$map.offsets" >offsets
        values blob_h1 -d "/$variable" >blob
        values canonical_h1 -d "/$variable" >wanted
        equal "$(wc -l <blob)" "$(wc -l <wanted)" "elements of $variable"
        awk -v n="$(wc -l <offsets)" 'FILENAME == "offsets" { at[FNR - 1] = $1 } FILENAME == "blob" { i = FNR - 1; v[int(i / n) * n + at[i % n]] = $1 }
            FILENAME == "wanted" && v[FNR - 1] != $1 { print FNR - 1, v[FNR - 1], $1; exit 1 }' offsets blob wanted ||
            fail "$variable is not where $map says"
    done
    equal "$(values blob_h1 -d /D3.nreqs | paste -sd+ | bc)" 180 "requests by the index"
    equal "$(values blob_h1 -d /D3.blob_start | tr '\n' ' ')" "0 60 120 " "where blobs start"
    rm "$data"/*
fi

# A later run reads what was kept; a single byte that differs is found; so is another seed.
for layout in canonical blob; do
    kept f -n 2 --records 4 --flush 2 --layout $layout
    read=("${climate[@]}" -n 2 --records 4 --flush 2 --layout $layout --phase read --path "$data/f")
    expect 0 "${read[@]}"
    equal "$(($(size f_h0) + $(size f_h1)))" "$(metric bytes_read)" "bytes read"
    expect 1 "${read[@]}" --seed 2
    one_line "is not what was written with these keys and this seed"
    printf '\377' | dd of="$data/f_h1" bs=1 seek=$(($(size f_h1) - 5)) conv=notrunc status=none
    expect 1 "${read[@]}"
    one_line "flush 1: element [0-9]+ of '(profile_001|D3.lengths)' is not"
    rm "$data"/*
done

# Every backend takes all that, whatever it makes of it; computation goes on beside it.
for backend in mpiio hdf5 netcdf pnetcdf uring discard; do
    has_backend $backend || continue
    expect 0 "${climate[@]}" -n 2 --case G --phase both --backend $backend --mode async --compute 1 --sorted no
    expect 0 "${climate[@]}" -n 2 --files h1 --phase both --backend $backend --flush 2 --layout blob
done
no_data_left
jq -e '.tables.climate | length > 0 and (map(.write_least <= .write_most) | all)' out.json >/dev/null || fail "times out of order"
holds '$rate > 0 and $rate <= $alone * 1.0001' rate="$(metric open_to_close_rate)" alone="$(metric write_rate)"

# In an ensemble it is played again and again.
expect 0 "${climate[@]}" -n 2 --case G
iterations_wanted=4 perform_endlessly 2 "$(last_run)"
no_data_left

# The published sizes, for other machines.
for file in "$SOURCE"/examples/climate/*.yaml; do
    expect 0 "$TUTTI" run "$file" --dry-run "${here[@]}"
    grep -hE '^would run|^writes' out >>sizes
done
grep -q 'climate on 21600 ranks' sizes && grep -q '^writes  *41.5 GiB in 26 dumps' sizes || fail "size of F: $(cat sizes)"
grep -q 'climate on 9600 ranks' sizes && grep -q '^writes  *79.7 GiB in 1 dump' sizes || fail "size of G: $(cat sizes)"
grep -q 'climate on 1344 ranks' sizes && grep -q '^writes  *172 GiB in 241 dumps' sizes || fail "size of I: $(cat sizes)"
usage "climate.flush 3 does not divide climate.records 2; give a divisor" "${climate[@]}" --flush 3
usage "case G has one file" "${climate[@]}" --case G --files h0
usage "only case I has holes" "${climate[@]}" --fill yes
usage "climate.columns has no effect outside case F: leave it out" "${climate[@]}" --case G --columns 9
usage "climate.vertices has no effect outside case G: leave it out" "${climate[@]}" --vertices 9
usage "climate.land has no effect outside case I: leave it out" "${climate[@]}" --case G --land 9
usage "climate.levels has no effect in case I: leave it out" "${climate[@]}" --case I --levels 3
usage "climate.type has no effect in case G: leave it out" "${climate[@]}" --case G --type float
usage "climate.records has no effect on that file, which has one record" "${climate[@]}" --files h0
usage "climate.flush has no effect on that file" "${climate[@]}" --case I --files h1 --records 5 --flush 5
usage "no point of so small a grid" "${climate[@]}" --case I --latitudes 1 --longitudes 2
usage "longitudes is more than 268435456" "${climate[@]}" --case I --latitudes 1048576 --longitudes 1048576
usage "needs climate.path" "${climate[@]}" --phase read
usage "discard keeps nothing" "${climate[@]}" --phase read --path x --backend discard
usage "too large" "${climate[@]}" --columns 4000000000 --levels 1000000 --records 1000000
usage "did you mean|canonical" "${climate[@]}" --layout block
