/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti explain WORD: what a word of a report means, with its unit. */
#include "cli/command.h"
#include "report/words.h"

int tt_cmd_explain(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;

    if (argc < 2)
        tt_fail(&e, TT_USAGE, "usage: tutti explain WORD ...; tutti list metrics names many");
    for (int i = 1; i < argc && e.code == TT_OK; i++)
        if (!tt_words_explain(stdout, argv[i])) {
            const char *near = tt_words_nearest(argv[i]);

            tt_fail(&e, TT_USAGE, "unknown word '%.80s'%s; tutti list metrics names many", argv[i],
                    TT_DID_YOU_MEAN(near));
        }
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
