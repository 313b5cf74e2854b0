/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/dialects/h5bench/parts.h"
#include "spec/units.h"

struct driver {
    const char *path;
    const struct tt_settings *file;
    bool is_hdf5;
    struct tt_settings *common;
    struct tt_error *e;
};

static int fail_at(const struct driver *r, const struct tt_setting *s, const char *why)
{
    return tt_fail(r->e, TT_USAGE, "%.200s: '%.60s' %s", s->place, s->key, why);
}

/* ---- mpi ---- */

struct options {
    char *list;  /* words that are not understood here, as "a,b" */
    char *ranks; /* NULL: not among them */
};

static void add_option(struct options *o, const char *word)
{
    char *to = o->list + strlen(o->list);

    if (to != o->list)
        *to++ = ',';
    for (; *word; word++) {
        if (*word == ',' || *word == '\\')
            *to++ = '\\';
        *to++ = *word;
    }
    *to = '\0';
}

static bool is_number_of_ranks(const char *word)
{
    static const char *const names[] = {"-n", "-np", "--np", "--ntasks", NULL};

    return tt_has_word(names, word);
}

/* The words of a configuration; o->list has room for them. */
static int split(const struct driver *r, const struct tt_setting *s, char *text, struct options *o)
{
    char *rest = NULL;

    if (strpbrk(text, "'\"`$;|&<>"))
        return fail_at(r, s, "is split into words at blanks: no shell reads quotes, $, ; or |");
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (!strncmp(word, "--ntasks=", 9)) {
            o->ranks = word + 9;
        } else if (!is_number_of_ranks(word)) {
            add_option(o, word);
        } else if (!(o->ranks = strtok_r(NULL, " \t", &rest))) {
            return fail_at(r, s, "ends where the number of ranks should be");
        }
    }
    return TT_OK;
}

/* Words for mpirun are none for srun, so they choose the launcher. */
static int read_launch(struct driver *r, const struct tt_setting *configuration, bool is_slurm)
{
    const struct tt_setting *ranks = tt_settings_find(r->file, "mpi.ranks");
    const char *value = configuration ? configuration->value : "";
    char *text = strdup(value);
    struct options o = {.list = calloc(1, 2 * strlen(value) + 2)};
    int rc = text && o.list ? TT_OK : tt_fail_nomem(r->e, "options");

    if (rc == TT_OK)
        rc = split(r, configuration, text, &o);
    if (rc == TT_OK && !o.ranks && !ranks)
        rc = tt_fail(r->e, TT_USAGE, "%.200s: how many ranks? give mpi.ranks", r->path);
    if (rc == TT_OK)
        rc = tt_settings_add(r->common, "ranks", o.ranks ? o.ranks : ranks->value,
                             o.ranks ? configuration->place : ranks->place, r->e);
    if (rc == TT_OK && *o.list) {
        rc = tt_settings_add(r->common, "launch.by", is_slurm ? "slurm" : "local",
                             configuration->place, r->e);
        if (rc == TT_OK)
            rc = tt_settings_add(r->common, "launch.options", o.list, configuration->place, r->e);
    }
    free(text);
    free(o.list);
    return rc;
}

static int read_mpi(struct driver *r)
{
    const struct tt_setting *command = tt_settings_find(r->file, "mpi.command");
    const char *name = command ? strrchr(command->value, '/') : NULL;

    if (!command)
        return tt_fail(r->e, TT_USAGE, "%.200s: 'mpi' needs a 'command'", r->path);
    name = name ? name + 1 : command->value;
    if (strcmp(name, "mpirun") && strcmp(name, "mpiexec") && strcmp(name, "srun"))
        return fail_at(r, command, "is not one of mpirun, mpiexec, srun");
    return read_launch(r, tt_settings_find(r->file, "mpi.configuration"), !strcmp(name, "srun"));
}

/* ---- file-system ---- */

/* As hints: lfs is not called. */
static int read_striping(struct driver *r)
{
    const struct tt_setting *size = tt_settings_find(r->file, "file-system.lustre.stripe-size");
    const struct tt_setting *count = tt_settings_find(r->file, "file-system.lustre.stripe-count");
    struct tt_error inner = TT_ERROR_CLEAR;
    uint64_t unit = 0, factor;
    char hints[96] = "";
    int rc = size ? tt_parse_bytes(size->value, &unit, &inner) : TT_OK;

    if (rc != TT_OK)
        return tt_fail(r->e, rc, "%.200s: stripe-size: %s", size->place, inner.text);
    if (count && strcmp(count->value, "-1") != 0)
        rc = tt_parse_count(count->value, &factor, &inner);
    if (rc != TT_OK)
        return tt_fail(r->e, rc, "%.200s: stripe-count: %s", count->place, inner.text);
    if (!r->is_hdf5 || (!size && !count))
        return TT_OK;
    if (size)
        snprintf(hints, sizeof hints, "striping_unit=%" PRIu64 "%s", unit, count ? "," : "");
    if (count)
        snprintf(hints + strlen(hints), sizeof hints - strlen(hints), "striping_factor=%.24s",
                 count->value);
    return tt_settings_add(r->common, "hdf5.hints", hints, (size ? size : count)->place, r->e);
}

static int check_keys(const struct driver *r)
{
    static const char *const keys[] = {"mpi.command",
                                       "mpi.ranks",
                                       "mpi.configuration",
                                       "vol.library",
                                       "vol.path",
                                       "vol.preload",
                                       "vol.connector",
                                       "file-system.lustre.stripe-size",
                                       "file-system.lustre.stripe-count",
                                       "directory",
                                       NULL};

    for (size_t i = 0; i < r->file->n; i++) {
        const struct tt_setting *s = &r->file->list[i];

        if (!tt_has_word(keys, s->key) && strncmp(s->key, "benchmarks.", 11) != 0)
            return fail_at(r, s, "is not a key of h5bench");
    }
    return TT_OK;
}

int tt_h5bench_read_driver(const char *path, const struct tt_settings *file, bool is_hdf5,
                           struct tt_settings *common, struct tt_error *e)
{
    struct driver r = {.path = path, .file = file, .is_hdf5 = is_hdf5, .common = common, .e = e};
    int rc = check_keys(&r);

    if (rc == TT_OK)
        rc = read_mpi(&r);
    return rc == TT_OK ? read_striping(&r) : rc;
}
