/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/json.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/parameter.h"

/* ---- the command that runs it again ---- */

/* As a shell reads it as one word. */
static void put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";

    if (*word && !word[strspn(word, plain)]) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

/* Without what is not part of a job, or may not come from a directory. Where it wrote is not part
 * of its plan, but another store is another measurement. */
static bool is_repeated(const json_t *plan, const char *key, const char *value)
{
    return (!tt_is_silent_key(key) || !strcmp(key, "dir")) && strncmp(key, "launch.", 7) != 0 &&
           strcmp(key, "module") != 0 && strcmp(key, "context") != 0 && *value &&
           !tt_parameter_is_default(plan, key, value);
}

char *tt_repeat_command(const json_t *plan, const char *workload, const json_t *parameters)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *key;
    json_t *value;

    if (!out)
        return NULL;
    fputs("tutti run ", out);
    put_word(out, workload);
    json_object_foreach((json_t *)parameters, key, value)
    {
        const char *given = json_is_string(value) ? json_string_value(value) : "";

        if (!is_repeated(plan, key, given))
            continue;
        fputs(" --", out);
        put_word(out, key);
        fputc(' ', out);
        put_word(out, given);
    }
    return fclose(out) == 0 ? text : NULL;
}

/* ---- a run ---- */

void tt_warn_of(struct tt_document *d, const char *text, long run)
{
    const char *colon = strstr(text, ": ");
    char *what = colon ? strndup(text, (size_t)(colon - text)) : NULL;

    d->failed |= colon && !what;
    tt_document_warn(d, what ? what : text, colon ? colon + 2 : "", run);
    free(what);
}

static void add_fact(struct tt_document *d, json_t *facts, const json_t *result, const char *name,
                     const char *path)
{
    const json_t *value = tt_member_at(result, path);
    char number[32];

    if (json_is_string(value) && *json_string_value(value)) {
        tt_document_set(d, facts, name, json_incref((json_t *)value));
    } else if (json_is_number(value)) {
        snprintf(number, sizeof number, "%.15g", json_number_value(value));
        tt_document_set_text(d, facts, name, number);
    }
}

static json_t *facts_of(struct tt_document *d, const json_t *result)
{
    static const char *const facts[][2] = {
        {"tutti", "tutti/version"},
        {"revision", "tutti/revision"},
        {"compiler", "environment/compiler"},
        {"flags", "environment/flags"},
        {"MPI", "environment/mpi/library"},
        {"host", "environment/host"},
        {"kernel", "environment/kernel"},
        {"distribution", "environment/distribution"},
        {"CPU", "environment/cpu"},
        {"CPUs", "environment/cpus"},
        {"memory, B", "environment/memory"},
        {"data", "environment/data/path"},
        {"file system", "environment/data/filesystem"},
        {"device", "environment/data/device"},
        {"ranks", "plan/ranks"},
        {"seed", "plan/parameters/seed"},
        {"plan", "plan/hash"},
        {"directory", "directory"},
    };
    json_t *out = json_object();

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        add_fact(d, out, result, facts[i][0], facts[i][1]);
    return out;
}

static json_t *keys_of(struct tt_document *d, const json_t *plan)
{
    json_t *parameters = json_object_get(plan, "parameters"), *out = json_object(), *value;
    const char *key;

    tt_document_set_text(d, out, "workload", tt_text_of(plan, "workload"));
    json_object_foreach(parameters, key, value)
    {
        const char *text = json_is_string(value) ? json_string_value(value) : "";

        if (!tt_is_silent_key(key) && *text && !tt_parameter_is_default(plan, key, text))
            tt_document_set(d, out, key, json_incref(value));
    }
    return out;
}

size_t tt_describe_run(struct tt_document *d, const json_t *result)
{
    const json_t *plan = json_object_get(result, "plan"), *warning;
    char *repeat =
        tt_repeat_command(plan, tt_text_of(plan, "workload"), json_object_get(plan, "parameters"));
    size_t i, run = tt_document_run(
                  d, json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "id",
                               tt_json_text(tt_text_of(result, "id")), "label",
                               tt_json_text(tt_text_of(result, "label")), "start",
                               tt_json_text(tt_text_of(result, "start")), "status",
                               tt_json_text(tt_text_of(result, "status")), "valid",
                               tt_is_true(result, "valid"), "keys", keys_of(d, plan), "repeat",
                               repeat ? tt_json_text(repeat) : NULL, "facts", facts_of(d, result)));

    free(repeat);
    json_array_foreach(json_object_get(result, "warnings"), i, warning)
        tt_warn_of(d, tt_text_of(warning, "text"), (long)run);
    return run;
}
