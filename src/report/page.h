/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of `tutti report`, as the build bundled it from page/: one HTML file with two gaps. */
#ifndef TT_REPORT_PAGE_H
#define TT_REPORT_PAGE_H

#include <stddef.h>

/* Each stands in the template exactly once, the title first. */
#define TT_PAGE_TITLE "@TUTTI_TITLE@" /* text of HTML: &, < and > escaped */
#define TT_PAGE_DOCUMENT \
    "@TUTTI_DOCUMENT@" /* the JSON of page/src/document.ts, with \u003c for every <, so that no \
                          text in it ends its element */

/* Ends with a 0 that the size does not count. Size 0: this build had no npm, or npm could not fetch
 * what the bundler needs. */
extern const char tt_page_template[];
extern const size_t tt_page_template_size;

#endif
