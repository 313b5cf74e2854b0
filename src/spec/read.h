/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings from the command line and from YAML (or JSON) files. */
#ifndef TT_SPEC_READ_H
#define TT_SPEC_READ_H

#include "spec/settings.h"

/* Words after "tutti run": "--size 4096", "--size=4096", "--write every=20,pattern=10:0:1",
 * "--mpiio.cb_nodes 4", "--set key=value", "-n 2", "--keep" (a bool without value is yes).
 * "--write every=20" means write.every: a component's name takes a comma list of key=value.
 * What is neither an option nor an option's value goes to *positional (a workload or a file), at
 * most one. The workload's tables are not known yet, so values are not checked here, but an option
 * that takes a value and has none is an error. */
int tt_read_arguments(int argc, char **argv, struct tt_settings *s, const char **positional,
                      struct tt_error *e);

/* A mapping; nested mappings become dotted keys, sequences become "a,b" lists. "workload" names the
 * workload and goes to *workload (caller frees). Errors name file:line:column. */
int tt_read_yaml(const char *path, struct tt_settings *s, char **workload, struct tt_error *e);

#endif
