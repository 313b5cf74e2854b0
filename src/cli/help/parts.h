/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the texts of tutti help, its manual pages and its completions have in common: how commands,
 * options and keys are named and described. */
#ifndef TT_CLI_HELP_PARTS_H
#define TT_CLI_HELP_PARTS_H

#include "cli/command.h"
#include "plan/registry.h"

/* A component as a topic of help: its name, or "run" for the run's own keys. */
const char *tt__topic_name(const struct tt_component *c);
/* Everything that has keys: the components of a run, and what commands have besides. */
void tt__each_topic(tt_component_fn *visit, void *context);

/* What the value of a parameter is called: "FILE", "COUNT". */
const char *tt__value_name(const struct tt_param *p);
/* "what it is [range; unit; default]", without brackets where there is nothing to say. */
void tt__describe_param(const struct tt_param *p, char *out, size_t size);
/* "-f, --filter NAME,..." of a command's option; "--write.every COUNT" of a component's key. */
void tt__name_option(const struct tt_param *p, enum tt_option_style style, char *out, size_t size);
void tt__name_key(const char *kind, const struct tt_component *c, const struct tt_param *p,
                  char *out, size_t size);

enum tt__shell { TT__SHELL_NONE, TT__SHELL_BASH, TT__SHELL_ZSH };
void tt__print_completion(enum tt__shell shell);
int tt__write_man(const char *directory, struct tt_error *e);

#endif
