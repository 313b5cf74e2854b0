# SPDX-License-Identifier: GPL-3.0-or-later
# make install and make uninstall in a bare tree: what is installed runs, everything of it goes, and what others have there stays.
# processors: 1
. "$(dirname "$0")/lib.sh"
unset TUTTI_MODULE_PATH
build=$(dirname "$TUTTI")
prefix=/opt/tutti root=$work/root/opt/tutti
install=(env DESTDIR="$work/root" "$SOURCE/tools/install")
tree() { (cd "$work/root" && find . -printf '%P %y\n' | LC_ALL=C sort); }

# Somebody has been here before: a directory that is empty, and one with a program.
mkdir -p "$root/share/man/man1" "$root/bin"
echo theirs >"$root/bin/other"
tree >before
expect 0 "${install[@]}" "$build" $prefix
[ ! -s out ] && [ ! -s err ] || fail "it is not quiet: $(cat out err)"
for file in bin/tutti lib/tutti/libtutti_core.so share/man/man1/tutti-run.1 share/man/man7/tutti-bulk.7 share/man/man7/tutti-metrics.7 \
    share/bash-completion/completions/tutti share/zsh/site-functions/_tutti share/doc/tutti/CHANGELOG.md share/doc/tutti/copyright \
    share/tutti/examples/ensemble.yaml include/tutti/io/module.h; do
    [ -s "$root/$file" ] || fail "not installed: $file"
done
installed=$root/bin/tutti
ldd "$installed" >libraries # not into grep -q, which may end before ldd has written all
grep -q "libtutti_core.so => $work/root/" libraries || fail "it uses the library of the build tree"
expect 0 "$installed" --version
expect 0 "$installed" run bulk --block 256k "${here[@]}"
! has_backend hdf5 || expect 0 "$installed" run bulk --block 256k --backend hdf5 "${here[@]}"
no_data_left

# Again, over an older version that had one file more; then away with it, but not with what came later.
echo "file lib/tutti/older" >>"$root/share/tutti/installed"
touch "$root/lib/tutti/older"
tree >first
expect 0 "${install[@]}" "$build" $prefix
diff <(grep -v '^opt/tutti/lib/tutti/older ' first) <(tree) || fail "installing again makes a difference"
mkdir "$root/lib/tutti/modules/site"
touch "$root/lib/tutti/modules/site/mine.so"
expect 0 "${install[@]}" --remove $prefix
diff <(cat before; printf '%s\n' "opt/tutti/lib d" "opt/tutti/lib/tutti d" "opt/tutti/lib/tutti/modules d" \
    "opt/tutti/lib/tutti/modules/site d" "opt/tutti/lib/tutti/modules/site/mine.so f") <(tree) | grep '^[<>]' && fail "something is left, or too much is gone"
rm -r "$root/lib"
expect 0 "${install[@]}" "$build" $prefix
expect 0 "${install[@]}" --remove $prefix
diff before <(tree) || fail "something is left, or too much is gone"

# A list that leads elsewhere is not followed.
expect 0 "${install[@]}" "$build" $prefix
echo theirs >"$work/root/opt/theirs"
sed -i '1i file ../theirs' "$root/share/tutti/installed"
expect 1 "${install[@]}" --remove $prefix
one_line "names '../theirs', which is not below '/opt/tutti'"
[ -s "$work/root/opt/theirs" ] || fail "a file of somebody else is gone"
ln -s ../../opt "$root/way-out"
sed -i '1s,.*,file way-out/theirs,' "$root/share/tutti/installed"
expect 1 "${install[@]}" --remove $prefix
one_line "names 'way-out/theirs', which is not below '/opt/tutti'"
[ -s "$work/root/opt/theirs" ] || fail "a file of somebody else is gone, through a link"
expect 1 "${install[@]}" --remove /opt/none
one_line "nothing was installed to '/opt/none'"
expect 1 "${install[@]}" "$build" relative
one_line "absolute PREFIX"
