# SPDX-License-Identifier: GPL-3.0-or-later
# Reads factors, one a line: NAME VALUE VALUE ...; # starts a comment. Prints runs, one a line:
# NAME=VALUE NAME=VALUE ..., such that every pair of values of two factors is in at least one run.
# Greedy and deterministic: the same factors give the same runs.
/^#/ || NF < 2 { next }
{
    n++
    name[n] = $1
    values[n] = NF - 1
    for (i = 2; i <= NF; i++) value[n, i - 1] = $i
}
function pair(a, i, b, j) { return a < b ? a SUBSEP i SUBSEP b SUBSEP j : b SUBSEP j SUBSEP a SUBSEP i }
# How many pairs are new if factor f takes value i, given the factors chosen so far.
function gain(f, i,    g, sum) {
    for (g = 1; g <= n; g++)
        if (g != f && chosen[g]) sum += (pair(f, i, g, chosen[g]) in open)
    return sum + 0
}
# How many open pairs a value still has at all: decides between equals.
function promise(f, i,    g, j, sum) {
    for (g = 1; g <= n; g++)
        for (j = 1; g != f && j <= values[g]; j++) sum += (pair(f, i, g, j) in open)
    return sum + 0
}
function choose(f,    i, score, best, best_score) {
    best_score = -1
    for (i = 1; i <= values[f]; i++) {
        score = gain(f, i) * 10000 + promise(f, i)
        if (score > best_score) { best = i; best_score = score }
    }
    chosen[f] = best
}
function first_open(    a, i, b, j) {
    for (a = 1; a <= n; a++)
        for (b = a + 1; b <= n; b++)
            for (i = 1; i <= values[a]; i++)
                for (j = 1; j <= values[b]; j++)
                    if (pair(a, i, b, j) in open) {
                        chosen[a] = i
                        chosen[b] = j
                        return 1
                    }
    return 0
}
END {
    for (a = 1; a <= n; a++)
        for (b = a + 1; b <= n; b++)
            for (i = 1; i <= values[a]; i++)
                for (j = 1; j <= values[b]; j++) open[pair(a, i, b, j)]
    while (first_open()) {
        line = ""
        for (f = 1; f <= n; f++)
            if (!chosen[f]) choose(f)
        for (f = 1; f <= n; f++) {
            for (g = f + 1; g <= n; g++) delete open[pair(f, chosen[f], g, chosen[g])]
            line = line (f > 1 ? " " : "") name[f] "=" value[f, chosen[f]]
        }
        for (f = 1; f <= n; f++) delete chosen[f]
        print line
    }
}
