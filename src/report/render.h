/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document for people without a browser, and for programs. All of them go to an open stream; what
 * fails there is said when it is closed. */
#ifndef TT_REPORT_RENDER_H
#define TT_REPORT_RENDER_H

#include "report/document.h"
#include "report/outfile.h"

/* At most 80 columns: figures as tables and plots of one line. */
int tt_render_text(const struct tt_document *d, FILE *out, struct tt_error *e);
/* For papers and issues: figures as tables. */
int tt_render_markdown(const struct tt_document *d, FILE *out, struct tt_error *e);
/* figure,series,x,y,low,high,run: every number of every figure. */
int tt_render_csv(const struct tt_document *d, struct tt_outfile *f, struct tt_error *e);
/* One file that a browser opens. TT_UNSUPPORTED: this tutti has no page. */
int tt_render_html(const struct tt_document *d, FILE *out, struct tt_error *e);
bool tt_has_page(void);

/* cells.c: a figure as a table, {"head": [text], "right": [boolean], "rows": [[text]]}; unicode: of
 * its plots. Without rows where a table says nothing (spans). A new reference; NULL: no memory. */
json_t *tt_figure_cells(const struct tt_document *d, const json_t *figure, bool unicode);
/* A number with its unit, as everywhere in reports; "-": missing. */
const char *tt_format_cell(double value, const char *unit, char out[32]);

#endif
