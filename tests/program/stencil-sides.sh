# SPDX-License-Identifier: GPL-3.0-or-later
# Stencils with sides of different length and several fields: the same files and residuals with any ranks and backend.
# processors: 2
. "$(dirname "$0")/lib.sh"
needs jq od
stencil=("$TUTTI" run stencil "${here[@]}" --iterations 8 --write every=4 --json out.json)
plain() { # NAME OPTIONS...: the kept file of a run, fields one after the other as plain doubles
    local name=$1
    shift
    expect 0 "${stencil[@]}" --keep --write.path "$name" "$@"
    mv "$data/$name" .
}
sum() { awk '{ for (i = 1; i <= NF; i++) s += $i } END { printf "%.9g\n", s }'; }
# The numbers of a variable in what ncdump prints.
numbers() { ncdump -p 9,17 -v "$2" "$1" | sed -n "/^ $2 =/,/;/p" | sed "s/^ $2 =//; s/[,;]/ /g"; }

for shape in 30x17 9:14:20; do
    rm -f one other
    plain one -n 1 --size "$shape" --fields 2
    points=$(jq -r '.plan.parameters."stencil.size" | reduce .[] as $n (1; . * $n)' out.json)
    equal $((points * 16)) "$(stat -c %s one)" "bytes of two fields"
    holds '$b == 2 * $bytes' b="$(jq .metrics.bytes_written.value out.json)" bytes=$((points * 16))
    residual=$(jq .metrics.residual.value out.json)
    for how in '-n 3' '-n 4 --decomposition blocks --halo overlap --compute 2'; do
        plain other $how --size "$shape" --fields 2
        cmp one other || fail "the fields differ with $how"
        equal "$residual" "$(jq .metrics.residual.value out.json)" "residuals with $how"
    done
    # The second has twice the first one's boundary, and so is exactly twice the first.
    split -n 2 -d one part
    paste <(od -An -v -w8 -t f8 part00) <(od -An -v -w8 -t f8 part01) |
        awk '$2 != 2 * $1 { exit 1 } $1 > 0 { n++ } END { exit n < 20 }' || fail "the second field is not twice the first"
done

# Every library's own tools find both variables, with these values.
for backend in hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    expect 0 "${stencil[@]}" --keep --write.path "f.$backend" -n 3 --backend $backend --decomposition blocks --size 9x14x20 --fields 2
    if [ $backend = hdf5 ] && command -v h5dump >/dev/null; then
        for f in 1 2; do h5dump -d field_$f -b LE -o raw$f "$data/f.hdf5" >/dev/null; done
        cat raw1 raw2 | cmp - one
    elif command -v ncdump >/dev/null; then
        for f in 1 2; do
            equal "$(od -An -v -t f8 part0$((f - 1)) | sum)" "$(numbers "$data/f.$backend" field_$f | sum)" "sum of field $f in $backend"
        done
    fi
    rm "$data/f.$backend"
done

# What is read is all fields: going on from a dump is the same as not reading.
before=$residual
expect 0 "${stencil[@]}" -n 2 --size 9x14x20 --fields 2 --read every=5,restart=yes
equal "$before" "$(jq .metrics.residual.value out.json)" "residual after a restart"
expect 0 "${stencil[@]}" -n 2 --size 9x14x20 --fields 3 --write files=process --read every=5
equal $((9 * 14 * 20 * 8 * 3)) "$(jq .metrics.bytes_read.value out.json)" "bytes read"
holds '$u == 3 * 8 * 7 * 12 * 18' u="$(jq .metrics.updates.value out.json)"

while IFS='|' read -r options words; do
    expect 2 "$TUTTI" run stencil -n 2 "${here[@]}" $options
    one_line "$words"
done <<'END'
--size 5x5x5x5|stencil.size has 4 sides; give 1, 2 or 3
--size 5x6 --dims 3|stencil.size has 2 sides, but stencil.dims is 3
--size 5x2|'2' is out of range: 3 to 1073741824
--size 5x|'5x' is not a count
--size 9x9x2000000|--size 2000000 is too large for 3 dimensions
--size 1073741824 --fields 64 --write every=5 --dry-run|make too many points: at most
--size 1048576x1048576x1048576|make too many points
--fields 0|'0' is out of range: 1 to 64
END
# Many dumps are counted at once, and their bytes do not wrap around.
expect 0 timeout 20 "$TUTTI" run stencil "${here[@]}" --size 1024 --iterations 2199023255552 \
    --write every=1,series=append --dry-run
grep -qE '^not here .*(16.0 EiB|do not fit)' out || fail "a dry run does not say that so much does not fit"
expect 2 "$TUTTI" run stencil -n 6 "${here[@]}" --size 5x40
one_line '--size 5x40 with rows has 5 rows for 6 ranks; use fewer ranks or --decomposition blocks'
no_data_left
