# SPDX-License-Identifier: GPL-3.0-or-later
# Prints a page with the files it includes as they are now; run from the top of the source:
#   awk -f docs/refresh.awk docs/extending.md > new && mv new docs/extending.md
# An included file is a block of code after a line <!-- include PATH -->.
/^```$/ && skipping { skipping = 0; next }
skipping { next }
{ print }
/^<!-- include .* -->$/ {
    print "```c"
    while ((status = (getline line < $3)) > 0) print line
    if (status < 0) { print "refresh.awk: cannot read " $3 > "/dev/stderr"; exit 1 }
    close($3)
    print "```"
    skipping = 1
}
