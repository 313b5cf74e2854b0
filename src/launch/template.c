/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever else starts ranks: the user's list of words, with places for ours. */
#include <string.h>

#include "launch/launch.h"

#define RANKS "{ranks}"
#define COMMAND "{command}"

/* One word, with every {ranks} in it replaced. */
static int add_word(const struct tt_launch *l, const char *word, struct tt_command_line *out,
                    struct tt_error *e)
{
    char text[4096];
    size_t used = 0;

    while (*word && used + 16 < sizeof text) {
        if (!strncmp(word, RANKS, strlen(RANKS))) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%u", l->ranks);
            word += strlen(RANKS);
        } else {
            text[used++] = *word++;
        }
    }
    text[used] = '\0';
    if (*word)
        return tt_fail(e, TT_USAGE, "launch.template: a word is longer than 4080 characters");
    tt_command_add(out, "%s", text);
    return TT_OK;
}

static int template_command(const struct tt_launch *l, struct tt_command_line *out,
                            struct tt_error *e)
{
    const struct tt_words *template = &l->options->template;
    bool ranks = false, command = false;
    int rc = TT_OK;

    for (size_t i = 0; i < template->n && rc == TT_OK; i++) {
        const char *word = template->words[i];

        ranks |= strstr(word, RANKS) != NULL;
        command |= !strcmp(word, COMMAND);
        if (strcmp(word, COMMAND))
            rc = add_word(l, word, out, e);
        else
            tt_command_add_array(out, l->words);
    }
    if (rc == TT_OK && (!ranks || !command))
        rc = tt_fail(e, TT_USAGE,
                     "launch.template needs a word with " RANKS " and the word " COMMAND
                     ", as in [mpirun, -n, '" RANKS "', '" COMMAND "']");
    return rc;
}

const struct tt_launcher tt_launcher_template = {
    .name = "template",
    .command = template_command,
};
