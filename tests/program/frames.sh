# SPDX-License-Identifier: GPL-3.0-or-later
# Every byte of a frame lies where it belongs, however many ranks wrote it and in whichever way; wrong ones are
# noticed; the figures of frames are those of what was written.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq od cmp

frames=("$TUTTI" run frames --quiet "${here[@]}" --frames 4 --header 100 --metadata 20 --json out.json)
kept() { # NAME OPTION...: a file that stays
    local name=$1
    shift
    expect 0 "${frames[@]}" --keep --path "$data/$name" "$@"
}
same() { cmp "$data/$1" "$data/$2" || fail "the files $1 and $2 differ"; }

# A header, then frames of metadata, data and metadata: 2 x 3 x 4 floats of each of 5 ranks.
kept raw -n 5 --dims 2:3:4
frame=$((20 + 5 * 2 * 3 * 4 * 4 + 20))
equal "$(stat -c %s "$data/raw")" $((100 + 4 * frame)) "size of the file"
text() { od -An -v -c -w"$2" -j "$1" -N "$2" "$data/raw" | tr -d ' \n'; } # OFFSET LENGTH
equal "$(text 0 13)" tuttiframes: "the header"
for i in 0 1 2 3; do
    equal "$(text $((100 + i * frame)) 14)" "beforeframe$((i + 1))" "what stands before frame $((i + 1))"
    equal "$(text $((100 + (i + 1) * frame - 20)) 13)" "afterframe$((i + 1))" "what stands after frame $((i + 1))"
done
od -An -v -t f4 -w4 -j 120 -N 480 "$data/raw" >values
equal "$(awk '$1 >= 0 && $1 < 1' values | wc -l) $(sort -u values | wc -l)" "120 120" "values of frame 1, and different ones"

# The same bytes by one rank, by pieces of all three axes, converted, and by collective calls.
kept one -n 1 --dims 10:3:4 --convert yes
same raw one
kept whole -n 1 --dims 4:6:4 --element vector
kept cut -n 4 --dims 2:3:4 --element vector --decomposition 3d --convert yes --timed-convert yes
same whole cut
kept together -n 4 --dims 2:3:4 --element vector --decomposition 3d --backend mpiio --mpiio.method collective
same whole together
# A file per frame: the same, with a header each.
kept each -n 5 --dims 2:3:4 --style file
for i in 0 1 2 3; do
    cmp -n 100 "$data/raw" "$data/each.00000$i"
    cmp <(tail -c +101 "$data/each.00000$i") <(tail -c +$((101 + i * frame)) "$data/raw" | head -c $frame) ||
        fail "frame $((i + 1)) differs"
done
# Nothing but data.
kept bare -n 2 --dims 1:3:4 --header 0 --metadata 0
equal "$(stat -c %s "$data/bare")" $((4 * 2 * 12 * 4)) "size of a file of data alone"

if has_backend hdf5 && command -v h5ls >/dev/null; then
    kept named -n 2 --dims 2:3:4 --backend hdf5
    equal "$(h5ls -r "$data/named" | awk '$2 == "Dataset" { print $1, $3, $4, $5, $6 }' | tr -d '{},' | sed 's/ *$//;s/Inf//g' | sort | tr '\n' ';')" \
        "/after 4 20;/before 4 20;/data 4 4 3 4;/header 100;" "datasets"
    rm "$data/named"
fi

# The figures: bytes and times of frames, and what is made of them.
expect 0 "${frames[@]}" -n 2 --edge 20 --frames 9 --drop-first 2 --convert yes --timed-convert yes --style file+open
equal "$(jq '[.tables.frames[].bytes] | add' out.json)" "$(metric bytes_written)" "bytes of all frames"
equal "$(jq '.tables.frames[8].bytes * 1' out.json)" $((2 * 64000 + 2 * 20 + 100)) "bytes of the last frame"
jq -e '.tables.frames | all(.least <= .median and .median <= .most and ([.[]][7:] | all(. >= 0)))' out.json >/dev/null || fail "times out of order"
holds '($a / $b - 1 | fabs) < 1e-9' a="$(metric frame_rate)" \
    b="$(jq '[.tables.frames[] | select(.counted == 1) | .bytes / .median] | sort | .[3]' out.json)"
holds '$low <= $rate and $rate <= $high' low="$(metric frame_rate_low)" rate="$(metric frame_rate)" high="$(metric frame_rate_high)"
# Opening and converting count as asked; with one rank the medians of the parts add up.
for way in file=no file+open=yes; do
    style=${way%=*} timed=${way#*=}
    expect 0 "${frames[@]}" --edge 20 --convert yes --timed-convert "$timed" --style "$style"
    jq -e --arg timed "$timed" --arg style "$style" '.tables.frames | all((.median - .transfer - .sync
        - (if $timed == "yes" then .convert else 0 end) - (if $style == "file+open" then .open else 0 end) | fabs) < 1e-9)' \
        out.json >/dev/null || fail "time of style $style, conversion timed: $timed"
done

# Beside computation, with several in flight; each frame's time is its own.
expect 0 "${frames[@]}" -n 2 --edge 20 --frames 8 --mode async --inflight 3 --compute 2ms --layers verify --read yes
jq -e '.tables.frames | all(.transfer > 0)' out.json >/dev/null || fail "a frame took no time"
rm "$data"/{raw,one,whole,cut,together,bare,each.*}
no_data_left

# A later run reads what was kept; a single byte that differs is found, wherever it is.
kept raw -n 2 --dims 2:3:4
read=("${frames[@]}" -n 2 --dims 2:3:4 --write no --read yes --path "$data/raw")
expect 0 "${read[@]}"
spoil() { # OFFSET PATTERN
    cp "$data/raw" good
    printf '\377' | dd of="$data/raw" bs=1 seek="$1" conv=notrunc status=none
    expect 1 "${read[@]}"
    one_line "$2"
    cp good "$data/raw"
}
spoil 99 "frame 1: 'header' is not what was written"
spoil $((120 + 4 * 25)) "rank 1: frame 1: value 0 of element 25 is not what was written"
spoil $((100 + 2 * (40 + 192) - 1)) "frame 2: 'after' is not what was written"
expect 1 "${read[@]}" --seed 2
rm "$data/raw"
# In an ensemble it is played again and again.
expect 0 "${frames[@]}" -n 2 --edge 6
iterations_wanted=10 perform_endlessly 2 "$(last_run)"
no_data_left

expect 0 "${frames[@]}" --backend discard --edge 200 --frames 2 --dry-run
usage "multiple of 3" "${frames[@]}" --edge 20 --element vector
usage "3 dimensions, not 2" "${frames[@]}" --dims 2:3
usage "too large" "${frames[@]}" --dims 2000000000:2000000000:4
usage "leaves none of" "${frames[@]}" --drop-first 4
usage "needs frames.convert" "${frames[@]}" --timed-convert yes
usage "discard keeps nothing" "${frames[@]}" --read yes --backend discard
usage "has to name what to read" "${frames[@]}" --read yes --write no
usage "nothing is left to do" "${frames[@]}" --write no
usage "file\+open" "${frames[@]}" --style file+close

# Striping: nothing here knows it, and nobody is left to believe that it was set.
expect 1 "${frames[@]}" -n 2 --stripe.count 4
one_line "stripe.count: [a-z0-9]+ knows no striping; leave it out, or put --dir on Lustre or CephFS"
expect 1 "$TUTTI" run bulk --block 1m --quiet "${here[@]}" --stripe.size 1m
one_line "stripe.size: [a-z0-9]+ knows no striping"
no_data_left
usage "multiple of 64 KiB" "${frames[@]}" --stripe.size 100000
usage "leave frames.path out" "${frames[@]}" --stripe.count 4 --path "$data/x"
usage "leave bulk.paths out" "$TUTTI" run bulk --quiet "${here[@]}" --stripe.count 4 --paths "$data/x"
usage "discard makes no files" "${frames[@]}" --stripe.count 4 --backend discard
usage "which workload 'stencil' does not use" "$TUTTI" run stencil "${here[@]}" --stripe.count 4
