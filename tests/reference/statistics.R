# SPDX-License-Identifier: GPL-3.0-or-later
# Rscript statistics.R PROGRAM: the program's statistics (statistics.c) of the same values as those of R,
# to 1e-6. Dunn's test, which R lacks, is written out from its definition.
program <- commandArgs(TRUE)[1]
wrong <- 0
compared <- 0

ours <- function(values, group = 0, block = 0) {
    input <- sprintf("%d %d %.17g", as.integer(group), as.integer(block), values)
    output <- system2(program, input = input, stdout = TRUE)
    pairs <- do.call(rbind, strsplit(output, " "))
    setNames(as.numeric(pairs[, 2]), pairs[, 1])
}
same <- function(what, found, wanted, tolerance = 1e-6) {
    compared <<- compared + length(wanted)
    off <- max(abs(found - wanted) / pmax(1, abs(wanted)))
    if (length(found) != length(wanted) || is.na(off) || off > tolerance) {
        cat(sprintf("%s: %.12g instead of %.12g\n", what, found[1], wanted[1]))
        wrong <<- wrong + 1
    }
}

shape <- function(name, x) {
    o <- ours(x)
    q <- quantile(x, c(0.05, 0.25, 0.75, 0.95), names = FALSE)
    same(paste(name, "quantiles"), unname(o[c("q05", "q25", "q75", "q95")]), q)
    same(paste(name, "spread"), unname(o[c("median", "iqr", "mad", "mean", "deviation")]),
         c(median(x), IQR(x), mad(x), mean(x), sd(x)))
    same(paste(name, "ecdf"), o[["ecdf"]], ecdf(x)(mean(x)))
    same(paste(name, "bandwidth"), o[["bandwidth"]], bw.nrd0(x))
    at <- unname(o[paste0("at", 0:63)])
    density <- unname(o[paste0("density", 0:63)])
    same(paste(name, "grid"), at, density(x, n = 64)$x)
    exact <- sapply(at, function(a) mean(dnorm(a, x, bw.nrd0(x))))
    # The program spreads more than 5,000 values over a grid, and so does R, over a coarser one.
    same(paste(name, "density"), density / max(exact), exact / max(exact), if (length(x) > 5000) 1e-4 else 1e-6)
    rs <- density(x, n = 512)
    if (max(x) - min(x) < 50 * bw.nrd0(x)) # beyond, R's grid is too coarse
        same(paste(name, "density of R"), density / max(exact), approx(rs$x, rs$y, at, rule = 2)$y / max(exact), 0.01)
    if (length(x) <= 5000) {
        s <- shapiro.test(x)
        same(paste(name, "shapiro"), o[["shapiro"]], s$statistic[[1]])
        same(paste(name, "shapiro p"), o[["shapiro_p"]], s$p.value)
    }
    if (length(x) < 4) return()
    ties <- any(duplicated(x))
    k <- suppressWarnings(cor.test(seq_along(x), x, method = "kendall", exact = !ties && length(x) < 50, continuity = TRUE))
    same(paste(name, "tau"), o[["tau"]], k$estimate[[1]])
    same(paste(name, "tau p"), o[["tau_p"]], k$p.value)
}

groups <- function(name, x, group, block = NULL) {
    o <- ours(x, group, if (is.null(block)) 0 else block)
    k <- kruskal.test(x, group)
    same(paste(name, "kruskal"), o[["kruskal"]], k$statistic[[1]])
    same(paste(name, "kruskal p"), o[["kruskal_p"]], k$p.value)
    same(paste(name, "epsilon"), o[["epsilon"]], k$statistic[[1]] / (length(x) - 1))
    if (!is.null(block)) {
        f <- friedman.test(x, group, block)
        same(paste(name, "friedman"), o[["friedman"]], f$statistic[[1]])
        same(paste(name, "friedman p"), o[["friedman_p"]], f$p.value)
        same(paste(name, "W"), o[["kendall_w"]], f$statistic[[1]] / (max(block) + 1) / max(group))
    }
    ranks <- rank(x)
    n <- length(x)
    t <- table(x)
    variance <- n * (n + 1) / 12 - sum(t^3 - t) / (12 * (n - 1))
    p <- dunn <- names <- c()
    for (a in 0:(max(group) - 1)) for (b in (a + 1):max(group)) {
        xa <- x[group == a]
        xb <- x[group == b]
        exact <- length(xa) + length(xb) <= 60
        w <- suppressWarnings(wilcox.test(xb, xa, exact = exact && !any(duplicated(c(xa, xb)))))
        pair <- paste0(a, "_", b)
        same(paste(name, "U"), o[[paste0("u", pair)]], w$statistic[[1]])
        same(paste(name, "delta"), o[[paste0("delta", pair)]], mean(sign(outer(xb, xa, "-"))))
        z <- (mean(ranks[group == b]) - mean(ranks[group == a])) / sqrt(variance * (1 / length(xa) + 1 / length(xb)))
        same(paste(name, "z"), o[[paste0("z", pair)]], z)
        names <- c(names, pair)
        p <- c(p, w$p.value)
        dunn <- c(dunn, 2 * pnorm(-abs(z)))
    }
    same(paste(name, "dunn"), unname(o[paste0("dunn", names)]), p.adjust(dunn, "holm"))
    if (!any(duplicated(x)) || n > 60 * max(group)) { # few values with ties: the program is exact, R is not
        same(paste(name, "holm"), unname(o[paste0("holm", names)]), p.adjust(p, "holm"))
        same(paste(name, "bh"), unname(o[paste0("bh", names)]), p.adjust(p, "BH"))
    }
}

set.seed(1)
for (n in c(3, 4, 5, 6, 7, 11, 12, 13, 20, 49, 50, 51, 200, 1000, 5000)) {
    shape(paste("normal", n), rnorm(n, 10, 0.5))
    shape(paste("lognormal", n), rlnorm(n))
    shape(paste("bimodal", n), ifelse(runif(n) < 0.4, rnorm(n, 1, 0.1), rnorm(n, 2, 0.2)))
    shape(paste("heavy", n), 5 + rt(n, 2))
    if (n > 5) shape(paste("tied", n), floor(rexp(n, 0.2)))
}
shape("many", rlnorm(12000))
for (k in c(2, 3, 5)) {
    for (n in c(6, 25, 80)) {
        group <- rep(0:(k - 1), each = n)
        block <- rep(0:(n - 1), times = k)
        groups(paste("alike", k, n), rlnorm(k * n), group, block)
        groups(paste("different", k, n), rnorm(k * n, 5 + 0.3 * group), group, block)
        groups(paste("tied", k, n), floor(rexp(k * n, 0.1)), group, block)
    }
    uneven <- sample(c(rep(0:(k - 1), 10), rep(0, 30)))
    groups(paste("uneven", k), rnorm(length(uneven)), uneven)
}
cat(sprintf("%d numbers compared, %d differ\n", compared, wrong))
quit(status = if (wrong > 0) 1 else 0)
