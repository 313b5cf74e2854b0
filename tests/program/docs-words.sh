# SPDX-License-Identifier: GPL-3.0-or-later
# What the documentation and the comments of examples name is there: files, commands, options, keys. docs-commands.sh runs the commands.
# processors: 1
. "$(dirname "$0")/lib.sh"

# What there is, by the program's own tables.
"$TUTTI" help --markdown >reference.md
has_key() { grep -q "^| \`$1\` " reference.md; }
has_option() { # COMMAND OPTION: of the command, or a key of the run, an ensemble or a study
    local key=${2#--}
    sed -n "/^### tutti $1\$/,/^##/p" reference.md | grep -qE -- "^\| \`(-., )?$2[ \`]" || grep -qE "^\| \`((ensemble|study)\.)?${key//-/_}\` " reference.md
}

# Every page: words after tutti are commands. Launchers start perform and hold, and ranks prove, which are not listed.
while IFS=: read -r page word; do
    case $word in perform | hold | prove) continue ;; esac
    grep -q "^### tutti $word\$" reference.md || fail "$page names tutti $word, which is not a command"
done < <(cd "$SOURCE" && grep -oE '`tutti [a-z0-9]+[ `]' README.md docs/*.md | sed -E 's/:.*tutti ([a-z0-9]+).*/:\1/' | sort -u)

# Commands in the comments of examples name a file that is there (examples.sh runs the files) and options that exist.
commands=0
while IFS=: read -r file command; do
    read -ra words <<<"${command%%   *}"
    for word in "${words[@]:2}"; do
        case $word in
        examples/*) [ -e "$SOURCE/${word%[.,;]}" ] || fail "$file names $word, which is not there" ;;
        --*) has_option "${words[1]}" "${word%%=*}" || fail "$file gives tutti ${words[1]} the option ${word%%=*}, which is not there" ;;
        esac
    done
    commands=$((commands + 1))
done < <(cd "$SOURCE" && grep -rnoE '^# .*tutti (run|ensemble|study|survey|accept|watch|advise) .*examples/.*' examples | sed -E 's/^([^:]*):[0-9]+:.*(tutti )/\1:\2/')
[ $commands -gt 10 ] || fail "only $commands commands in the comments of examples"

# The tables of migration.md: every key and command of tutti exists, every option of the programs that tutti imitates, and every one of fio
# where fio is installed.
knows_fio() { # OPTION: of a job, or of the program
    fio --cmdhelp="${1#--}" 2>&1 | grep -q "^ *${1#--}:" || fio --help | grep -q -- "^ *$1\b"
}
rows=0
while IFS='|' read -r section theirs ours; do
    for word in $(grep -oE '`[^`]*`' <<<"$ours" | tr -d '`' | sed -E 's/: .*//; s/^tutti ([a-z0-9]+).*/tutti:\1/; s/ .*//'); do
        case $word in
        --*) ;;
        tutti:*) grep -q "^### tutti ${word#tutti:}\$" reference.md || fail "migration.md has tutti ${word#tutti:}, which is not there" ;;
        *) has_key "$word" || has_key "ensemble.$word" || grep -q "^## $word (backend)" reference.md || fail "migration.md has the key $word, which is not there" ;;
        esac
    done
    while IFS=: read -r key value; do # a choice has this value
        row=$(grep "^| \`$key\` | WORD " reference.md) || continue
        grep -qE "[|,] ${value# }( \||,)" <<<"$row" || fail "migration.md gives $key the value$value, which it cannot have"
    done < <(grep -oE '`[a-z_.]+: [^`]*`' <<<"$ours" | tr -d '`')
    for word in $(grep -oE '`-[^`]*`' <<<"$theirs" | tr -d '`'); do
        case $section in
        IOR | mdtest | numio) has_option "${section,,}" "$word" || grep -qE -- "^ *${word}[ ,[]" <<<"$("$TUTTI" help "${section,,}")" ;;
        fio) ! command -v fio >/dev/null || knows_fio "${word%%=*}" ;;
        esac || fail "$section does not have $word of migration.md"
    done
    rows=$((rows + 1))
done < <(awk -F ' \\| ' '/^## / { section = $0; sub(/^## /, "", section) } section != "" && /^\| / { sub(/^\| /, "", $1); print section "|" $1 "|" $2 }' "$SOURCE/docs/migration.md")
[ $rows -gt 60 ] || fail "only $rows rows in the tables of migration.md"

# Figures of speed: those that bench/run.sh has, and no others.
bash "$SOURCE/bench/run.sh" --names | sort >names
sed -n '/^## Figures/,/^## Beside/p' "$SOURCE/docs/testing.md" | sed -nE 's/^\| (`[^|]*) \|.*/\1/p' | grep -oE '[a-z0-9_]+' | sort >described
diff names described >&2 || fail "the figures of testing.md are not those of bench/run.sh"
