# SPDX-License-Identifier: GPL-3.0-or-later
# The .deb is installed by dpkg into a tree that has nothing else, runs from there, and leaves nothing behind; the source package
# holds the tree and its revision, and can be configured.
# labels: testbed
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs_root
needs cpack dpkg dpkg-deb dpkg-shlibdeps
unset TUTTI_MODULE_PATH
build=$(dirname "$TUTTI")
LIMIT=240 expect 0 cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages"
deb=$(echo packages/tutti_*.deb)
dpkg-deb --field "$deb" >fields
for word in openmpi-bin libopenmpi3 libhdf5-openmpi libsqlite3-0 libjansson4; do
    [[ $word != *openmpi* ]] || [[ $RANKS = *openmpi* ]] || continue
    grep -q "^Depends: .*$word" fields || fail "the package does not depend on $word: $(cat fields)"
done

# dpkg without its own tree: dependencies are those of this machine, and there is no loader whose cache were to be renewed.
tree=$work/tree
mkdir -p "$tree"/var/lib/dpkg/{info,updates,triggers} tools
touch "$tree"/var/lib/dpkg/{status,available}
ln -s "$(command -v true)" tools/ldconfig
package() { PATH=$work/tools:$PATH expect 0 dpkg --root="$tree" --log=/dev/null --force-script-chrootless --force-depends "$@"; }
package -i "$deb"
installed() { expect 0 env -i PATH="$PATH" HOME="$work" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$tree/usr/bin/tutti" "$@"; }
installed --version
equal "$("$TUTTI" --version)" "$(cat out)" "the version"
installed run bulk -n 2 --block 256k "${here[@]}"
! has_backend hdf5 || installed run stencil -n 2 --size 64 --iterations 10 --write every=5 --backend hdf5 "${here[@]}"
no_data_left
for file in share/man/man1/tutti.1 share/zsh/vendor-completions/_tutti share/bash-completion/completions/tutti; do
    [ -s "$tree/usr/$file" ] || fail "the package has no $file"
done
package --purge tutti
equal "" "$(find "$tree" -mindepth 1 ! -path "$tree/var*")" "what is left after the package"

# The source package is the tree, without what git ignores, and tells its revision.
expect 0 cpack --config "$build/CPackSourceConfig.cmake" -B "$work/packages"
tar xzf packages/tutti-*.tar.gz
unpacked=$(echo "$work"/tutti-*/)
grep -qE '^[0-9a-z.-]+$' "$unpacked/REVISION" || fail "no revision: $(cat "$unpacked/REVISION")"
if [ -e "$SOURCE/.git" ]; then
    diff <(cd "$SOURCE" && { git ls-files --cached --others --exclude-standard; echo REVISION; } | LC_ALL=C sort -u) \
        <(cd "$unpacked" && find . -type f -printf '%P\n' | LC_ALL=C sort) || fail "the source package is another tree"
fi
LIMIT=120 expect 0 cmake -S "$unpacked" -B configured
grep -qF "TT_REVISION \"$(cat "$unpacked/REVISION")\"" configured/generated/build_info.h || fail "the revision is lost"
