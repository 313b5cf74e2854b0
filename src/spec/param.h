/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters as data. A component declares one table; command line, files, help, reference docs,
 * validation and the plan all come from it. */
#ifndef TT_SPEC_PARAM_H
#define TT_SPEC_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum tt_param_type {
    TT_PARAM_BOOL,     /* bool: yes/no, true/false, on/off, 1/0 */
    TT_PARAM_COUNT,    /* uint64_t: 4096, 200k is an error (counts have no suffix) */
    TT_PARAM_BYTES,    /* uint64_t: 4k 1m 1.5g 16GiB, powers of two */
    TT_PARAM_DURATION, /* double, seconds: 5s 200ms 3us 2min 1h; a bare number is seconds */
    TT_PARAM_RATE,     /* double, bytes per second: 50m, 50MiB/s */
    TT_PARAM_REAL,     /* double */
    TT_PARAM_CHOICE,   /* int: index into choices */
    TT_PARAM_TEXT,     /* char *: owned by the options, NULL if empty */
    TT_PARAM_COUNTS,   /* struct tt_counts: 10:0:1, 10x0x1 or [10, 0, 1] */
    TT_PARAM_WORDS,    /* struct tt_words: a,b,c or [a, b, c]; a comma in a word is written \, */
    TT_PARAM_SPACE,    /* struct tt_space: 20% or 10g */
    TT_PARAM_PASSES,   /* struct tt_passes: 12, 50ms, or 50ms=12x4.2ms once it is calibrated */
};

/* What the value of a type is called, in help and in plans; by enum tt_param_type. */
extern const char *const tt_param_values[];

struct tt_counts {
    size_t n;
    uint64_t *values;
};
struct tt_words {
    size_t n;
    char **words;
};
struct tt_space {
    double percent; /* of the whole; only if bytes is 0 */
    uint64_t bytes;
};

/* How much is computed in an iteration: passes of the workload's kernel. */
struct tt_passes {
    uint64_t count; /* 0 although seconds is not: still to be calibrated (engine/calibrate.h) */
    double seconds; /* that were asked for; 0: a count was */
    double each;    /* what a pass took when it was calibrated; 0: it was not */
};
/* A value of that type as text; false: it is not one. */
bool tt_passes_read(const char *text, struct tt_passes *out);
/* What they take alone, as far as that is known: as calibrated, else as asked for; 0: unknown. */
double tt_passes_seconds(const struct tt_passes *p);

struct tt_param {
    const char *key; /* within its component: "size"; the full key is "stencil.size" */
    enum tt_param_type type;
    size_t offset;            /* in the component's options */
    const char *default_text; /* default, written as a user would; NULL: none */
    const char *unit;         /* "points", "B", "s", ...; NULL: none */
    const char *text;         /* one line for help and docs */
    int64_t min,
        max; /* numbers and counts of passes only; both 0: none; max < min: no upper limit */
    const char *const *choices; /* NULL-terminated; TT_PARAM_CHOICE only */
    const char *flag;           /* a short alias such as "-n"; NULL: none */
    const char *placeholder;    /* for the value, in help: "FILE"; NULL: what the type says */
};
/* A table ends with a parameter whose key is NULL. */

/* Something that owns keys: a workload, a backend, a layer, or a part of the engine. */
struct tt_component {
    const char *name; /* prefix of its keys; "" for the run's own */
    const char *summary;
    const struct tt_param *params;
    size_t opts_size;
    int (*check)(const void *opts, struct tt_error *e); /* what a table cannot say; may be NULL */
};

/* Parse value and store it at p->offset of opts. e->text names key and value, not the place. */
int tt_param_set(const struct tt_param *p, void *opts, const char *value, struct tt_error *e);
/* The value as text that tt_param_set reads back to the same value. Caller frees; NULL: no memory.
 */
char *tt_param_get(const struct tt_param *p, const void *opts);
/* All defaults into zeroed opts. */
int tt_params_default(const struct tt_param *params, void *opts, struct tt_error *e);
void tt_params_free(const struct tt_param *params, void *opts);

/* Keys that have no effect beside the value of another one. */
struct tt_idle {
    bool is_idle;     /* now */
    const char *keys; /* "a b c" */
    const char *why;  /* "with stencil.write=none" */
};
/* TT_USAGE if one of them has another value than its default. */
int tt_params_check_idle(const char *component, const struct tt_param *params, const void *opts,
                         const struct tt_idle *list, size_t n, struct tt_error *e);

/* Dashes and underscores are the same in keys. */
bool tt_same_key(const char *a, const char *b);
/* The parameter of that key in a table, which may be NULL; NULL: there is none. */
const struct tt_param *tt_param_find(const struct tt_param *params, const char *key);
/* Whether the NULL-terminated list has the word. */
bool tt_has_word(const char *const *list, const char *word);
/* The word of the NULL-terminated list nearest to word, or NULL if none is near. */
const char *tt_nearest_word(const char *word, const char *const *list);
/* The same among the names of a table's rows, where the name is the first member. */
#define TT_NEAREST_ROW(word, table) \
    tt_nearest_row(word, table, sizeof(table) / sizeof *(table), sizeof *(table))
const char *tt_nearest_row(const char *word, const void *rows, size_t n, size_t size);
/* And among the keys of parameters, which may be NULL. */
const char *tt_nearest_key(const char *word, const struct tt_param *params);
/* For a message: " (did you mean 'near'?)", or nothing if near is NULL. */
#define TT_DID_YOU_MEAN(near) tt_did_you_mean(near, (char[96]){0})
const char *tt_did_you_mean(const char *near, char out[96]);

#endif
