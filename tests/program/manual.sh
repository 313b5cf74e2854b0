# SPDX-License-Identifier: GPL-3.0-or-later
# Manual pages and zsh's completion come from the tables: formatters find nothing wrong with them, they hold what the reference
# holds, and zsh itself completes by them. Completion by bash is in information.sh.
# processors: 1
. "$(dirname "$0")/lib.sh"
unset TUTTI_MODULE_PATH
export LC_ALL=C.UTF-8 MANWIDTH=80

expect 0 "$TUTTI" help --man pages
[ -s pages/tutti.1 ] && [ -s pages/tutti-run.1 ] && [ -s pages/tutti-bulk.7 ] && [ -s pages/tutti-metrics.7 ] || fail "pages: $(ls pages)"
! ls pages | grep -E 'perform|hold' || fail "pages of internal commands"
# Every key, option and metric of the reference.
sed -n 's/^| `\([a-z0-9_.]*\)` |.*/\1/p; s/^| `\(-[-a-zA-Z.]*\).*/\1/p' "$SOURCE/docs/reference.md" | sed 's/.*\.//; s/_/-/g' | sort -u >wanted
cat pages/* | tr -d '\\' | tr _ - >all
[ "$(wc -l <wanted)" -gt 200 ] || fail "hardly anything is in the reference"
while read -r word; do grep -qF -- "$word" all || fail "no page has $word"; done <wanted
# Again over the same pages; not over a file.
expect 0 "$TUTTI" help --man pages
expect 1 "$TUTTI" help --man pages/tutti.1
one_line "tutti.1"
mkdir theirs
echo mine >theirs/tutti-run.1
expect 1 "$TUTTI" help --man theirs
one_line "'theirs/tutti-run.1' exists, and tutti did not make it; name another place"
equal mine "$(cat theirs/tutti-run.1)" "somebody's page"

if command -v man >/dev/null && command -v groff >/dev/null; then
    for page in pages/*; do
        man --warnings -l "$page" >shown 2>warnings </dev/null || fail "man refuses $page: $(cat warnings)"
        [ ! -s warnings ] || fail "$page: $(cat warnings)"
    done
    man -l pages/tutti-compare.1 </dev/null >shown
    grep -q -- '--fail-if WORD' shown || fail "man does not show an option"
fi
needs mandoc zsh
mandoc -T lint -W error pages/* || fail "mandoc refuses a page"

# What zsh offers for a line, asked on a terminal of its own: it tells when it is ready and what it adds to its list.
"$TUTTI" help --completion zsh >_tutti
zsh -n _tutti
cat >ask.zsh <<'END'
zmodload zsh/zpty zsh/zselect
seen() { local i; for ((i = 0; i < 300; i++)); do [[ -s $1 ]] && return; zselect -t 10; done; print -u2 "zsh did not answer"; exit 1 }
zpty z "TERM=dumb zsh -f -i"
zpty -w z "cd $PWD; fpath=($PWD \$fpath); autoload -Uz compinit; compinit -u -d $PWD/dump; unsetopt beep"
zpty -w z "compadd() { local -a hits; builtin compadd -O hits \"\$@\"; print -l -- \$hits >>$PWD/hits; builtin compadd \"\$@\" }"
zpty -w z "zle-line-init() { zle -D zle-line-init; print yes >$PWD/ready }; zle -N zle-line-init"
seen ready
zpty -w -n z "$1"$'\t'
seen hits
zselect -t 20
zpty -d z
END
offers() { # LINE: sorted, without what is empty
    rm -f hits ready
    timeout 60 zsh -f ask.zsh "$1" >/dev/null 2>zsh.err </dev/null || fail "zsh: $(cat zsh.err)"
    tr ' ' '\n' <hits | sed '/^$/d' | sort -u | paste -sd ' '
}
equal show "$(offers 'tutti sho')" "a command"
equal --fail-if "$(offers 'tutti compare --fail')" "an option"
equal "different never worse" "$(offers 'tutti compare --fail-if ')" "values of an option"
equal --stencil.size "$(offers 'tutti run --stencil.si')" "a workload's key"
equal stencil "$(offers 'tutti run stenc')" "a workload"
equal --blockSize "$(offers 'tutti ior --blockS')" "a dialect's option"
touch here.yaml
equal here.yaml "$(offers 'tutti accept here')" "a file"
