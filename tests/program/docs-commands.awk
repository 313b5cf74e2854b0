# SPDX-License-Identifier: GPL-3.0-or-later
# Writes the commands of a page to files, for docs-commands.sh:
#   awk -v into=DIR -f docs-commands.awk PAGE.md
# DIR/NNNN.sh has the block of commands that begins in line NNNN, DIR/NNNN.mark the mark before it, if there is one.
# A block is commands if its fence says sh or if it begins with a word that docs-commands.sh runs. A comment line right before the fence
# is its mark; <!-- file: NAME --> before a block of another kind makes the block a file, which later commands of the page find.
function finish()
{
    if (kind == "commands") {
        printf "%s", text >out ".sh"
        close(out ".sh")
        if (mark != "") { print mark >out ".mark"; close(out ".mark") }
    } else if (mark ~ /^file: /) {
        printf "cat >'%s' <<'END_OF_FILE'\n%sEND_OF_FILE\n", substr(mark, 7), text >out ".sh"
        close(out ".sh")
    } else if (mark != "" && mark !~ /^(include |not run: output$)/) {
        print FILENAME ":" FNR ": the mark '" mark "' stands before a block that is not commands" >"/dev/stderr"
        wrong = 1
    }
    inside = 0
    mark = ""
}
/^ *```/ && inside { finish(); next }
/^ *```/ {
    out = sprintf("%s/%04d", into, FNR)
    language = $0
    gsub(/[ `]/, "", language)
    kind = language == "sh" ? "commands" : language == "" ? "unknown" : "other"
    inside = 1
    text = ""
    next
}
inside {
    if (kind == "unknown")
        kind = mark != "not run: output" && /^ *(\$ |sudo |tutti |build\/tutti |make |mpirun |mpiexec |srun |sbatch |git |jq |[A-Z_]+=)/ ? "commands" : "other"
    sub(/^ *\$ /, "")
    text = text $0 "\n"
    next
}
/^<!-- .* -->$/ { mark = substr($0, 6, length($0) - 9); next }
/[^ ]/ { mark = "" }
END {
    if (inside) { print FILENAME ": a block of code does not end" >"/dev/stderr"; wrong = 1 }
    exit wrong
}
