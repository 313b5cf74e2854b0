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
equal $((directories + 1)) "$(wc -l <out)" "lines of the list"
awk 'length > 80 { exit 1 }' out || fail "the list is wider than 80 columns"
grep -qE 'nightly.* stencil .* 2 .*posix .*none/dump .* (m|u|)s .*B/s done$' out || fail "no line for nightly"
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
jq -e '.runs[0] | .parameters."stencil.size" == "64" and .metrics.runtime.unit == "s"
    and (.phases."compute.max".value > 0) and (.environment | has("mpi.library"))' all.json >/dev/null ||
    fail "the export is not complete"
equal 4 "$(wc -l <all.csv)" "lines of CSV"
grep -q '^id,.*,stencil.size \[points\],.*,runtime \[s\],.*,write_rate \[B/s\]$' all.csv || fail "no units in CSV"
grep -q ',"a, ""b""",' all.csv || fail "the label is not quoted in CSV"
equal "$(jq '[.runs[] | .parameters + .metrics | keys[]] | unique | length + 7' all.json)" \
    "$(head -n 1 all.csv | tr ',' '\n' | wc -l)" "columns"

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
one_line "hold garbage: 1 \(tutti index names them\)"
rm -r "$runs/$(printf 'x\033y')"

# Mistakes are one line, and a listing that fails leaves no file.
usage "unknown key 'labl' \(did you mean 'label'" "$TUTTI" runs "$runs" labl=x --json list.json
[ ! -e list.json ] || fail "a refused filter left a file"
usage "unknown key 'size' \(did you mean '[a-z]+\.size'" "$TUTTI" export "$runs" size=64 --csv -
usage "did you mean 'async'" "$TUTTI" runs "$runs" overlap=asinc
usage "second results directory" "$TUTTI" runs "$runs" nightly
usage "did you mean '--json'" "$TUTTI" runs "$runs" --jsn x
# What nothing matches leaves an earlier file as it is.
cp all.csv before.csv
expect 1 "$TUTTI" export "$runs" workload=nosuch --csv all.csv
one_line "no run matches"
cmp -s all.csv before.csv || fail "an empty export has replaced a file"
usage "needs --csv FILE or --json FILE" "$TUTTI" export "$runs"
expect 0 "$TUTTI" run stencil --size 32 --iterations 4 --write every=2 --mode async+bg --label "a long label of a run" --quiet \
    --context "an ensemble of others" --dir "$data" --results wide --min-free 0
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
