/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings from the command line and from YAML (or JSON) files. */
#ifndef TT_SPEC_READ_H
#define TT_SPEC_READ_H

#include "spec/param.h"
#include "spec/settings.h"

/* Words after "tutti run": "--size 4096", "--size=4096", "--write every=20,pattern=10:0:1",
 * "--mpiio.cb_nodes 4", "--set key=value", "-n 2", "--keep". own is the table of the run's
 * parameters: a bool in it takes no following word as its value, so that "--keep stencil" works.
 * What is neither an option nor an option's value goes to *positional (a workload or a file), at
 * most one. The workload's tables are not known yet, so keys and values are not checked here; an
 * option that was given no value gets NULL, which tt_config_make takes as yes for a bool and
 * refuses for everything else. A component's name as key ("--write") is resolved there, too. */
int tt_read_arguments(int argc, char **argv, const struct tt_param *own, struct tt_settings *s,
                      const char **positional, struct tt_error *e);

/* A mapping; nested mappings become dotted keys, sequences become "a,b" lists (with a backslash
 * before a comma in a value), sequences of mappings keys with a number ("load.0.size"). "workload"
 * names the workload and goes to *workload (caller frees; NULL if the file has none). Anchors,
 * aliases and
 * "<<" work. Errors name file:line:column. */
int tt_read_yaml(const char *path, struct tt_settings *s, char **workload, struct tt_error *e);

#endif
