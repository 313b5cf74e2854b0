/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencil: Jacobi iterations on a regular grid, with halo exchange, and the field written and
 * read now and then. Its parts are in stencil/; run.c holds the loop. */
#include "workloads/stencil/options.h"

static const char *const dims_choices[] = {"2", "3", NULL};
static const char *const shape_choices[] = {"star", "box", NULL};
static const char *const perturbation_choices[] = {"none", "sine", NULL};
static const char *const decomposition_choices[] = {"rows", "blocks", NULL};
static const char *const halo_choices[] = {"after", "overlap", NULL};
static const char *const uses[] = {"write", "read", "collective", NULL};

#define AT(member) offsetof(struct tt_stencil_options, member)
static const struct tt_param params[] = {
    {.key = "size",
     .type = TT_PARAM_COUNT,
     .offset = AT(size),
     .default_text = "1024",
     .unit = "points",
     .text = "points of the grid in every direction, boundary included",
     .min = 3,
     .max = 1 << 30},
    {.key = "iterations",
     .type = TT_PARAM_COUNT,
     .offset = AT(iterations),
     .default_text = "100",
     .text = "how often every point is computed",
     .min = 1,
     .max = INT64_MAX},
    {.key = "dims",
     .type = TT_PARAM_CHOICE,
     .offset = AT(dims),
     .default_text = "2",
     .text = "dimensions of the grid",
     .choices = dims_choices},
    {.key = "shape",
     .type = TT_PARAM_CHOICE,
     .offset = AT(shape),
     .default_text = "star",
     .text = "neighbours of a point: star (4, in 3D 6) or box (8, in 3D 26)",
     .choices = shape_choices},
    {.key = "perturbation",
     .type = TT_PARAM_CHOICE,
     .offset = AT(perturbation),
     .default_text = "none",
     .text = "source term: none, or a sine evaluated at every point, to load the CPU",
     .choices = perturbation_choices},
    {.key = "work",
     .type = TT_PARAM_COUNT,
     .offset = AT(work),
     .default_text = "0",
     .text = "extra work per point: so many multiplications and additions; same result",
     .min = 0,
     .max = 1000000},
    {.key = "threads",
     .type = TT_PARAM_COUNT,
     .offset = AT(threads),
     .default_text = "1",
     .text = "OpenMP threads per rank",
     .min = 1,
     .max = 4096},
    {.key = "decomposition",
     .type = TT_PARAM_CHOICE,
     .offset = AT(decomposition),
     .default_text = "rows",
     .text = "how ranks share the grid: rows (3D: planes), or blocks cut in all directions",
     .choices = decomposition_choices},
    {.key = "halo",
     .type = TT_PARAM_CHOICE,
     .offset = AT(halo),
     .default_text = "after",
     .text = "exchange with neighbours after the computation, or overlapped with its interior",
     .choices = halo_choices},
    {.key = "variable",
     .type = TT_PARAM_TEXT,
     .offset = AT(variable),
     .default_text = "field",
     .text = "name of the variable in the file"},
    {.key = NULL},
};

extern const struct tt_workload tt_workload_stencil;
const struct tt_workload tt_workload_stencil = {
    .name = "stencil",
    .summary = "Jacobi iterations on a 2D or 3D grid with halo exchange",
    .uses = uses,
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_stencil_options),
    .check = tt_stencil_check,
    .estimate = tt_stencil_estimate,
    .run = tt_stencil_run,
};
