/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the model of overlap predicts, for runs that it was not fitted to, beside what they took. */
#include <math.h>
#include <stdlib.h>

#include "report/figures.h"
#include "spec/units.h"

#define GROUP "Model against measurement"
static const char *const modes[TT_NCHOICES] = {
    [TT_CHOICE_SYNC] = "sync", [TT_CHOICE_ASYNC] = "async"};

static void add_rates(struct tt_document *d, const struct tt_overlap_model *model)
{
    json_t *figure = tt_figure(d, "table", "model-rates", GROUP, "The fits",
                               "Rates over size and ranks, fitted to the runs. r2: share of their "
                               "variance that the fit explains. Held-out error: how far each rate "
                               "is from a fit without it, as a share of the mean rate.");

    tt_figure_head(d, figure, "rate", "", false);
    tt_figure_head(d, figure, "runs", "", true);
    tt_figure_head(d, figure, "r2", "", true);
    tt_figure_head(d, figure, "held-out error", "", true);
    for (int i = 0; i < TT_NMODEL_RATES; i++) {
        const struct tt_rate_fit *fit =
            model->chosen[i] >= 0 ? &model->fits[i][model->chosen[i]] : NULL;
        json_t *row = fit ? tt_figure_row(d, figure) : NULL;

        if (!row)
            continue;
        tt_row_text(d, row, tt_model_rates[i]);
        tt_row_number(d, row, (double)fit->n);
        tt_row_number(d, row, fit->r2_known ? fit->r2 : NAN);
        tt_row_number(d, row, fit->left_out);
    }
}

/* Where predicted and measured are the same. */
static void add_diagonal(struct tt_document *d, json_t *figure, const struct tt_check *check)
{
    double ends[2] = {INFINITY, 0};
    json_t *line;

    for (size_t i = 0; i < check->n; i++) {
        ends[0] = fmin(ends[0], check->rows[i].measured);
        ends[1] = fmax(ends[1], check->rows[i].measured);
    }
    line = ends[1] > ends[0] ? tt_figure_series(d, figure, "predicted = measured",
                                                &(struct tt_points){2, ends, ends})
                             : NULL;
    if (line)
        tt_document_set(d, line, "dashed", json_true());
}

/* Both as dots: those on the line were predicted right. */
static void add_epochs(struct tt_document *d, const struct tt_check *check)
{
    json_t *figure =
        tt_figure(d, "dots", "model-epochs", GROUP, "An epoch, predicted and measured",
                  "Each configuration was predicted by a fit without its runs: medians "
                  "of an epoch. On the dashed line both are the same.");
    double *x = malloc(2 * (check->n + 1) * sizeof *x), *y = x ? x + check->n + 1 : NULL;

    d->failed |= !x;
    tt_figure_axis(d, figure, "x", "measured", "s", "log");
    tt_figure_axis(d, figure, "y", "predicted", "s", "log");
    for (int mode = 0; mode < TT_NCHOICES && x; mode++) {
        size_t n = 0;

        for (size_t i = 0; i < check->n; i++)
            if (check->rows[i].mode == mode && isfinite(check->rows[i].predicted)) {
                x[n] = check->rows[i].measured;
                y[n++] = check->rows[i].predicted;
            }
        if (n)
            tt_figure_series(d, figure, modes[mode], &(struct tt_points){n, x, y});
        if (isfinite(check->error[mode]))
            tt_figure_note(d, figure, "%s: the median error of what was held out is %.3g %%.",
                           modes[mode], 100 * check->error[mode]);
    }
    add_diagonal(d, figure, check);
    tt_figure_note(d, figure, "%zu of %zu runs lie within the interval that was predicted.",
                   check->inside, check->predicted);
    free(x);
}

void tt_figures_model(struct tt_document *d, const struct tt_overlap_model *model,
                      const struct tt_check *check)
{
    add_rates(d, model);
    add_epochs(d, check);
}
