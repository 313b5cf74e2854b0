# SPDX-License-Identifier: GPL-3.0-or-later
# The page on extending shows the templates as they are, the templates work together, and they can be built outside of
# the tree, against what `make install` installs.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq

cd "$SOURCE"
awk -f docs/refresh.awk docs/extending.md >"$work/page"
grep -q tt_workload_template "$work/page" || fail "the page includes no templates"
diff "$work/page" docs/extending.md || fail "docs/extending.md is old: see docs/refresh.awk"
cd "$work"

for series in overwrite append group file; do
    expect 0 "$TUTTI" run template -n 2 --points 1001 --iterations 20 --write every=5,series=$series \
        --backend template --layers template --json out.json "${here[@]}"
    equal "$(metric bytes_written)" $((4 * 1001 * 8)) "bytes written"
    equal "$(metric bytes_read)" $((1001 * 8)) "bytes read"
    no_data_left
done
# An element of the stack reports what it counted: here of rank 0, for the first file.
expect 0 "$TUTTI" run template -n 2 --points 1001 --iterations 20 --write every=5 --backend template \
    --layers template --json out.json "${here[@]}"
grep -q "4 calls, 16000 B" out.json || fail "the template layer has not counted rank 0's four writes"

# ---- outside of the tree ----
needs cmake
cmake --install "$(dirname "$TUTTI")" --prefix "$work/there" >install.log || { cat install.log; fail "cannot install"; }
[ -z "$(find there -name '*.awk')" ] || fail "what only developers need is installed"
mkdir mine
# build FILE SOURCE [OPTIONS...]: as docs/extending.md says.
build() {
    # shellcheck disable=SC2086
    "$MPICC" $MODULE_FLAGS -shared -fPIC -D_GNU_SOURCE -I "$work/there/include/tutti" -o "$@" || fail "cannot build $1"
}
for kind in backend layer workload; do
    sed 's/template/mine/g' "$SOURCE/examples/modules/$kind.c" >$kind.c
    build mine/${kind}_mine.so $kind.c
done
mine=(there/bin/tutti run mine -n 2 --points 1001 --iterations 20 --write every=5 --backend mine --layers mine)
TUTTI_MODULE_PATH=$work/mine expect 0 "${mine[@]}" --json out.json "${here[@]}"
equal "$(metric bytes_written)" $((4 * 1001 * 8)) "bytes written through modules"
# Or named one by one.
unset TUTTI_MODULE_PATH
expect 0 "${mine[@]}" --module mine/backend_mine.so,mine/layer_mine.so,mine/workload_mine.so --json out.json "${here[@]}"
equal "$(metric bytes_written)" $((4 * 1001 * 8)) "bytes written through named modules"
# One with two outputs: what overlap=auto has chosen for each of them is kept of the last pass.
sed -e 's/mine/both/g' -e 's/struct tt_output \*output;/struct tt_output *output, *second;/' \
    -e 's/rc = tt_output_open(engine, "both", \(.*\)&o.output, e);/&\nif (rc == TT_OK) rc = tt_output_open(engine, "second", \1\&o.second, e);/' \
    -e 's/closed = tt_output_close(o.output, e);/&\nclosed |= tt_output_close(o.second, e);/' workload.c >both.c
build mine/workload_both.so both.c
export TUTTI_MODULE_PATH=$work/mine
expect 0 "$TUTTI" run both -n 2 --points 1001 --iterations 20 --write every=5 --mode auto "${here[@]}"
iterations_wanted=50 perform_endlessly 2 "$(last_run)" --overlap
expect 0 "$TUTTI" show endless --json out.json
equal 2 "$(jq '.overlap.auto | length' out.json)" "outputs with choices"
unset TUTTI_MODULE_PATH
usage "cannot open module 'mine/none.so'" "${mine[@]}" --module mine/none.so "${here[@]}"
mkfifo fifo.so
usage "cannot open module 'fifo.so': it is not a regular file" "${mine[@]}" --module fifo.so "${here[@]}"
# Shown and cleaned without the modules.
run=$(last_run)
expect 0 there/bin/tutti show "$run"
grep -q 'points 1001' out || fail "parameters of a module are not shown"
if has_backend hdf5; then # what is kept of a module's run is cleaned without opening it
    expect 0 "$TUTTI" run stencil -n 2 --size 64 --iterations 4 --write every=2 --keep --backend hdf5 "${here[@]}"
    observe -e trace=openat -o calls "$TUTTI" clean "$(last_run)" >out
    grep -q 'removed 1 data file' out || fail "$(cat out)"
    ! grep -q 'libhdf5\|backend_hdf5' calls || fail "a directory has opened a module"
fi
usage "unknown workload 'mine'.*TUTTI_MODULE_PATH.*--module" "${mine[@]}" "${here[@]}"
# What is wrong with a file is said in one line.
export TUTTI_MODULE_PATH=$work/mine
echo "no module" >mine/backend_text.so
usage "cannot open module .*backend_text.so" there/bin/tutti run stencil -n 1 --backend text "${here[@]}"
echo "int nothing;" >nothing.c
build mine/backend_nothing.so nothing.c
usage "backend_nothing.so' is not a module of tutti" there/bin/tutti run stencil -n 1 --backend nothing "${here[@]}"
build mine/backend_other.so backend.c
usage "backend_other.so' holds backend 'mine'; file and table must have the same name" there/bin/tutti run stencil -n 1 --backend other "${here[@]}"
ln -s nowhere mine/backend_dangling.so
usage "cannot open module '.*backend_dangling.so': cannot open" there/bin/tutti run stencil -n 1 --backend dangling "${here[@]}"
sed -i 's/define TT_MODULE_ABI .*/define TT_MODULE_ABI 999/' there/include/tutti/io/module.h
build mine/backend_old.so backend.c
usage "another version of tutti .module ABI 999" there/bin/tutti run stencil -n 1 --backend old "${here[@]}"
build libgone.so nothing.c
build mine/backend_lost.so backend.c -Wl,--no-as-needed -L. -lgone
rm libgone.so
usage "cannot open module .*libgone.so" there/bin/tutti run stencil -n 1 --backend lost "${here[@]}"
expect 0 there/bin/tutti list backends

# ---- a component with parts, inside of a tree ----
# Parts go where their file goes: into the module if it needs a library of its own, else into the core.
needs nm
mkdir tree
cat >tree/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(parts LANGUAGES C)
set(CMAKE_MODULE_PATH $SOURCE/cmake)
include(GNUInstallDirs)
find_package(PkgConfig REQUIRED)
include(Components)
add_library(tutti_core SHARED)
target_include_directories(tutti_core PUBLIC $SOURCE/src)
tutti_add_components(tutti_core)
END
for place in backends layers workloads; do
    kind=${place%s}
    directory=tree/src/io/$place
    [ $kind != workload ] || directory=tree/src/workloads
    for name in plain library; do
        mkdir -p "$directory/${kind}_$name"
        echo "int ${kind}_${name}_part(void); int ${kind}_${name}_part(void) { return 0; }" >"$directory/${kind}_$name/part.c"
        type=tt_backend
        [ $kind != workload ] || type=tt_workload
        {
            [ $name = plain ] || echo "/* needs: libzstd (package libzstd-dev) */"
            echo "extern const struct $type { int n; } tt_${kind}_${kind}_$name;"
            echo "const struct $type tt_${kind}_${kind}_$name = {0};"
        } >"$directory/${kind}_$name.c"
    done
done
{ CC=$MPICC cmake -S tree -B tree/build -DTUTTI_OPEN_MPI=1 && cmake --build tree/build; } >tree.log 2>&1 || fail "$(cat tree.log)"
nm -D --defined-only tree/build/libtutti_core.so >core.names
for kind in backend layer workload; do
    grep -q " ${kind}_plain_part" core.names || fail "the part of a $kind is not in the core"
    ! grep -q " ${kind}_library_part" core.names || fail "the core has the part of a $kind that is a module"
    nm -D --defined-only tree/build/modules/${kind}_${kind}_library.so | grep -q " ${kind}_library_part" ||
        fail "a module has not the part of its $kind"
done
