# SPDX-License-Identifier: GPL-3.0-or-later
# IOR's options mean what they mean there; what is not understood is named; all three outputs agree.
# processors: 1
# timeout: 200
. "$(dirname "$0")/lib.sh"
needs jq

ior=("$TUTTI" ior --results "$runs" --min-free 0 -o "$data/x")


# The rows follow the bytes.
expect 0 "${ranks[@]}" 2 "${ior[@]}" -b 64k -t 16k -s 3 -i 2 -F -w -r -W -R -C -e -g -vv
equal "$(grep -cE '^(write|wcheck|read) +[0-9]' "$work/out")" 8 "rows of results and of the summary"
grep -q '^tutti .*the tests of IOR' "$work/out" || fail "the head does not say that it is tutti"
grep -q '^access    bw(MiB/s)  IOPS       Latency(s)' "$work/out" || fail "no columns of IOR"
awk '$1 == "write" && $NF ~ /^[01]$/ { if ($5 != "64.00" || $6 != "16.00") exit 1; if ($10 < $8) exit 1 }' "$work/out" ||
    fail "block, transfer or times are wrong"
no_data_left

# Head and titles come before the run, and each row when its access is over.
for how in "${ranks[*]} 1" ""; do
    $how "${ior[@]}" -b 3m -t 64k -w -r --layers throttle --throttle.rate 1m >live 2>/dev/null &
    running=$!
    for ((i = 0; i < 100; i++)); do
        sleep 0.1
        ! grep -q '^write ' live || break
    done
    kill -0 $running || fail "the run was over before its first row was there"
    grep -q '^Began  *:' live && grep -q '^access  *bw' live || fail "a row, but no titles: $(cat live)"
    ! grep -q '^read ' live || fail "not only the first row: $(cat live)"
    wait $running
    equal "$(grep -cE '^(write|read) +[0-9]' live)" 4 "rows of results and of the summary"
done

# A transfer's latency has its fsync in it: one after the other they fill the time of writing and syncing.
expect 0 "${ior[@]}" -n 1 -b 1m -t 64k -Y -w --quiet --json out.json
holds '($l * 16 - $w - $s | fabs) < 1e-6 and $s > 0' l="$(jq '.tables.accesses[0].latency' out.json)" w="$(jq .phases.submit.max out.json)" \
    s="$(jq .phases.sync.max out.json)"

# Machines get one document on stdout, and nothing else.
expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -s 3 -O summaryFormat=JSON,segmentCount=4
jq -e '.tests[0].Results | length == 2' "$work/out" >/dev/null
jq -e '.tests[0].tasks == 2 and .tests[0].Parameters["bulk.segments"] == 4 and .summary[1].operation == "read"' "$work/out" >/dev/null ||
    fail "the JSON is not what was run"
jq -e '.tests[0].Results[] | (.bwMiB * .totalTime - 0.5 | fabs) < 1e-6' "$work/out" >/dev/null || fail "rate x time is not the bytes moved"
expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -O summaryFormat=CSV -O summaryFile="$work/rows.csv"
[ ! -s "$work/out" ] || fail "stdout is not empty"
equal "$(cut -d , -f 1,11,12 "$work/rows.csv" | tr '\n' ' ')" 'access,numTasks,iter write,2,0 read,2,0 ' "the CSV"

# The paper's Table I, as printed there (the stonewall shortened).
small=(-b 64k -t 16k -s 100000 -vv)
table=("${small[@]}" --max-bytes 4g)
expect 0 "${ior[@]}" -n 2 "${table[@]}" -stoneWallingWearOut=1 -C -D=0.1 -F -e -g -k -l=random -w
equal "$(stat -c %s "$data"/x.* | uniq | wc -l)" 1 "sizes of the files after the wear-out"
expect 0 "${ior[@]}" -n 2 "${table[@]}" -stoneWallingWearOut=1 -C -D=45 -F -e -g -k -l=random -r
expect 0 "${ior[@]}" -n 2 "${small[@]}" -C -D=45 -F -g -r -z -k
expect 0 "${ior[@]}" -n 2 "${small[@]}" -C -D=45 -F -e -g -r
rm "$data"/x.*
expect 0 "${ior[@]}" -n 2 "${table[@]}" -C -D=0.1 -F -e -g -w -z
no_data_left

# A file that is shorter than asked for is read as far as it goes, and that is said, in lines of 80 columns.
expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -F -w -k
expect 0 "${ior[@]}" -n 2 -b 256k -t 16k -F -r -k
grep -q '^WARNING: short files: there were only 64.0 KiB of the 256 KiB' out || fail "no word of what is missing"
awk '/^(WARNING:|        )/ && length > 80 { exit 1 }' out || fail "a warning is wider than 80 columns"
expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -F -r
! grep -q 'short files' out || fail "a warning of nothing"
rm "$data"/x.*
expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -s 2 -w -k
expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -s 3 -r -k --json out.json
equal "$(metric bytes_read)" 262144 "bytes of two segments"
# One that ends inside a segment is read to its last byte.
expect 0 "${ior[@]}" -n 2 -b 256k -t 16k -r -k --json out.json
equal "$(metric bytes_read)" 262144 "bytes of half a segment"
for order in "" -z; do
    truncate -s 196608 "$data/x"
    expect 0 "${ior[@]}" -n 2 -b 64k -t 16k -s 3 $order -r -k --json out.json
    equal "$(metric bytes_read)" 196608 "bytes of one and a half segments $order"
done
expect 1 "${ior[@]}" -n 2 -b 1m -t 256k -r -k
one_line "less than a transfer"
rm "$data/x"

# Data that another call can check; a changed byte is an error, and -K leaves the file.
expect 0 "${ior[@]}" -b 64k -t 16k -w -k -G 7 -l offset
expect 0 "${ior[@]}" -b 64k -t 16k -R -k -G 7 -l offset
expect 1 "${ior[@]}" -b 64k -t 16k -R -k -G 8 -l offset
one_line "what was read is not what was written"
printf x | dd of="$data/x" bs=1 seek=40000 conv=notrunc status=none
expect 1 "${ior[@]}" -b 64k -t 16k -R -K -G 7 -l o
one_line "offset 40000"
rm "$data/x"

# Names in turn, directories, a file per repetition.
expect 0 "${ranks[@]}" 3 "${ior[@]}" -b 16k -t 16k -F -o "$data/a@$data/b" -k -w
equal "$(cd "$data" && echo *)" "a.00000000 a.00000002 b.00000001" "files"
rm "$data"/[ab].*
expect 0 "${ior[@]}" -n 2 -b 16k -t 16k -F -u -m -i 2 -k -w
equal "$(cd "$data" && find . -type f | sort | tr '\n' ' ')" "./0/x.00000000.0 ./0/x.00000000.1 ./1/x.00000001.0 ./1/x.00000001.1 " "files"
rm -r "$data"/[01]

# A relative name starts at --dir, and what is said of the storage is of where the file is.
for where in "-o rel --dir $data" "-o ${data#"$PWD"/}/rel"; do
    # shellcheck disable=SC2086
    expect 0 "$TUTTI" ior --results "$runs" --min-free 0 $where -b 16k -t 16k -w -k --json out.json
    [ -f "$data/rel" ] || fail "$where: no file in $data"
    equal "$(jq -r .environment.data.path out.json)" "$(realpath "$data")" "where the data is, with $where"
    rm "$data/rel"
done
expect 1 "$TUTTI" ior --results "$runs" -o nosuch/x
one_line "^tutti: data directory 'nosuch' does not exist"

# A script: several tests, one summary.
printf '%s\n' 'IOR START' '  api=POSIX' "testFile = $data/s # a comment" 'blockSize=32k' 'transferSize=16k' RUN \
    'filePerProc=1' 'repetitions=2' RUN 'IOR STOP' garbage >"$work/script"
expect 0 "${ranks[@]}" 2 "${ior[@]}" -f "$work/script" -O summaryFormat=JSON
equal "$(jq -c '[.tests[].Results | length]' "$work/out")" '[2,4]' "tests of the script"
printf '%s\n' 'blokSize=1m' RUN >"$work/script"
usage "script:1: 'blokSize' is not one .*did you mean 'blockSize'" "${ior[@]}" -f "$work/script"
printf '%s\n' 'blockSize=8' 'transferSize=8' RUN 'blockSize=12' RUN >"$work/script"
usage "test 2 of 2: .*not a multiple" "${ior[@]}" -f "$work/script"
no_data_left
usage '^tutti: -T: .*too large' "${ior[@]}" -T 307445734561825861
expect 0 "$TUTTI" ior --results "$runs" --min-free 0 -o "$data/a\\,b" -w -k -b 8 -t 8
[ -e "$data/a\\,b" ] || fail "the file has another name: $(ls "$data")"
rm "$data/a\\,b"

# A line from somebody's script: what has no meaning here is taken, and each rank would say the same, so one does.
expect 0 "${ranks[@]}" 2 "${ior[@]}" -b 64k -t 16k -q -d 1 -A 7 -N 2 -j 5 -O platform=x,interIODelay=0
equal "$(grep -c 'has no effect' err)" 4 "notes"
equal "$(jq -r .label "$(last_run)/result.json")" 7 "the label"
grep -q '^tutti: -q has no effect: every error ends the run$' err || fail "no word of -q"
expect 2 "${ranks[@]}" 2 "${ior[@]}" -N 3
grep -q '^tutti: -N 3, but the launcher started 2 ranks' err || fail "no word of another number of tasks"
printf '%s\n' 'blockSize=32k' 'transferSize=16k' 'numTasks=2' RUN 'numTasks=1' RUN >"$work/script"
expect 2 "${ranks[@]}" 2 "${ior[@]}" -f "$work/script"
grep -q '^tutti: -N 1, but the launcher started 2 ranks' err || fail "no word of another number of tasks in a script"
expect 0 "${ior[@]}" -f "$work/script" # started by tutti, each test has its own number of tasks
usage '^tutti: -p: files are not preallocated' "${ior[@]}" -p
# What an interface does not have is passed over, as by IOR.
expect 0 "${ior[@]}" -b 16k -t 16k -c
one_line '^tutti: -c has no effect on POSIX$'
# Hints of the environment and of a file, which wins.
printf '%s\n' '# of a site' 'IOR_HINT__MPI__cb_nodes = 1' 'IOR_HINT__MPI__list=a,b' >hints
export IOR_HINT__MPI__cb_buffer_size=1048576
expect 0 "${ranks[@]}" 2 "${ior[@]}" -a MPIIO -c -b 64k -t 16k -U hints
equal "$(jq -r '.parameters["mpiio.hints"]' "$(last_run)/plan.json")" 'cb_buffer_size=1048576,cb_nodes=1,list=a\,b' hints
equal "$(jq -r '.facts[] | select(.key == "mpiio.cb_nodes").given' "$(last_run)/result.json")" 1 "cb_nodes as given"
expect 0 "${ior[@]}" -b 16k -t 16k -U hints
one_line '^tutti: -U has no effect on POSIX$'
unset IOR_HINT__MPI__cb_buffer_size
echo IOR_HINT__XFS__x=1 >hints
usage "^tutti: hints:1: 'IOR_HINT__XFS__x=1.*' is not a hint of MPI or GPFS" "${ior[@]}" -a MPIIO -U hints
expect 1 "${ior[@]}" -a MPIIO -U nosuch
one_line "^tutti: open of 'nosuch'"
expect 1 "${ior[@]}" -a MPIIO -U "$work"
one_line "^tutti: read of '$work': Is a directory"
# -E is for files that are there, which tutti does not write over.
expect 0 "${ior[@]}" -b 16k -t 16k -w -k -E
usage '^tutti: -E: .* is there and would be made anew' "${ior[@]}" -b 16k -t 16k -w -E
expect 0 "${ior[@]}" -b 16k -t 16k -r -E
# Mapped files hold what was asked for: checked by another interface, and cut to what was written after a deadline.
expect 0 "${ior[@]}" -n 2 -a MMAP -b 64k -t 16k -s 2 -w -r -R -e -C -k -G 7 -l offset
equal "$(stat -c %s "$data/x")" 262144 "the size of a mapped file"
expect 0 "${ior[@]}" -n 2 -a POSIX -b 64k -t 16k -s 2 -R -G 7 -l offset -k
expect 0 "${ior[@]}" -n 2 -a MMAP --mmap.madv_pattern -b 64k -t 16k -s 2 -R -G 7 -l offset
expect 0 "${ior[@]}" -n 2 -a MMAP -F -b 64k -t 16k -s 1000 -D 0.02 -w -k
[ "$(stat -c %s "$data"/x.00000001)" -lt 65536000 ] || fail "a mapped file was not cut to what was written"
rm "$data"/x*
usage "^tutti: -O: 'foo' is not one of the directives" "${ior[@]}" -O foo=1
usage "^tutti: -b: '1x'" "${ior[@]}" -b 1x
usage '^tutti: -C and -Z exclude' "${ior[@]}" -C -Z
usage 'needs -G' "${ior[@]}" -R
usage 'needs -F' "${ior[@]}" -z -C
expect 1 "${ior[@]}" -o "$data/nosuch/x"
one_line "^tutti: -o: the directory '.*nosuch' does not exist"
usage '^tutti: -a DUMMY keeps nothing that could be checked' "${ior[@]}" -a DUMMY -R -w
expect 0 "${ior[@]}" -n 2 -a DUMMY --json out.json
equal "$(metric bytes_written) $(metric bytes_read)" "2097152 2097152" "bytes of no storage"
no_data_left
usage "'S3' is not one of POSIX" "${ior[@]}" -a S3
usage 'not a multiple' "${ior[@]}" -b 3m -t 2m
