# SPDX-License-Identifier: GPL-3.0-or-later
# Reads what it says, all of it and nothing else; notices what changed; changes nothing itself.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

reader=("$TUTTI" run reader --passes 1 --quiet --seed 3 "${here[@]}")
spread=(--files 21 --size 1k --size-max 300k --transfer 10000 --concurrency 4 --portion 50000)

# The metrics belong together, and the estimate knew.
for n in 1 2 5; do
    expect 0 "${reader[@]}" -n $n "${spread[@]}" --passes 3 --dry-run
    cp out estimate
    expect 0 "${reader[@]}" -n $n "${spread[@]}" --passes 3 --json out.json
    bytes=$(metric bytes_read)
    equal "$(metric files)" 21 "files"
    equal "$(jq .calls.open.count out.json)" 63 "files opened in three passes"
    equal "$(metric bytes_written)" 0 "bytes written in the measured time"
    grep -qF "reads       $(sed -n 's/^  read  *\([0-9.]* [KM]iB\) .*/\1/p' out)" estimate ||
        fail "estimated and read bytes differ: $(cat estimate)"
    # Ranks do not wait for each other: the slowest in all portions together counts, not the slowest in each.
    holds '($rate * $one / $bytes - 1 | fabs) < 1e-6 and $one <= $runtime' rate="$(metric read_rate)" \
        one="$(jq .phases.io_read.max out.json)" bytes="$bytes" runtime="$(metric runtime)"
    [ $n != 1 ] || equal "$(jq '.samples | (.columns | index("iteration")) as $i | [.ranks[0].rows[][$i]] | max' out.json)" \
        $((3 * ((bytes / 3 + 49999) / 50000))) "portions in three passes"
    [ -z "${before:-}" ] || equal "$bytes" "$before" "bytes with other numbers of ranks"
    before=$bytes
done
no_data_left

# Files that are there: kept by one run, read by another, and left as they are.
expect 0 "${reader[@]}" "${spread[@]}" --keep --json out.json
kept=$(echo "$data"/tutti-*)
equal "$(find "$kept" -type f | wc -l)" 21 "kept files"
equal "$(find "$kept" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')" "$(metric bytes_read)" "sizes and bytes read"
[ "$(cat "$kept"/* | gzip | wc -c)" -ge "$(metric bytes_read)" ] || fail "the data can be compressed"
mkdir "$kept/below"
mv "$kept/reader-000007" "$kept/below"
find "$kept" -type f -printf '%p %s %T@ %m\n' -exec md5sum {} + | sort >left
for n in 1 3; do
    expect 0 "${reader[@]}" -n $n --path "$kept" --passes 2 --json other.json
    equal "$(metric bytes_read other.json)" $((2 * $(metric bytes_read))) "bytes of two passes over the directory"
    equal "$(metric files other.json)" 0 "files made"
done
find "$kept" -type f -printf '%p %s %T@ %m\n' -exec md5sum {} + | sort | diff left - || fail "the files have changed"

# spoil_while FILE COMMAND...: flips bytes of a file (a pattern) that a run has read and reads again.
spoil_while() {
    local file=$1 pid status=0 i past=0
    shift
    rm -rf spoilt
    timeout -k 5 60 "$@" --passes 100000000 --results spoilt >out 2>err </dev/null &
    pid=$!
    for ((i = 0; i < 300 && ${past:-0} < 50; i++)); do
        sleep 0.1
        past=$(cat spoilt/*/progress 2>/dev/null | cut -d ' ' -f 1) || true
    done
    printf '\x5a\xa5' | dd of="$(echo $file)" bs=1 seek=700 conv=notrunc status=none
    wait $pid || status=$?
    equal $status 1 "status of a run whose file was spoilt"
}
spoil_while "$kept/reader-000002" "${reader[@]}" -n 2 --path "$kept"
one_line "rank 1: '$kept/reader-000002' was not read as it was in the first pass"
rm -r "$kept"
spoil_while "$data/tutti-*/reader-000004" "${reader[@]}" -n 2 "${spread[@]}"
one_line "rank 0: '$data/tutti-.*/reader-000004' was not read as it was written"
no_data_left

# Nothing to read.
expect 1 "${reader[@]}" --path "$data/nowhere"
one_line "nowhere'?: No such file or directory"
mkdir "$data/empty"
expect 1 "${reader[@]}" --path "$data/empty"
one_line "holds no files"
rmdir "$data/empty"

# Stopped by a limit or by its driver: in the middle of files, on all ranks, and nothing is left.
expect 1 "${reader[@]}" -n 3 "${spread[@]}" --passes 1000000 --max-time 0.5
one_line "max-time"
holds '$n > 0' n="$(metric bytes_read "$(last_run)/result.json")"
no_data_left
expect 0 "${reader[@]}" -n 2 "${spread[@]}"
iterations_wanted=100 perform_endlessly 2 "$(last_run)" # more than a pass
expect 0 "$TUTTI" show endless
jq -e '.status == "done"' endless/result.json >/dev/null
holds '$n > 0 and $cached > 0' n="$(metric bytes_read endless/result.json)" cached="$(metric bytes_cached endless/result.json)"
holds '$n > 42' n="$(jq .calls.open.count endless/result.json)" # of more than two passes
no_data_left
no_process_left

# No room: known before anything is made, or when it runs out.
expect 1 "${reader[@]}" --files 10 --size 1m --max-bytes 10000k
one_line "max-bytes"
expect 0 "${reader[@]}" --files 10 --size 1m --max-bytes 10m
expect 1 bash -c 'ulimit -f 8192; exec "$@"' - "${reader[@]}" --files 2 --size 9m
one_line "reader-00000[01]' at offset [0-9]+: File too large"
no_data_left

# The cache of memory file systems cannot be emptied; that of others can. Both are told.
cached() { jq -r '.warnings[].text' out.json | grep -c "reads came from the page cache"; }
expect 0 "${reader[@]}" --files 4 --size 1m --cold no --json out.json
equal "$(metric bytes_cached)" $((4 << 20)) "cached bytes of files just made"
equal "$(cached)" 1 "warnings"
disk=$(mktemp -d "$on_disk/tutti-test.XXXXXX")
on_exit+=("rm -rf $disk")
if [ "$(stat -f -c %T "$disk")" != tmpfs ]; then
    expect 0 "${reader[@]}" --dir "$disk" --files 4 --size 1m --passes 2 --json out.json
    holds '$cached < 0.01 * $read' cached="$(metric bytes_cached)" read="$(metric bytes_read)"
    equal "$(cached)" 0 "warnings"
    expect 0 "${reader[@]}" --dir "$disk" --files 4 --size 1m --passes 2 --cold no --json out.json
    equal "$(metric bytes_cached)" $((8 << 20)) "cached bytes without eviction"
    equal "$(cached)" 1 "warnings"
    equal "$(find "$disk" -mindepth 1 | wc -l)" 0 "files left"
fi

usage "use --backend posix" "${reader[@]}" --backend mpiio
usage "leave out --layers verify" "${reader[@]}" --layers verify
usage "size_max is less" "${reader[@]}" --size 2m --size-max 1m
usage "too large" "${reader[@]}" --files 16777216 --size 1024t
