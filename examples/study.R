#!/usr/bin/env Rscript
# SPDX-License-Identifier: GPL-3.0-or-later
# Medians and interquartile ranges of a study, and an analysis of variance: study.R STUDY.csv [METRIC]. STUDY.csv is the
# long form that `tutti study ... --csv STUDY.csv` writes. Base R suffices; where ggplot2 is installed, STUDY.pdf shows
# every run over the first varied key.
of_a_run <- c("point", "repetition", "round", "directory", "metric", "unit", "value")
words <- commandArgs(trailingOnly = TRUE)
if (!length(words) %in% 1:2) stop("usage: study.R STUDY.csv [METRIC]")
all <- read.csv(words[1], check.names = FALSE, colClasses = c(point = "character"))
if (!all(of_a_run %in% names(all))) stop(words[1], ": is not the long form of a study")
metric <- if (length(words) == 2) words[2] else all$metric[1]
runs <- all[all$metric == metric, ]
if (nrow(runs) == 0) stop(words[1], ": has no metric ", metric)
keys <- setdiff(names(all), of_a_run)
# Levels in the order of the file, not of the alphabet.
for (key in keys) runs[[key]] <- factor(runs[[key]], levels = unique(runs[[key]]))

quartiles <- function(x) c(n = length(x), median = median(x), quantile(x, c(0.25, 0.75)))
summary_of <- aggregate(runs["value"], runs[rev(keys)], quartiles)
print(summary_of[, c(keys, "value")], row.names = FALSE, digits = 4)
cat("#", metric, paste0("[", runs$unit[1], "]"), "\n")

varied <- keys[sapply(keys, function(key) length(unique(runs[[key]])) > 1)]
if (length(varied) > 0 && nrow(runs) > nrow(summary_of) && all(runs$value > 0)) {
    names(runs) <- make.names(names(runs))
    print(anova(lm(reformulate(make.names(varied), "log(value)"), runs)))
}
if (requireNamespace("ggplot2", quietly = TRUE)) {
    library(ggplot2)
    names(runs) <- make.names(names(runs))
    first <- make.names(keys[1])
    others <- make.names(keys[-1])
    plot <- ggplot(runs, aes(x = .data[[first]], y = value)) + geom_point(alpha = 0.5) + labs(y = metric)
    if (length(others) > 0) plot <- plot + facet_wrap(others, labeller = "label_both")
    ggsave(sub("[.]csv$", ".pdf", words[1]), plot, width = 7, height = 5)
}
