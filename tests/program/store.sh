# SPDX-License-Identifier: GPL-3.0-or-later
# Real runs in the index: listed, filtered, exported, and the same after a rebuild.
# processors: 1
# timeout: 240
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq
if unshare -m true 2>/dev/null; then private_mounts "$@"; fi
job=(stencil -n 2 --iterations 20 --write every=5 "${here[@]}" --quiet)

expect 0 "$TUTTI" run "${job[@]}" --size 64 --label nightly
expect 0 "$TUTTI" run "${job[@]}" --size 128 --backend mpiio --mode async --label 'a, "b"'
expect 0 "$TUTTI" run "${job[@]}" --size 64
expect 1 "$TUTTI" run "${job[@]}" --size 256 --max-bytes 1m
directories=$(find "$runs" -mindepth 1 -maxdepth 1 -type d | wc -l)

# The list brings the index up to date by itself.
expect 0 "$TUTTI" runs "$runs"
equal $((directories + 1)) "$(grep -cv '^!\|^  ' out)" "lines of the list"
awk 'length > 80 { exit 1 }' out || fail "the list is wider than 80 columns"
# Date and duration, and of the parameters those that are not the same in all of them.
grep -qE '^id +start +label +.*backend .*runtime +write rate +status$' out || fail "other columns: $(head -n 1 out)"
grep -qE "^[0-9a-f]{8} $(date -u +%m-%d) [0-9:]{5} nightly +.*posix .* (m|u|)s .*B/s done$" out || fail "no line for nightly: $(cat out)"
expect 0 "$TUTTI" runs "$runs" stencil.size=64
grep -qE '^id +start +label +workload +ranks +runtime +write rate +status$' out || fail "what is the same has a column: $(head -n 1 out)"
expect 0 "$TUTTI" runs "$runs" --columns stencil.size,hidden_fraction,compute.max,host,start
equal "size hidden I/O compute.max host start" "$(head -n 1 out | tr -s ' ')" "the columns asked for"
usage "unknown key 'stencil.siez' \(did you mean 'stencil.size'\?\)" "$TUTTI" runs "$runs" --columns stencil.siez
expect 0 "$TUTTI" index "$runs"
equal "0 added, $directories kept, 0 removed, 0 refused" "$(cat out)" "the second index"

found() { # NUMBER FILTER...
    local number=$1
    shift
    expect 0 "$TUTTI" runs "$runs" "$@" --json -
    equal "$number" "$(jq '.runs | length' out)" "runs with $*"
}
found 1 label=nightly
found 2 stencil.size=64 status=done
found 1 overlap=async backend=mpiio
found 1 'label=a, "b"'
found 0 'runtime>=1h'
found "$directories" "start>$(date -u -d '-1 hour' +%FT%H)" 'start<2999-01-01'
found 0 'start<2026-01-01'
found 0 start=2020-02-29
found "$directories" start!=2020-02-29
found 1 label=nightly "directory!=x" 'compute.max>0'
usage "start: '29.2.' is not a time: expected 2026-11-15" "$TUTTI" runs "$runs" 'start>29.2.'
found 3 'write_rate>0' valid=yes
id=$(jq -r '.runs[-1].id' out)
found 1 "id=${id##*-}"
equal "$runs/$id" "$(jq -r '.runs[0].directory' out)" "the directory"
rate=$(jq '.runs[0].metrics.write_rate.value * 1' out)
expect 0 "$TUTTI" show "$runs/$id" --json whole.json
equal "$(metric write_rate whole.json)" "$rate" "the write rate"
ln -s "$runs" tutti-runs
expect 0 "$TUTTI" show "${id##*-}"
grep -q "$id" out || fail "show ID shows another run"
expect 1 "$TUTTI" show 12345678
one_line "there is no run directory '12345678'"
rm tutti-runs
expect 0 "$TUTTI" runs "$runs" label=nobody
equal "no run matches" "$(cat out)" "an empty list"

# Everything, for other tools.
expect 0 "$TUTTI" export "$runs" status=done --json all.json --csv all.csv
equal 3 "$(jq '.runs | length' all.json)" "exported runs"
jq -e '.runs[0] | .parameters."stencil.size" == 64 and .parameters.keep == false and (.start | test("^20..-..-..T.*Z$")) and .metrics.runtime.unit == "s"
    and (.phases."compute.max".value > 0) and (.environment | has("mpi.library"))' all.json >/dev/null ||
    fail "the export is not complete"
equal 4 "$(wc -l <all.csv)" "lines of CSV"
grep -qE '^id,start,.*,stencil.size_points,.*,runtime_s,.*,write_rate_B_per_s(,|$)' all.csv || fail "no units in CSV"
grep -q ',"a, ""b""",' all.csv || fail "the label is not quoted in CSV"
equal "$(jq '[.runs[] | .parameters + .metrics | keys[]] | unique | length + 7' all.json)" \
    "$(head -n 1 all.csv | tr ',' '\n' | wc -l)" "columns"

! head -n 1 all.csv | grep -q '[][ ()/]' || fail "names of columns that need quotes: $(head -n 1 all.csv)"
# Parameters have their types, also those of modules.
jq -e '[.runs[].parameters["stencil.size"] | type] | unique == ["number"]' all.json >/dev/null || fail "sizes are not numbers"

# Histograms of calls: what their buckets hold adds up to the calls, and lies between the extremes.
expect 0 "$TUTTI" export "$runs" status=done --what latencies --json calls.json --csv calls.csv
equal 'id,call,from_ns,below_ns,count' "$(head -n 1 calls.csv)" "columns of latencies"
equal "$(jq -r '.runs[] | .id as $id | .calls | to_entries[] | .key as $k | .value.histogram[] | [$id, $k] + . | map(tostring) | join(",")' \
    calls.json)" "$(tail -n +2 calls.csv)" "latencies in JSON and CSV"
jq -e '[.runs[].calls[] | .count == ([.histogram[][2]] | add) and (.min * 1e9 + 0.5 | floor) >= .histogram[0][0]
    and (.max * 1e9 + 0.5 | floor) < .histogram[-1][1]] | length > 6 and all' calls.json >/dev/null || fail "histograms of other calls"
usage "'latency' is not one of runs, latencies" "$TUTTI" export "$runs" --what latency --csv -

# A rebuilt index says the same, and so does one made from nothing.
expect 0 "$TUTTI" index "$runs" --rebuild
equal "$directories added, 0 kept, 0 removed, 0 refused" "$(cat out)" "the rebuilt index"
expect 0 "$TUTTI" export "$runs" status=done --json again.json
cmp all.json again.json
rm "$runs/index.sqlite"
expect 0 "$TUTTI" export "$runs" status=done --json again.json
cmp all.json again.json

# Directories come, go, and hold garbage.
rm -r "${runs:?}/$id"
mkdir "$runs/$(printf 'x\033y')"
echo '{"workload"' >"$runs/$(printf 'x\033y')/plan.json"
expect 0 "$TUTTI" index "$runs"
equal "0 added, $((directories - 1)) kept, 1 removed, 1 refused" "$(cat out)" "the index"
one_line "refused x\?y: .*plan.json:[0-9]+:"
expect 0 "$TUTTI" runs "$runs"
one_line "damaged or of another version: 1 \(tutti index names them\)"
rm -r "$runs/$(printf 'x\033y')"

# Mistakes are one line, and a listing that fails leaves no file.
usage "unknown key 'labl' \(did you mean 'label'" "$TUTTI" runs "$runs" labl=x --json list.json
[ ! -e list.json ] || fail "a refused filter left a file"
usage "unknown key 'block' \(did you mean '[a-z]+\.block'" "$TUTTI" export "$runs" block=64 --csv -
usage "did you mean 'async'" "$TUTTI" runs "$runs" overlap=asinc
usage "mode: 'async\+bgg' is not one of .*did you mean 'async\+bg'" "$TUTTI" runs "$runs" mode=async+bgg
usage "mode is short for overlap and sync" "$TUTTI" runs "$runs" mode!=sync
usage "\-\-columns: unknown key 'labl'" "$TUTTI" runs "$runs" --columns labl
usage "second results directory" "$TUTTI" runs "$runs" nightly
usage "did you mean '--json'" "$TUTTI" runs "$runs" --jsn x
# What nothing matches leaves an earlier file as it is.
cp all.csv before.csv
expect 1 "$TUTTI" export "$runs" workload=nosuch --csv all.csv
one_line "no run matches"
cmp -s all.csv before.csv || fail "an empty export has replaced a file"
usage "needs --csv FILE, --json FILE, --prometheus FILE, --trace FILE or --otf2 DIR" "$TUTTI" export "$runs"
expect 0 "$TUTTI" run stencil --size 32 --iterations 4 --write every=2 --mode async+bg --label "a long label of a run" --quiet \
    --context "an ensemble of others" --dir "$data" --results wide --min-free 0
expect 0 "$TUTTI" runs wide mode=async+bg size=32 --columns mode,size
equal 'overlap sync size async background 32' "$(xargs <out)" "a mode, and a key without its workload"
expect 0 "$TUTTI" runs wide mode=sync+imm
equal "no run matches" "$(cat out)" "another mode"
expect 0 "$TUTTI" runs wide
awk 'length > 80 { exit 1 }' out || fail "the list with contexts is wider than 80 columns"
# A run whose ranks could not be started is over, and says why.
expect 1 "$TUTTI" run stencil -n 2 --launch.by template --launch.template 'nosuch-launcher,{ranks},{command}' "${here[@]}" --results never
one_line "there is no program 'nosuch-launcher' on the PATH"
expect 1 "$TUTTI" run command -n 1 --words /bin/nosuch "${here[@]}" --results never
! grep -q "on the PATH" err || fail "an absolute path is not looked for: $(cat err)"
expect 0 "$TUTTI" runs never
! grep -q "not over yet" err || fail "said: $(cat err)"
expect 0 "$TUTTI" show "$(find never -name plan.json | head -1 | xargs dirname)"
usage "itself a run directory" "$TUTTI" index "$(last_run)"
expect 1 "$TUTTI" runs
one_line "there is no results directory 'tutti-runs'"
expect 1 "$TUTTI" runs "$runs" --json "$work/nowhere/list.json"
one_line "nowhere/list.json.*No such file"
expect 2 "${ranks[@]}" 2 "$TUTTI" runs "$runs"
grep -q "runs works alone" err || fail "as ranks: no reason"

# Results that cannot be written to can be read if there is an index.
if [ -n "${PRIVATE_MOUNTS:-}" ]; then
    mkdir archive
    mount -t tmpfs -o size=4m tmpfs archive
    on_exit+=("umount $work/archive")
    cp -a "$runs"/20* archive
    mount -o remount,ro archive
    expect 1 "$TUTTI" index archive
    one_line "cannot write an index into 'archive': Read-only file system"
    expect 1 "$TUTTI" runs archive
    one_line "cannot write an index into 'archive': Read-only file system"
    mount -o remount,rw archive
    expect 0 "$TUTTI" index archive
    mount -o remount,ro archive
    expect 0 "$TUTTI" runs archive label=nightly
    equal 2 "$(wc -l <out)" "lines of the archive's list"
    one_line "index may be old: cannot write .*Read-only"
fi
