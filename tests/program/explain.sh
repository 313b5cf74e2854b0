# SPDX-License-Identifier: GPL-3.0-or-later
# tutti explain knows every word that a table or a head prints.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"

known() { "$TUTTI" explain "$1" >/dev/null 2>&1; }
# A line of titles: the longest words that are known together, from the left on.
known_line() {
    local n
    while [ $# -gt 0 ]; do
        for ((n = $#; n > 0; n--)); do
            if known "${*:1:n}"; then
                shift "$n"
                continue 2
            fi
        done
        fail "explain does not know '$1', in '$*'"
    done
}
# Tables of a report: their titles, and what stands in the first column of their rows. $2: the first title.
known_table() { # FILE TITLE WIDTH
    local line head=yes
    while IFS= read -r line; do
        [ -n "$line" ] || break
        if [ $head = yes ]; then
            known_line $line
            head=no
        else
            line=${line:2:$3}
            [ -z "${line// /}" ] || known "$(sed 's/ *$//' <<<"$line")" || fail "explain does not know the row '$line'"
        fi
    done < <(sed -n "/^  $2 /,\$p" "$1")
}

expect 0 "$TUTTI" run stencil -n 2 --size 64 --iterations 40 --write every=5 --mode async+bg --layers verify,throttle \
    --throttle.rate 1g --label x --keep --context c "${here[@]}"
# Parts are apart by an empty line: title, answer, warnings, what ran, metrics. In the answer and in what ran a label has
# ten columns; metrics stand two in a line.
part() { awk -v part="$1" 'BEGIN { RS = ""; FS = "\n" } NR == part' out; }
sed -n 3p out | grep -q '^  write  *[0-9.]* .iB/s' || fail "the first line is not the answer: $(sed -n 3p out)"
equal '! ' "$(part 3 | cut -c 1-2 | head -n 1)" "what follows the answer"
while IFS= read -r line; do
    label=$(sed 's/ *$//' <<<"${line:2:10}")
    [ -z "$label" ] || known "$label" || fail "explain does not know the label '$label'"
done < <(part 2; part 4; tail -n 2 out)
metrics=$(part 5 | awk '{ print substr($0, 3, 22); print substr($0, 43, 22) }' | sed 's/^ *//; s/ *$//' | sed '/^$/d')
[ "$(wc -l <<<"$metrics")" -gt 15 ] || fail "there are hardly any metrics"
while IFS= read -r label; do known "$label" || fail "explain does not know the metric '$label'"; done <<<"$metrics"
known_table out phases 10
known_table out calls 10

expect 0 "$TUTTI" run bulk --block 4m --transfer 64k --read no --layers throttle --throttle.rate 40m "${here[@]}"
known_table out rates 10
grep -qE '^  write .*  [_.:=+*#-]+$' out || fail "no small line in ASCII"
! LC_ALL=C.UTF-8 grep -qP '[^\x00-\x7f]' out || fail "more than ASCII in a pipe"
if command -v script >/dev/null; then
    LC_ALL=C.UTF-8 script -qec "'$TUTTI' show '$(last_run)'" /dev/null >shown
    LC_ALL=C.UTF-8 grep -qP '\x{2588}' shown || fail "no small line on a terminal of UTF-8"
    LC_ALL=C script -qec "'$TUTTI' show '$(last_run)'" /dev/null >shown
    ! LC_ALL=C.UTF-8 grep -qP '[^\x00-\x7f]' shown || fail "more than ASCII on a terminal of the locale C"
fi
expect 0 "$TUTTI" export "$runs" --what rates --csv rates.csv
equal 4194304 "$(awk -F, 'NR > 1 && $1 == id { sum += $4 } END { print sum }' id="$(basename "$(last_run)")" rates.csv)" "bytes over time"
expect 0 "$TUTTI" export "$runs" --what requests --csv sizes.csv
grep -qE '/bulk,write,65536,131072,64$' sizes.csv || fail "sizes of requests: $(cat sizes.csv)"

for i in 1 2; do "$TUTTI" run stencil --size 64 --iterations 40 --write every=5 --label y "${here[@]}" --quiet; done
expect 0 "$TUTTI" runs "$runs" label=y
known_line $(head -1 out)
expect 0 "$TUTTI" compare "$(last_run)" label=y --dir "$runs"
known_table out metric 18
expect 0 "$TUTTI" analyze "$runs" label=y
known_line factor levels epsilon2 p 'does it matter?'
while read -r label; do known "$label" || fail "explain does not know $label"; done < <(grep -oE '^  [a-z]\S+' out | grep -vE 'rank|frame')
for label in 'in short' parameters system r2 auto 'by size' 'by ranks'; do known "$label" || fail "explain does not know $label"; done

printf '%s\n' 'reference: {workload: stencil, size: 64, iterations: 100, write: {every: 10}}' \
    'load: {workload: stencil, size: 64}' 'others: [0, 1]' 'repeat: 1' 'limit: 2' >e.yaml
expect 0 "$TUTTI" ensemble e.yaml --cpus 1 "${here[@]}"
known_line $(grep '^  others runs' out)
known_table out 'with  1' 15
known_table out 'reference   .*alone' 17
for label in places limit require; do known "$label" || fail "explain does not know $label"; done

expect 0 "$TUTTI" survey flash --parts bandwidth,sizes --size 64k --transfers 64k --processes 1 --iops-transfer 4k --repeat 1 \
    --flushes 0 --deadline 0 "${here[@]}"
known_line $(grep -m1 '^  N x p' out)
known_line $(grep -m1 '^  size ' out)

expect 2 "$TUTTI" explain nosuchword
grep -q "unknown word 'nosuchword'" err
