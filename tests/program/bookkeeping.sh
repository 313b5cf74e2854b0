# SPDX-License-Identifier: GPL-3.0-or-later
# What a run opens and makes for itself, as docs/running.md says: a formula in ranks, checked at 2, 16 and 64.
# processors: 2
. "$(dirname "$0")/lib.sh"
needs strace
strace --seccomp-bpf -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"
export OMPI_MCA_rmaps_base_oversubscribe=1
per_rank=1 # opens: its notes. Records are the node's: one file, however many ranks it has.

# watch N WORDS...: a run of so many ranks; files trace.* have what each thread opened and removed.
watch() {
    local n=$1
    shift
    rm -rf trace.* "$runs"
    LIMIT=120 expect 0 strace --seccomp-bpf -ff -qq -s 4096 -o trace -e trace=openat,creat,unlink,unlinkat "$TUTTI" run "$@" -n "$n" "${here[@]}" --quiet
}
# opens [EXPRESSION]: of files in the run directory. The driver looks at notes as long as the run takes.
opens() { cat trace.* | grep -E "^(openat|creat)\(.*\"$runs/[^\"]*${1:-}" | grep -cvE '/notes", O_RDONLY' || true; }

watch 2 stencil --size 64 --iterations 4 --write every=2 --backend posix
two=$(opens) plan=$(opens 'plan\.json"') files=$(find "$runs" -type f | wc -l)
for ranks in 16 64; do
    watch $ranks stencil --size 64 --iterations 4 --write every=2 --backend posix
    equal "$plan" "$(opens 'plan\.json"')" "opens of the plan at $ranks ranks and at 2"
    equal $((two + (ranks - 2) * per_rank)) "$(opens)" "opens at $ranks ranks"
    equal "$files" "$(find "$runs" -type f | wc -l)" "files at $ranks ranks and at 2"
    equal 1 "$(find "$runs" -name '*.ttr' | wc -l)" "files of records on one node"
done
! ls /dev/shm | grep -F "$(basename "$(last_run)")" || fail "records stay in memory"

# Every rank removes the files that it made.
watch 4 bulk --files process --block 64k --transfer 16k
equal 4 "$(grep -lE '^unlink(at)?\(.*bulk' trace.* | wc -l)" "ranks that removed files, and all"
no_data_left
watch 4 bulk --files process --block 64k --transfer 16k --keep
equal 1 "$(find "$runs" -name 'manifest*' | wc -l)" "manifests of one node"
equal 4 "$(grep -c '^made file' "$(last_run)/manifest")" "files in it"
expect 0 "$TUTTI" clean "$(last_run)"
no_data_left
