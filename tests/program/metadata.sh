# SPDX-License-Identifier: GPL-3.0-or-later
# Makes, looks up, reads and removes what it says, as the kernel sees it; leaves nothing, and nothing else is touched.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq strace

metadata=("$TUTTI" run metadata --quiet "${here[@]}" --items 50 --json out.json)
rows() { jq -c '[.tables.operations[] | [.operation * 1, .directories * 1, .count * 1]]' out.json; }

for n in 1 2 5; do
    expect 0 "${metadata[@]}" -n $n --write 3901 --read 3901 --shift 1
    equal "$(rows)" "[[0,1,0],[1,0,$((n * 50))],[2,0,$((n * 50))],[3,0,$((n * 50))],[5,0,$((n * 50))],[6,1,0]]" "phases and items"
    equal "$(metric bytes_written) $(metric bytes_read) $(metric files)" "$((n * 195050)) $((n * 195050)) $((n * 50))" "bytes and files"
    expect 0 "${metadata[@]}" -n $n --what both --rename yes --branch 3 --depth 2 --leaves-only yes --own-directories yes --shift 1 --shuffle yes \
        --repetitions 2
    equal "$(jq '[.tables.operations[] | select(.operation == 0).count] | add' out.json)" $((n * 13 * 2)) "directories of trees"
    no_data_left
done

# The kernel sees the same.
observe -e trace=openat,unlinkat,newfstatat,stat,mkdir -o calls "${metadata[@]}" --depth 3
equal "$(grep -c 'openat(.*file\.0\.[0-9]*", O_WRONLY|O_CREAT|O_EXCL' calls) $(grep -c 'unlinkat(.*file\.0\.' calls)" "50 50" "calls counted by strace"
equal "$(grep -cE 'stat(at)?\(.*file\.0\.' calls)" 50 "files looked up"

# One phase at a time, on a tree that is kept.
tree=(--path "$data/tree" --write 100 --read 100)
expect 0 "${metadata[@]}" -n 2 "${tree[@]}" --stat no --open no --remove no --keep
equal "$(find "$data/tree" -type f | wc -l)" 100 "files kept"
expect 0 "${metadata[@]}" -n 2 "${tree[@]}" --create no --remove no --keep
printf x | dd of="$data/tree/file.1.7" bs=1 seek=40 conv=notrunc status=none
expect 1 "${metadata[@]}" -n 2 "${tree[@]}" --create no --remove no --keep
one_line "file.1.7' at offset 40: what was read is not what was written"
expect 1 "${metadata[@]}" "${tree[@]}"
one_line "exists already"
touch "$data/tree/precious"
expect 0 "${metadata[@]}" -n 2 "${tree[@]}" --create no --stat no --open no --keep
equal "$(find "$data/tree" -type f -printf '%f\n')" precious "what is left"
rm -r "$data/tree"
mkdir "$data/tree"
expect 1 "${metadata[@]}" "${tree[@]}" --create no
one_line "does not look like a tree that tutti made"
rmdir "$data/tree"

# A deadline: all ranks make as many as the fastest.
expect 0 "${metadata[@]}" -n 2 --items 100000000 --deadline 0.05
holds '$n > 0 and $n < 200000000 and $n % 2 == 0' n="$(jq '.tables.operations[1].count * 1' out.json)"
printf 'tutti work per rank: 99\n' >"$work/counts"
expect 0 "${metadata[@]}" --path "$data/tree" --remove no --keep
expect 1 "${metadata[@]}" --path "$data/tree" --create no --count-file "$work/counts"
one_line "says 99 items, more than metadata.items"
rm -r "$data/tree"
# The result says where it was measured, also if no byte moved, and why bytes have no rate.
expect 0 "$TUTTI" run metadata "${here[@]}" --items 50
grep -qE "^  data +$data, " out || fail "no word of the directory and its file system"
expect 0 "$TUTTI" run metadata "${here[@]}" --items 50 --write 100 --path "$data/tree" --remove no --keep --json out.json
equal "$(jq -r .metrics.write_rate.note out.json)" "not timed apart from opening and closing" "why there is no rate"
grep -qE "^  kept +$data/tree$" out || fail "not said where the tree is"
rm -r "$data/tree"
# A failing call is an error, and the tree goes all the same.
expect 1 "$TUTTI" run metadata --quiet --dir "$data" --results "$runs" --min-free 0 -n 2 --items 2000000000 --max-time 0.3
one_line 'stopped by --max-time'
no_data_left
# As one of several jobs, and told to stop.
expect 0 "${metadata[@]}" -n 2 --items 2000
iterations_wanted=3 perform_endlessly 2 "$(last_run)"
no_data_left

# mdtest's options and summary.
mdtest=("${ranks[@]}" 2 "$TUTTI" mdtest --results "$runs" --min-free 0 -d "$data")
expect 0 "${mdtest[@]}" -n 20 -N 1 -i 2 -w 3901 -e 3901 -b 2 -z 1
equal "$(grep -cE '^   (File|Directory) [a-z]+ +:' out)" 8 "rows"
grep -q '^tutti .*the tests of mdtest' out || fail "the head does not say that it is tutti"
grep -q "^Command line used: tutti mdtest .*-N 1 -i 2" out || fail "the head does not say how it was called"
grep -q "^Path: $data$" out && grep -q '^FS: .* Used FS: ' out || fail "the head does not say where it was"
grep -q "^Run directory: $(last_run)$" out || fail "the head does not name the run directory"
grep -q '^2 tasks, 40 files/directories$' out || fail "the head does not say how much it was"
# A tree that a deadline has left says itself how large it is; each phase is an iteration. The directory is made, and goes if empty.
half=("${mdtest[@]}" -d "$data/new" -F -n 10000000)
expect 0 "${half[@]}" -W 0.05 -C
for phase in T E r; do
    expect 0 "${half[@]}" -$phase
    grep -q '(of 1 iterations)' out || fail "an iteration was not counted"
done
rmdir "$data/new"
expect 0 "${mdtest[@]}" -d "$data/new" -n 5
expect 1 "$TUTTI" mdtest --results "$runs" -d "$data/new/more"
one_line '^tutti: -d: cannot make the directory'
expect 1 "$TUTTI" mdtest --results "$runs" -d "$work/out"
one_line '^tutti: -d: .* is not a directory'
no_data_left
expect 0 "${mdtest[@]}" -F -I 5 -b 3 -z 2 -L -u -C
equal "$(find "$data/tutti-mdtest" -type f | wc -l)" 90 "files in the leaves"
expect 0 "${mdtest[@]}" -F -I 5 -b 3 -z 2 -L -u -T -E -R7
expect 0 "${mdtest[@]}" -F -I 5 -b 3 -z 2 -L -u -r
no_data_left
usage "^tutti: -a: 'S3'" "$TUTTI" mdtest -a S3
# Both kinds under a deadline, each with a number of its own that later calls find.
half=("${mdtest[@]}" -n 10000000)
expect 0 "${half[@]}" -W 0.05 -C
equal "$(find "$data/tutti-mdtest" -name '.items*' | wc -l)" 2 "numbers of items"
for phase in T E r; do expect 0 "${half[@]}" -$phase; done
no_data_left
# Shared files: every rank makes, looks up and reads the same ones; the first removes them. mknod does not open.
for how in "-w 100 -e 100 -X --verify-write" -k; do
    # shellcheck disable=SC2086
    expect 0 "${mdtest[@]}" -S -n 20 --json out.json $how
    equal "$(rows)" "[[0,1,0],[1,0,40],[2,0,40],[3,0,40],[5,0,20],[6,1,0]]" "items of shared files"
    equal "$(metric files)" 20 "shared files"
done
# Ranges of tasks: a summary for each number, in which only so many ranks work.
expect 0 "${ranks[@]}" 3 "$TUTTI" mdtest --results "$runs" --min-free 0 -d "$data" -F -n 10 -l 3 -s 2 -N 1
equal "$(grep -E '^[0-9]+ tasks?, ' out | tr '\n' ' ')" "1 tasks, 10 files 3 tasks, 30 files " "numbers of tasks"
usage 'metadata.tasks is 3, but there are 2 ranks' "$TUTTI" mdtest -f 3 -l 3 --ranks 2
# No calls at all: the cost of tutti itself. Nothing is made.
expect 0 strace -f -qq -e trace=mkdir,openat,unlinkat,newfstatat -o calls "${mdtest[@]}" -a DUMMY -n 10 -w 10 -e 10
! grep -E '(file|directory)\.[0-9]+\.[0-9]' calls || fail "DUMMY uses the file system"
no_data_left
# Compared only if -X asks for it.
expect 0 "${mdtest[@]}" -F -n 5 -w 100 -C
printf x | dd of="$data/tutti-mdtest/file.1.3" bs=1 seek=40 conv=notrunc status=none
expect 0 "${mdtest[@]}" -F -n 5 -w 100 -e 100 -E
expect 1 "$TUTTI" mdtest --ranks 2 --results "$runs" --min-free 0 -d "$data" -F -n 5 -w 100 -e 100 -E -X
one_line "file.1.3' at offset 40: what was read is not what was written"
expect 0 "${mdtest[@]}" -F -n 5 -r
no_data_left

usage 'not possible on backend mpiio' "${metadata[@]}" --backend mpiio
for without in '--mode async' '--sync never' '--overlap async --sync background' '--inflight 4'; do
    usage "${without%% *} has no effect on metadata" "${metadata[@]}" $without
done
usage 'leave out --layers verify' "${metadata[@]}" --layers verify
usage 'metadata.path has to name' "${metadata[@]}" --create no
usage 'rename is for directories' "${metadata[@]}" --rename yes
