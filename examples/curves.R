#!/usr/bin/env Rscript
# SPDX-License-Identifier: GPL-3.0-or-later
# Rscript curves.R CURVES.csv PLOT.pdf: a violin, with its quartiles, and the distribution function of every level of each key, from
# what `tutti analyze --csv` wrote. Needs nothing but R.
files <- commandArgs(TRUE)
all <- read.csv(files[1], colClasses = c("character", "character", "character", "numeric", "numeric"))
pdf(files[2])
for (key in unique(all$key)) {
    one <- all[all$key == key, ]
    levels <- unique(one$level)
    plot(NULL, xlim = c(0.5, length(levels) + 0.5), ylim = range(one$value), xaxt = "n", xlab = key, ylab = "value")
    axis(1, seq_along(levels), levels)
    for (i in seq_along(levels)) {
        d <- one[one$level == levels[i] & one$curve == "density", ]
        q <- one[one$level == levels[i] & one$curve == "quantile", ]
        width <- 0.4 * d$y / max(d$y)
        polygon(i + c(width, -rev(width)), c(d$value, rev(d$value)), col = "grey85")
        segments(i, q$value[q$y == 0.25], i, q$value[q$y == 0.75], lwd = 4)
        points(i, q$value[q$y == 0.5], pch = 21, bg = "white")
    }
    plot(NULL, xlim = range(one$value), ylim = 0:1, xlab = "value", ylab = "share of frames", main = key)
    for (i in seq_along(levels)) {
        f <- one[one$level == levels[i] & one$curve == "ecdf", ]
        lines(f$value, f$y, type = "s", lty = i)
    }
    legend("bottomright", levels, lty = seq_along(levels))
}
invisible(dev.off())
