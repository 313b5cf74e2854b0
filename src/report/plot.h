/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plots that are a line of text. */
#ifndef TT_REPORT_PLOT_H
#define TT_REPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TT_PLOT_COLUMNS 30
#define TT_PLOT_TEXT (3 * TT_PLOT_COLUMNS + 1)

/* Whether out is a terminal that shows more than ASCII, by the user's locale. */
bool tt_shows_unicode(FILE *out);
/* Each value as part of the highest, a character each, TT_PLOT_COLUMNS at most; blank: not above 0.
 * Blanks at the end are left out. */
void tt_plot_line(const double *values, size_t n, bool unicode, char text[TT_PLOT_TEXT]);
/* The mean of each of n parts of many values; what is no number does not count. Returns how many
 * parts there are. */
size_t tt_plot_means(const double *values, size_t n, double parts[TT_PLOT_COLUMNS]);
/* From 0 to longest, in `width` columns: # up to the value, = and - where the interval is, whose
 * ends may be no numbers. text has room for width + 1. */
void tt_plot_bar(double value, double low, double high, double longest, size_t width, char *text);

#endif
