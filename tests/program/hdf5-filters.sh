# SPDX-License-Identifier: GPL-3.0-or-later
# HDF5's filters by name and number: h5dump finds them in the file, facts say what is in effect, and what is missing is left out and said.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq h5dump
needs_backend hdf5

pattern=("$TUTTI" run pattern -n 2 --quiet "${here[@]}" --backend hdf5 --dims 64:48 --element f64 --steps 2 --json out.json)
fact() { jq -r --arg key "hdf5.$1" '.facts[] | select(.key == $key) | "\(.given) \(.read_back) \(.proof)"' out.json; }
# filters SETTING: written, checked and read by tutti, and written once more for h5dump.
filters() {
    rm -f "$data"/kept*
    expect 0 "${pattern[@]}" --hdf5.filter "$1" --layers verify --reopen yes
    expect 0 "${pattern[@]}" --hdf5.filter "$1" --phase write --keep --path kept
    h5dump -p -H "$data/kept" >dump
    sed -n '/FILTERS {/,/FILLVALUE/p;/SIZE/p' dump | tr -s ' \n' ' ' >pipeline
}

filters shuffle,deflate:9,fletcher32
grep -q 'PREPROCESSING SHUFFLE COMPRESSION DEFLATE { LEVEL 9 } CHECKSUM FLETCHER32' pipeline || fail "not the filters that were asked for"
grep -q 'COMPRESSION)' pipeline || fail "h5dump sees no ratio"
equal "$(fact filter.deflate)" "deflate:9 9 in effect"
equal "$(fact filter.shuffle)" "shuffle 8 in effect"
size=$(awk '$1 == "SIZE" { sum += $2 } END { print sum }' dump)
jq -e --arg size "$size B" '.facts[] | select(.key == "hdf5.stored") | .read_back | startswith($size)' out.json >/dev/null ||
    fail "not the size that h5dump sees: $(fact stored)"
"$TUTTI" show "$(last_run)" --all >shown
grep -q 'hdf5.filter.deflate' shown || fail "the report does not name the filter"

# Not installed: the run goes without, and says so twice.
HDF5_PLUGIN_PATH=$work/none filters lz4
equal "$(grep -c 'NONE' pipeline)" 1 "filters that are not there"
equal "$(fact filter.lz4)" "lz4  no effect"
jq -e '.warnings[].text | select(startswith("without effect: hdf5.filter.lz4=lz4 (HDF5 has no such filter"))' out.json >/dev/null ||
    fail "no warning beside the result"
grep -q 'HDF5 cannot write with filter lz4 (number 32004), so the run goes without it' "$(last_run)/stderr" || fail "no line about it"

# How far a filter changes values is not known, so nobody can check them.
expect 0 "${pattern[@]}" --hdf5.filter scaleoffset:0:3 --phase write
expect 1 "${pattern[@]}" --phase write --hdf5.filter scaleoffset:0:3 --layers verify
one_line "layer verify cannot check .* nobody knows how far; leave verify out"
for workload in particles climate openpmd amr; do
    usage "nobody knows how far: what is read cannot be checked; use $workload.verify=no" "$TUTTI" run $workload "${here[@]}" --phase both \
        --backend hdf5 --hdf5.method collective --hdf5.filter scaleoffset:0:3
done

usage "'deflat' is neither a filter's name nor its number, 1 to 65535 .did you mean 'deflate'.*" "${pattern[@]}" --hdf5.filter deflat
usage "'65536' is neither" "${pattern[@]}" --hdf5.filter 65536
usage "deflate has the levels 0 to 9, not 10" "${pattern[@]}" --hdf5.filter deflate:10
usage "szip takes 4 .EC. or 32 .NN. and an even number of pixels from 2 to 32, not 4:0" "${pattern[@]}" --hdf5.filter szip:4:0
usage "scaleoffset takes 0 .* or 2 .*, not 7:2" "${pattern[@]}" --hdf5.filter scaleoffset:7:2
usage "pattern compares every bit" "${pattern[@]}" --hdf5.filter scaleoffset:0:2
usage "deflate takes 1 parameter, not 2" "${pattern[@]}" --hdf5.filter deflate:1:2
usage "shuffle takes 0 parameters, not 1" "${pattern[@]}" --hdf5.filter shuffle:1
usage "'lz4:' lacks the number behind ':'" "${pattern[@]}" --hdf5.filter lz4:
usage "parameters of 'lz4:x' are not whole numbers" "${pattern[@]}" --hdf5.filter lz4:x
usage "32004 is given twice" "${pattern[@]}" --hdf5.filter lz4,32004

# Plug-ins of the package hdf5-filter-plugin, which another HDF5 was built for.
for plugins in /usr/lib/*/hdf5/serial/plugins none; do [ ! -e "$plugins/libh5lz4.so" ] || break; done
[ "$plugins" != none ] || skip "needs hdf5-filter-plugin for lz4 and bzip2; what HDF5 has itself was tested"
export HDF5_PLUGIN_PATH=$plugins
filters lz4:4096,307:5
grep -q 'FILTER_ID 32004 .* PARAMS { 4096 .*FILTER_ID 307 .* PARAMS { 5 }' pipeline || fail "not the plug-ins that were asked for"
equal "$(fact filter.307)" "307:5 5 in effect"
