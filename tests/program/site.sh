# SPDX-License-Identifier: GPL-3.0-or-later
# The documentation as a site: every page is there, in the map and self-contained, and what leads nowhere is refused in a line.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs npm node

# In a copy, so that pages can be spoiled; what the pages link to comes along.
mkdir tree
tar -C "$SOURCE" -c README.md CONTRIBUTING.md LICENSE docs examples | tar -C tree -x
status=0
tree/docs/site/make site site-work >out 2>err || status=$?
[ $status != 77 ] || skip "$(cat err)"
[ $status = 0 ] || fail "$(cat err)"
[ ! -e tree/docs/site/node_modules ] || fail "packages were installed in the source tree"

# A page for each, and nothing that a browser would fetch from elsewhere.
for page in tree/docs/*.md; do
    name=$(basename "$page" .md)
    [ -s "site/$name.html" ] || fail "no page for docs/$name.md"
    grep -q '<h1' "site/$name.html" || fail "$name.html has no heading"
done
equal "$(find tree/docs -maxdepth 1 -name '*.md' | wc -l)" "$(($(find site -name '*.html' | wc -l) - 2))" "pages"
! grep -lE '<(script|img|link|iframe)[^>]*(src|href)="(https?:)?//' site/*.html || fail "a page loads something from the network"
! grep -l 'href="[^":]*\.md["#]' site/*.html || fail "a link leads to Markdown"
! grep -l '^&lt;!--' site/*.html || fail "a mark is shown"
# Links that GitHub would follow lead to the same place here.
grep -q 'href="overlap.html#how-much-is-computed"' site/particles.html || fail "a link to an anchor is lost"
grep -q 'id="how-much-is-computed"' site/overlap.html || fail "an anchor is lost"
grep -q '"hdf5 (backend)","reference.html#hdf5-backend"' site/search.js || fail "a heading cannot be found"
grep -q 'prefers-color-scheme: dark' site/style.css
grep -q '@media print' site/style.css
# The search, where there is a browser: typing words lists the headings that have them all.
if command -v chromium >/dev/null; then
    sed 's|</body>|<script>box.value = "canary gate"; box.dispatchEvent(new Event("input"));</script></body>|' site/gate.html >site/typed.html
    expect 0 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --dump-dom "file://$work/site/typed.html"
    grep -q '<ul id="found".*<li><a href="gate.html#a-canary">Gate, canary, acceptance: A canary</a>' out || fail "the search finds nothing"
    rm site/typed.html
fi
# Again, over the site that is there and without the network.
expect 0 env npm_config_offline=true tree/docs/site/make site site-work

# refused PATTERN: the page docs/spoiled.md, which stdin has and the map lists, makes the site fail in one line.
refused() {
    cat >tree/docs/spoiled.md
    expect 1 tree/docs/site/make site site-work
    one_line "$1"
    [ -s site/index.html ] || fail "the old site is gone"
}
expect 0 tree/docs/site/make site site-work
printf '\n- [spoiled](spoiled.md)\n' >>tree/docs/index.md
refused 'docs/spoiled.md links to nowhere.md, which is not there' <<<$'# A\n[a](nowhere.md)'
refused 'docs/spoiled.md links to overlap.md#nothing, but docs/overlap.md has no such heading' <<<$'# A\n[a](overlap.md#nothing)'
refused 'docs/spoiled.md links to #b, but docs/spoiled.md has no such heading' <<<$'# A\n[a](#b)'
refused 'docs/spoiled.md links to ../../etc/passwd, which is not there' <<<$'# A\n[a](../../etc/passwd)'
refused 'docs/spoiled.md shows http://a/b.png, which is not in this tree' <<<$'# A\n![a](http://a/b.png)'
refused 'docs/spoiled.md has no heading' <<<'text'
sed -i '$d' tree/docs/index.md
refused 'docs/spoiled.md is not in docs/index.md' <<<'# A'

# Never over somebody's files, and without npm one line.
mkdir mine && touch mine/file
expect 1 tree/docs/site/make mine site-work
one_line 'mine is there, and this did not make it'
[ -e mine/file ] || fail "a file of the user's is gone"
mkdir few
for command in bash dirname realpath env; do ln -s "$(command -v $command)" few/; done
expect 77 env PATH="$work/few" "$BASH" tree/docs/site/make site site-work
one_line 'npm is missing'
