# SPDX-License-Identifier: GPL-3.0-or-later
# The dialect of numio: every option, the same norm of error, the plain field in the file.
# processors: 1
# timeout: 240
. "$(dirname "$0")/lib.sh"

matrix() { sed -n '/^Matrix:/,$p' "$work/out"; } # the sample of nine by nine points
norm() { sed -n 's/.*[Nn]orm of error[^0-9]*\([0-9.e+-]*\).*/\1/p' "$work/out"; }

# The reference: numio's arithmetic in a few lines (Jacobi, pert 1), evaluated by awk in doubles.
awk -v N=20 -v I=50 'BEGIN {
    h = 1 / (N - 1)
    for (i = 0; i < N; i++) { a[i,0] = 1 - h*i; a[i,N-1] = h*i }
    for (j = 0; j < N; j++) { a[0,j] = 1 - h*j; a[N-1,j] = h*j }
    a[0,0] = 1; a[0,N-1] = 0; a[N-1,0] = 0; a[N-1,N-1] = 1
    for (k in a) b[k] = a[k]
    for (it = 1; it <= I; it++) {
        worst = 0
        for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) {
            b[i,j] = 0.25 * (a[i-1,j] + a[i,j-1] + a[i,j+1] + a[i+1,j])
            d = b[i,j] - a[i,j]; if (d < 0) d = -d
            if (d > worst) worst = d
        }
        for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) a[i,j] = b[i,j]
    }
    printf "%.17g\n", worst
    printf "%.4f\n", a[2,4] >"middle" # sample 1, 2: round(20 / 9), round(40 / 9)
}' >worst

expect 0 "${ranks[@]}" 1 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=50,size=20,pert=1
one=$(norm) sample=$(matrix)
[ -n "$one" ] || { cat out; fail "no norm of error"; }
equal 10 "$(wc -l <<<"$sample")" "lines of the sample"
equal "$(cat middle)" "$(awk 'NR == 3 { print $3 }' <<<"$sample")" "a point of the sample"
holds '($a / $b - 1 | fabs) < 1e-5' a="$one" b="$(cat worst)"

for backend in posix uring mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    expect 0 "${ranks[@]}" 2 "$TUTTI" numio --results "$runs" --min-free 0 --backend $backend -m iter=50,size=20,pert=1 -w "10,$data/m" \
        -c 5,1 -t 2
    equal "$one" "$(norm)" "norms ($backend)"
    equal "$sample" "$(matrix)" "samples ($backend)"
    [ -f "$data/m" ] || fail "no file at the path given"
    case $backend in
    hdf5) ! command -v h5dump >/dev/null || h5dump -H "$data/m" | grep -q 'DATASET "data"' ;;
    *netcdf)
        ! command -v ncdump >/dev/null || ncdump -h "$data/m" >header
        ! command -v ncdump >/dev/null || grep -q 'double data(dim_20, dim_20)' header
        ;;
    *) equal $((20 * 20 * 8)) "$(stat -c %s "$data/m")" "bytes in the file" ;;
    esac
    rm -f "$data"/*
done
expect 0 "${ranks[@]}" 2 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=20,size=20,pert=2 -w "5,$data/m,imm" -l
equal 2 "$(find "$data" -name 'm_l*' | wc -l)" "files per process"
rm -f "$data"/*
expect 0 "${ranks[@]}" 2 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=20,size=20,pert=1 -w "5,$data/m,pattern=2:0:1" -r 10
equal 2 "$(find "$data" -name 'm_r*' | wc -l)" "files of the pattern"
rm -f "$data"/*
# A read overwrites the solver's field: 20 iterations and then 1 from their file are 21.
expect 0 "${ranks[@]}" 1 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=21,size=20,pert=1
straight=$(norm)
expect 0 "${ranks[@]}" 2 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=20,size=20,pert=1 -w "20,$data/m"
expect 0 "${ranks[@]}" 3 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=1,size=20,pert=1 -r "1,$data/m"
equal "$straight" "$(norm)" "norms after a restart"
rm -f "$data"/*
# With a file per process each reads its own.
expect 0 "${ranks[@]}" 2 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=20,size=20,pert=1 -w "4,$data/m" -r 6
shared=$(norm)
rm -f "$data"/*
expect 0 "${ranks[@]}" 2 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=20,size=20,pert=1 -w "4,$data/m" -r 6 -l --overlap async
equal "$shared" "$(norm)" "norms with a shared file and with files per process"
rm -f "$data"/*
expect 2 "${ranks[@]}" 1 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=20,size=20,pert=1 -w "5,$data/m,imm,nofilesync"
expect 2 "${ranks[@]}" 1 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=0,size=20,pert=1
expect 2 "${ranks[@]}" 1 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=5,size=8,pert=1
expect 2 "${ranks[@]}" 1 "$TUTTI" numio --results "$runs" --min-free 0 -m iter=5,size=20,pert=3
no_data_left
