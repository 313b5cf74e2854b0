# SPDX-License-Identifier: GPL-3.0-or-later
# Every command in the documentation runs. The blocks of commands of a page run one after the other in a directory of their own, which has
# build/tutti, examples/ and $SCRATCH; a comment line before a block says what differs:
#   <!-- needs: root|Slurm|a cluster|a GPU|make|the original programs -->   not run here
#   <!-- needs: sqlite3|promtool|otf2-print|... -->             run where this program is installed
#   <!-- needs: 2 minutes -->                                   run only with DOCS_ALL=1
#   <!-- exits: 0 3 4 -->                                       the block ends with one of these statuses; also after a need and a comma
#   <!-- file: job.yaml -->                                     the block is this file, for later commands of the page
# What is not run has at least to be correct bash, and its lines that are a run, an ensemble or the like correct usage, by --dry-run.
# ONLY=page runs the blocks of one page.
# processors: 1
# timeout: 300
. "$(dirname "$0")/lib.sh"
needs jq
mkdir pages bin scratch
ln -s "$TUTTI" bin/tutti
# Ranks are started as the documentation does it, by the MPI of this build; root in a container is normal for tests.
printf '#!/bin/sh\nexec %s "$@"\n' "${RANKS% -n}" >bin/mpirun
chmod +x bin/mpirun
export PATH=$work/bin:$PATH SCRATCH=$work/scratch

# A block runs, unless its mark says what it needs and this is not it, or a backend is not in this build; the statuses it may have are in
# $want.
runs_here() { # MARK BLOCK
    local backend needs=$1
    want=0
    if [[ $needs =~ ^(.*, )?exits:\ ([0-9 ]+)$ ]]; then
        needs=${BASH_REMATCH[1]%, } want=${BASH_REMATCH[2]}
    fi
    for backend in $(sed -nE 's/.*--backend ([a-z0-9]+).*/\1/p; s/.*tutti h5bench .*/hdf5/p' "$2"); do has_backend "$backend" || return; done
    case $needs in
    "") ;;
    "needs: "[0-9]*" minute"*) [ -n "${DOCS_ALL:-}" ] ;;
    "needs: chromium" | "needs: npm" | "needs: otf2-print" | "needs: promtool" | "needs: reframe" | "needs: Rscript" | "needs: spack" | "needs: sqlite3")
        command -v "${needs#needs: }" >/dev/null ;;
    "needs: root" | "needs: Slurm" | "needs: a GPU" | "needs: a cluster" | "needs: make" | "needs: the original programs") return 1 ;;
    *) fail "unknown mark '$1' at $where" ;;
    esac
}
# What such a line needs may be missing here, which is status 1; status 2 is a word that tutti does not understand.
try_dry() { # BLOCK
    local line status
    while read -r line; do
        status=0
        timeout 60 bash -c "$line --dry-run" >"$work/out" 2>"$work/err" </dev/null || status=$?
        [ $status -lt 2 ] || fail "status $status of '$line --dry-run' at $where: $(cat "$work/err")"
    done < <(sed -nE '/--resume| show /d; s/ +# .*//; /^(build\/)?tutti (run|ensemble|study|survey|accept|watch|advise|tune) /p' "$1")
}
run_page() { # PAGE NAME
    local block mark place=pages/$2 since status
    mkdir -p "$place/blocks" "$place/here/build"
    awk -v into="$place/blocks" -f "$SOURCE/tests/program/docs-commands.awk" "$1" || fail "$1 cannot be read"
    ln -s "$TUTTI" "$place/here/build/tutti"
    ln -s "$SOURCE/examples" "$place/here/examples"
    for block in "$work/$place"/blocks/*.sh; do
        [ -e "$block" ] || continue
        where=${1#"$SOURCE"/}:$((10#$(basename "$block" .sh)))
        bash -n "$block" || fail "not bash: $where"
        mark=$(cat "${block%.sh}.mark" 2>/dev/null) || true
        if ! runs_here "$mark" "$block"; then
            (cd "$place/here" && try_dry "$block") || exit
            left=$((left + 1))
            continue
        fi
        since=$SECONDS
        status=0
        (cd "$place/here" && exec timeout -k 5 "${DOCS_ALL:+9}90" bash -e -o pipefail "$block" >"$work/out" 2>"$work/err" </dev/null) || status=$?
        if [[ " $want " != *" $status "* ]]; then
            tail -n 40 out err
            fail "status $status instead of $want: the commands at $where"
        fi
        done=$((done + 1))
        echo "$where: $((SECONDS - since)) s"
    done
    rm -rf "$place/here"
}

done=0 left=0
for page in "$SOURCE"/README.md "$SOURCE"/CONTRIBUTING.md "$SOURCE"/docs/*.md; do
    name=$(basename "$page" .md)
    [ "${ONLY:-$name}" = "$name" ] || continue
    run_page "$page" "$name"
done
[ $done -gt 0 ] || fail "no command in the documentation"
echo "$done blocks run, $left need something else"
