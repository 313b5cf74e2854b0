# SPDX-License-Identifier: GPL-3.0-or-later
# Commands that only tell: info, list, help, explain. They work without MPI being started.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"

expect 0 "$TUTTI" --help
grep -q run out
expect 0 "$TUTTI" info
for word in version flags MPI CPU memory; do grep -qi "$word" out || fail "info does not tell $word"; done
# The version in the first line, for other programs; then what was built with what, and nothing of this machine.
expect 0 "$TUTTI" --version
sed -n 1p out | grep -qxE 'tutti [0-9]+\.[0-9]+\.[0-9]+ \([0-9a-z.-]+\)' || fail "$(cat out)"
for word in build MPI launcher libraries; do grep -q "^  $word " out || fail "--version does not tell $word"; done
! grep -qE '^  (host|CPU|memory) ' out || fail "$(cat out)"
if has_backend hdf5; then tr -s '\n ' ' ' <out | grep -qE ' modules .*hdf5 \([a-z0-9-]+ [0-9.]+\)' || fail "$(cat out)"; fi
equal "$(sed -n '1s/^tutti //p' out)" "$("$TUTTI" info | sed -n 's/^  version  *tutti //p')" "the version of info"

for kind in workloads backends layers metrics; do
    expect 0 "$TUTTI" list $kind
    [ "$(wc -l <out)" -ge 2 ] || fail "list $kind is empty"
    awk 'length > 80 { exit 1 }' out || fail "list $kind is wider than 80 columns"
done
for word in stencil pattern reader traffic; do "$TUTTI" list workloads | grep -qw $word; done
for word in discard posix mpiio; do "$TUTTI" list backends | grep -qw $word; done
for word in verify fault throttle; do "$TUTTI" list layers | grep -qw $word; done

# Every component and metric that is listed can be looked up.
for kind in workloads backends layers; do
    for name in $("$TUTTI" list $kind | awk "/^  [a-z]/ && !/not in this build/ { print \$1 }"); do
        expect 0 "$TUTTI" help "$name"
        grep -q "$name" out || fail "help $name does not name it"
    done
done
for name in runtime residual write_rate hidden_fraction inflation; do
    expect 0 "$TUTTI" explain $name
    grep -q "$name" out || fail "explain $name does not name it"
done
expect 0 "$TUTTI" help run
for option in json csv; do grep -qE -- "--$option FILE" out || fail "help run says not that --$option takes a file"; done
# A limit is told up to that of an int, which is one of MPI; larger ones nobody meets.
grep -q '1 to 2147483647; ranks' out || fail "help run does not tell the limit of ranks"
expect 0 "$TUTTI" explain "hidden I/O"
grep -q hidden_fraction out || fail "explain does not know the labels of the table"

# The reference in the documentation is what the tables of a complete build say.
expect 0 env -u TUTTI_MODULE_PATH "$TUTTI" help --markdown
"$TUTTI" list backends >backends
grep -q 'not in this build' backends || diff -u "$SOURCE/docs/reference.md" out ||
    fail "docs/reference.md is not current: run make docs"
awk -f "$SOURCE/docs/metrics.awk" "$SOURCE/docs/reference.md" "$SOURCE/docs/metrics.md" | diff -u "$SOURCE/docs/metrics.md" - ||
    fail "docs/metrics.md is not current: run make docs"

# --help works wherever it is typed.
for words in run 'run stencil' 'run stencil --size 64' show info list explain verify numio ensemble h5bench; do
    expect 0 "$TUTTI" $words --help
    awk 'length > 80 { exit 1 }' out || fail "$words --help is wider than 80 columns"
done
expect 0 "$TUTTI" run stencil --help
grep -q -e --iterations out || fail "run stencil --help does not list its keys"
expect 0 "$TUTTI" help numio
grep -q nofilesync out || fail "help numio does not list its options"

# A shell completes commands, options and keys from the same tables.
expect 0 "$TUTTI" help --completion bash
# shellcheck disable=SC1091
complete_word() { (. ./out && COMP_WORDS=(tutti "$@") && COMP_CWORD=$# && _tutti && echo "${COMPREPLY[@]}"); }
equal "$(complete_word sho)" show "completion of a command"
equal "$(complete_word perf)" "" "completion of an internal command"
equal "$(complete_word compare --any)" --any-plan "completion of an option"
equal "$(complete_word ior --blockS)" --blockSize "completion of a dialect's option"
equal "$(complete_word run --stencil.si)" --stencil.size "completion of a workload's key"
