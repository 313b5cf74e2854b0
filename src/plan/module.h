/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening modules (io/module.h). One is found by its name in TUTTI_MODULE_PATH (directories with
 * ':' between them) and then beside tutti's own library, or is given by --module FILE. */
#ifndef TT_PLAN_MODULE_H
#define TT_PLAN_MODULE_H

#include <stdbool.h>

#include "base/error.h"

/* Adds what the files have to the lists of components; list is as the key `module` has it. A file
 * that is no module, one of another version, a library that it misses: TT_USAGE and one line. */
int tt_module_open_listed(const char *list, struct tt_error *e);
/* The same for the module of a component, if there is one: kind "backend", "layer", "workload",
 * "device" or "exporter".
 * TT_OK also if there is none. */
int tt_module_open_named(const char *kind, const char *name, struct tt_error *e);
/* Opens every module that is found, for lists and help; those that cannot be opened are left out.
 */
void tt_module_open_all(void);
/* Whether this table came with a module. */
bool tt_module_has(const void *table);

#endif
