# SPDX-License-Identifier: GPL-3.0-or-later
# Metrics for node-exporter's textfile collector: the newest run of each label set, as promtool wants them, with the numbers of the
# results.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

bulk() { expect 0 "$TUTTI" run bulk --block 256k --quiet "${here[@]}" "$@"; }
bulk --label old
sleep 1 # what began in the same second has no order
bulk --label old --json newest.json
bulk --label $'quote" back\\slash\nline'
expect 0 "$TUTTI" run stencil -n 2 --size 64 --iterations 20 --write every=5 --quiet --json stencil.json "${here[@]}"
expect 1 "$TUTTI" run bulk --label broken --block 256k --layers fault --fault.nth 1 --quiet "${here[@]}"

expect 0 "$TUTTI" export "$runs" --prometheus tutti.prom
! grep -vE '^# (HELP|TYPE) |^tutti_[a-z0-9_]+\{workload="[a-z]+",label="([^"\\]|\\.)*",plan="[0-9a-f]+",host="[^"]*",context=""\} -?[0-9.e+-]+$' tutti.prom ||
    fail "lines that are neither a comment nor a sample"
equal "" "$(grep -v '^#' tutti.prom | sed 's/ [^ ]*$//' | sort | uniq -d)" "samples that occur twice"
sample() { sed -n "s/^tutti_$1{[^}]*label=\"$2\"[^}]*} //p" tutti.prom; } # NAME LABEL
holds '$a == $b' a="$(sample write_rate_bytes_per_second old)" b="$(metric write_rate newest.json)"
holds '$a == $b' a="$(sample runtime_seconds '')" b="$(metric runtime stencil.json)"
holds '$a == $b' a="$(sample update_rate_per_second '')" b="$(metric update_rate stencil.json)"
equal 1 "$(sample run_valid old)" "whether the run is valid"
grep -qF 'label="quote\" back\\slash\nline"' tutti.prom || fail "a label with a quote, a backslash and a line break: $(grep line tutti.prom)"
# A run that failed says so, and has no numbers.
equal 0 "$(sample run_valid broken)" "whether the failed run is valid"
equal 2 "$(grep -c '^tutti_.*label="broken"' tutti.prom)" "samples of the failed run"
equal "# HELP tutti_flop_rate_per_second $("$TUTTI" explain flop_rate | grep -o 'flops / runtime')" "$(grep '^# HELP tutti_flop_rate' tutti.prom)" "HELP"

# A selection; stdout; an error leaves the file of yesterday.
expect 0 "$TUTTI" export "$runs" label=old --prometheus -
equal 1 "$(grep -c ^tutti_run_valid out)" "runs of the selection"
cp tutti.prom before
expect 1 "$TUTTI" export "$runs" label=none --prometheus tutti.prom
one_line "no run matches"
cmp tutti.prom before
usage "has metrics, and no --what" "$TUTTI" export "$runs" --what rates --prometheus tutti.prom
usage "--csv and --prometheus name the same file" "$TUTTI" export "$runs" --csv both --prometheus both
[ -z "$(find . -maxdepth 1 -name 'tutti.prom.*')" ] || fail "a temporary file is left"
no_data_left

command -v promtool >/dev/null || skip "needs promtool (package prometheus); all but its opinion was checked"
promtool check metrics <tutti.prom >said 2>&1 || fail "promtool says: $(cat said)"
[ ! -s said ] || fail "promtool says: $(cat said)"
