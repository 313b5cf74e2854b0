# SPDX-License-Identifier: GPL-3.0-or-later
# The page of tutti report: its types hold, and in a browser it draws known data as it should (tests/page/check.mjs).
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs node chromium
[ -s "$PAGE/report.html" ] || skip "this build has no page: package npm brings its bundler"

# tsc looks for the types beside the sources; the packages are in the build tree.
mkdir types
cp -r "$SOURCE/page/src" "$SOURCE/page/tsconfig.json" types
LIMIT=120 expect 0 node "$PAGE/node_modules/typescript/bin/tsc" --project types

export PAGE TMPDIR=$work
LIMIT=240 expect 0 node "$SOURCE/tests/page/check.mjs"
[ "$(grep -c '^ok: ' out)" -ge 25 ] || fail "hardly any tests ran: $(cat out)"

# A report that cannot be drawn does not pass for one that can.
sed 's/@TUTTI_DOCUMENT@/{"format": 2}/' "$PAGE/report.html" >other.html
expect 1 node "$SOURCE/tests/page/open.mjs" other.html
grep -q 'other.html: The data of this page has the format 2; this page reads format 1' err || fail "$(cat err)"

# Without npm, or with one that cannot fetch anything, configure says so in a line, and the rest builds.
mkdir bare
ln -s "$SOURCE/page" bare/page
cat >bare/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.25)
project(bare LANGUAGES C)
include($SOURCE/cmake/Page.cmake)
file(WRITE \${CMAKE_BINARY_DIR}/main.c "#include \"report/page.h\"\nint main(void) { return tt_page_template_size != 0 || *tt_page_template; }\n")
add_executable(bare \${CMAKE_BINARY_DIR}/main.c)
target_include_directories(bare PRIVATE $SOURCE/src)
tutti_add_page(bare)
EOF
for npm in '' /bin/false; do
    expect 0 cmake -S bare -B "no-npm$npm" "-DTUTTI_NPM=$npm"
    equal 1 "$(grep -c '^-- tutti: the page of report is switched off; ' out)" "lines about the page with npm '$npm'"
    expect 0 cmake --build "no-npm$npm"
    expect 0 "no-npm$npm/bare"
done
