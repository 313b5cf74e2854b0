/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti explain: what a word of a report means, with its unit. */
#include "cli/command.h"
#include "report/words.h"

static int run(struct tt_invocation *call, struct tt_error *e)
{
    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE, "usage: tutti explain WORD ...; tutti list metrics names many");
    for (size_t i = 0; i < call->nwords; i++)
        if (!tt_words_explain(stdout, call->words[i])) {
            const char *near = tt_words_nearest(call->words[i]);

            return tt_fail(e, TT_USAGE, "unknown word '%.80s'%s; tutti list metrics names many",
                           call->words[i], TT_DID_YOU_MEAN(near));
        }
    return TT_OK;
}

const struct tt_command tt_command_explain = {
    .name = "explain",
    .summary = "what a word of a report means",
    .synopsis = "tutti explain WORD ...",
    .text =
        "Say what a word of a report means: a metric, a phase, a call, a column or a parameter.",
    .run = run,
    .max_words = TT_ANY_WORDS,
};
