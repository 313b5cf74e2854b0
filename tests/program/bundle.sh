# SPDX-License-Identifier: GPL-3.0-or-later
# A data file that is a directory, as some libraries make it: it goes whole, it is cleaned, and nobody else's is touched.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs pgrep

# The template of a backend, with its file in a directory that the engine makes.
sed -e 's/template/bundle/g' -e 's/TT_CAP_RAW | //' -e 's/ | TT_CAP_CARRIES_LAYOUT//' -e 's/fopen(file->spec->path/fopen(inner(file)/' \
    -e 's/^    \.prepare = /    .list = list_directory,\n&/' "$SOURCE/examples/modules/backend.c" >all.c
sed '/^static int make_file/,$d' all.c >backend.c
cat >>backend.c <<'C'
static const char *inner(const struct tt_file *file)
{
    static _Thread_local char path[4096];

    snprintf(path, sizeof path, "%s/data.0", file->spec->path);
    return path;
}

static int list_directory(const void *opts, const struct tt_file_spec *spec, struct tt_target *target,
                          struct tt_error *e)
{
    (void)opts, (void)spec, (void)e;
    target->list[0].is_directory = true;
    return TT_OK;
}

C
sed -n '/^static int make_file/,$p' all.c >>backend.c
mkdir modules
# shellcheck disable=SC2086 # words
"$MPICC" $MODULE_FLAGS -shared -fPIC -D_GNU_SOURCE -I "$SOURCE/src" -o modules/backend_bundle.so backend.c
export TUTTI_MODULE_PATH=$work/modules
run=("$TUTTI" run stencil --size 64 --iterations 4 --quiet "${here[@]}" --backend bundle)

for series in overwrite append file; do
    expect 0 "${run[@]}" -n 2 --write every=2,series=$series
    no_data_left
done
expect 0 "${run[@]}" -n 2 --write every=2,files=process
no_data_left
# Kept at a path of the user's: read again, not replaced, and cleaned with what is in it.
expect 0 "${run[@]}" -n 2 --write "every=2,path=$work/kept.bp" --layers verify --keep
[ -s kept.bp/data.0 ] || fail "the directory has no file"
expect 0 "$TUTTI" verify "$(last_run)"
kept=$(last_run)
expect 1 "${run[@]}" -n 2 --write "every=2,path=$work/kept.bp"
one_line "'.*kept.bp' exists; remove it or choose another path"
[ -s kept.bp/data.0 ] || fail "the directory of another run was touched"
mkdir kept.bp/deeper && echo more >kept.bp/deeper/index
expect 0 "$TUTTI" clean "$kept"
[ ! -e kept.bp ] || fail "clean has left the directory"
# Another one in its place is not ours, nor is anything in it.
expect 0 "${run[@]}" -n 2 --write "every=2,path=$work/kept.bp" --keep
mv kept.bp old.bp && mkdir kept.bp && echo mine >kept.bp/data.0
expect 1 "$TUTTI" clean "$(last_run)"
one_line "kept.bp' is left alone"
equal mine "$(cat kept.bp/data.0)" "a foreign file"
rm -r kept.bp old.bp

# The whole run is killed: the manifest knows.
"${run[@]}" -n 2 --iterations 100000000 --write "every=50,path=$work/killed.bp" >out 2>err &
driver=$!
until [ -s killed.bp/data.0 ]; do
    kill -0 $driver || { cat err; fail "the run ended by itself"; }
    sleep 0.1
done
kill -9 $driver $(pgrep -f "perform.*$runs")
wait $driver || true
no_process_left
expect 0 "$TUTTI" clean "$(last_run)"
[ ! -e killed.bp ] || fail "clean has left the directory of a killed run"
