# SPDX-License-Identifier: GPL-3.0-or-later
# Every file in examples/ runs (one with a reference or a set is an ensemble), and so does every command in the documentation that says so:
# a code block after a line "<!-- runnable -->" is run by bash, in a directory with build/tutti.
# processors: 1
# timeout: 600
. "$(dirname "$0")/lib.sh"

# Runnable blocks of a page.
blocks_of() {
    awk '/^<!-- runnable -->$/ { wanted = 1; next }
         wanted && /^```/ { if (inside) { print "true"; inside = wanted = 0 } else inside = 1; next }
         inside { print }' "$1"
}

# What these files measure is not looked at: shorter runs show as well that every key of them works.
declare -A shorter=(
    [acceptance.yaml]="--set reference.iterations=1000"
    [matrix.yaml]="--set set.solver.iterations=1000 --set set.reader.passes=10"
)
for page in "$SOURCE"/README.md "$SOURCE"/docs/*.md; do blocks_of "$page"; done >all-blocks.sh
for file in "$SOURCE"/examples/*.yaml; do
    ! grep -q "tutti .* examples/${file##*/}" all-blocks.sh || continue # run below
    backend=$(sed -n 's/^backend: *\([a-z0-9]*\).*/\1/p' "$file")
    if [ -n "$backend" ] && ! has_backend "$backend"; then continue; fi
    command=(run)
    ! grep -q '^reference:' "$file" || command=(ensemble)
    ! grep -q '^set:' "$file" || command=(ensemble matrix)
    ! grep -q "^parts:" "$file" || command=(survey flash)
    # What is to be judged needs its repetitions; for the rest one shows that it works.
    if [ "${command[0]}" = ensemble ] && ! grep -q '^require:' "$file"; then command+=(--repeat 1); fi
    [ "${command[0]}" != ensemble ] || command+=(--warmup 100ms)
    # shellcheck disable=SC2086
    LIMIT=300 expect 0 "$TUTTI" "${command[@]}" "$file" "${here[@]}" ${shorter[${file##*/}]:-}
    no_data_left
done

! has_backend hdf5 || expect 0 "$TUTTI" h5bench "$SOURCE/examples/h5bench.json" --results "$runs" --min-free 0
[ ! -e h5bench-data ] || fail "h5bench leaves data behind"

mkdir build
ln -s "$TUTTI" build/tutti
ln -s "$SOURCE/examples" examples
PATH=$work/build:$PATH
blocks=0
for page in "$SOURCE"/README.md "$SOURCE"/docs/*.md; do
    blocks_of "$page" >commands.sh
    [ -s commands.sh ] || continue
    blocks=$((blocks + 1))
    LIMIT=300 expect 0 bash -e commands.sh
done
[ $blocks -gt 0 ] || fail "no runnable command in the documentation"
