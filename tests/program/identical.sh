# SPDX-License-Identifier: GPL-3.0-or-later
# Field and residual do not depend on ranks, threads, decomposition, backend, halo or overlap.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq

# field NAME OPTIONS...: run, and leave the final field in NAME.field as plain doubles.
field() {
    local name=$1 file
    shift
    expect 0 "$TUTTI" run stencil --iterations 12 --write every=4 --keep "${here[@]}" "$@" --json $name.json
    file=$(find "$data" -type f)
    if [[ "$*" = *hdf5* ]]; then
        h5dump -d "${dataset:-field}" -b LE -o $name.field "$file" >/dev/null
    else
        mv "$file" $name.field
    fi
    rm -rf "${data:?}"/*
}
same() {
    field this "$@"
    cmp reference.field this.field || fail "the field differs with $*"
    equal "$(metric residual reference.json)" "$(metric residual this.json)" "residuals with $*"
}

backends=(posix mmap mpiio)
! has_backend uring || backends+=(uring)
if "$TUTTI" list backends | grep -qw hdf5 && command -v h5dump >/dev/null; then backends+=(hdf5); fi

for shape in "--dims 2 --size 53" "--dims 3 --size 19"; do
    field reference -n 1 $shape
    points=$(stat -c %s reference.field)
    [ "$points" = $((53 * 53 * 8)) ] || [ "$points" = $((19 * 19 * 19 * 8)) ] || fail "the file is no plain field"
    same -n 2 $shape
    same -n 5 $shape
    same -n 2 --threads 3 $shape
    same -n 4 --decomposition blocks $shape
    same -n 6 --decomposition blocks --halo overlap $shape
    same -n 3 --halo overlap $shape
    for backend in "${backends[@]}"; do
        for mode in sync+imm sync async async+bg; do
            same -n 3 --backend $backend --mode $mode $shape
        done
    done
done

# With the perturbation to 1e-12.
field reference -n 1 --size 53 --perturbation sine
field this -n 5 --threads 2 --decomposition blocks --size 53 --perturbation sine
holds '($a - $b | fabs) <= 1e-12' a="$(metric residual reference.json)" b="$(metric residual this.json)"
