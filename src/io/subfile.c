/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/subfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"

#define MOST_TEXT ((off_t)64 << 20) /* a hundred thousand variables have less */

static const char *const policies[] = {"overwrite", "append", "group"};

/* ---- places ---- */

struct tt_subfile_place tt_subfile_place(const struct tt_subfiles *s, uint64_t offset)
{
    uint64_t q = offset / s->stripe, within = offset % s->stripe;

    return (struct tt_subfile_place){q % s->n, q / s->n * s->stripe + within, s->stripe - within};
}

uint64_t tt_subfile_length(const struct tt_subfiles *s, uint64_t i, uint64_t size)
{
    uint64_t q = size / s->stripe, rest = q % s->n;
    uint64_t length = (q / s->n + (i < rest)) * s->stripe;

    return i == rest ? length + size % s->stripe : length;
}

uint64_t tt_subfile_reach(const struct tt_subfiles *s, uint64_t i, uint64_t length)
{
    uint64_t last = length - 1;

    if (length == 0)
        return 0;
    return (last / s->stripe * s->n + i) * s->stripe + last % s->stripe + 1;
}

char *tt_subfile_path(const char *path, uint64_t i, uint64_t n)
{
    char *out;

    if (asprintf(&out, "%s.subfile_%" PRIu64 "_of_%" PRIu64, path, i, n) < 0)
        return NULL;
    return out;
}

/* ---- the text ---- */

static void put_variable(FILE *out, const struct tt_variable *v)
{
    fprintf(out, "variable %s ", tt_kind_name(v->element->kind));
    if (v->element->kind == TT_RECORD)
        fprintf(out, "%zu:", v->element->size);
    for (int d = 0; d < v->ndims; d++)
        fprintf(out, "%s%" PRIu64, d ? "x" : "", v->dims[d]);
    fprintf(out, " %s ", v->per_step ? "step" : "fixed");
    for (const char *c = v->path; *c; c++) /* a name may not end the line */
        fputc(iscntrl((unsigned char)*c) ? '?' : *c, out);
    fputc('\n', out);
}

char *tt_subfile_text(const struct tt_subfiles *s, const struct tt_file_spec *spec)
{
    char *text = NULL, size[24] = "open";
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    if (s->closed)
        snprintf(size, sizeof size, "%" PRIu64, s->size);
    fprintf(out, TT_SUBFILE_MAGIC "%d\nsubfiles %" PRIu64 "\nstripe %" PRIu64 "\npolicy %s\n",
            TT_SUBFILE_VERSION, s->n, s->stripe, policies[spec->policy]);
    for (unsigned i = 0; i < spec->nvariables; i++)
        put_variable(out, &spec->variables[i]);
    fprintf(out, "size %-20s\nend\n", size);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

bool tt_subfile_begins(const char *start, size_t n)
{
    return n >= strlen(TT_SUBFILE_MAGIC) &&
           !memcmp(start, TT_SUBFILE_MAGIC, strlen(TT_SUBFILE_MAGIC));
}

/* The whole text, with a NUL behind it. */
static int read_text(const char *path, char **out, size_t *length, struct tt_error *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc = TT_OK;
    size_t size = 0;
    ssize_t n = 0;
    struct stat st;

    *out = NULL;
    *length = 0;
    if (fd < 0 || fstat(fd, &st) != 0)
        rc = tt_fail_call(e, errno, "open", path, -1);
    else if (!S_ISREG(st.st_mode))
        rc = tt_fail(e, TT_FAILED, "'%s' is not a file", path);
    /* what is longer is something else, and is not read whole to find that out */
    if (rc == TT_OK)
        size = st.st_size > MOST_TEXT ? strlen(TT_SUBFILE_MAGIC) : (size_t)st.st_size;
    if (rc == TT_OK && !(*out = calloc(1, size + 1)))
        rc = tt_fail_nomem(e, "the text of a set of subfiles");
    if (rc == TT_OK && (n = tt_sys_read_at(fd, *out, size, 0)) < 0)
        rc = tt_fail_call(e, errno, "read", path, 0);
    *length = n > 0 ? (size_t)n : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* "KEY NUMBER", blanks behind it, and nothing else. */
static bool take_number(const char *line, const char *key, uint64_t *out)
{
    size_t n = strlen(key);
    char *end;

    if (strncmp(line, key, n) != 0 || line[n] != ' ' || !isdigit((unsigned char)line[n + 1]))
        return false;
    errno = 0;
    *out = strtoull(line + n + 1, &end, 10);
    return errno == 0 && !end[strspn(end, " ")];
}

static bool take_policy(const char *line)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (!strncmp(line, "policy ", 7) && !strcmp(line + 7, policies[i]))
            return true;
    return false;
}

/* What a line says; false: it is none that belongs there. */
static bool take_line(const char *line, size_t number, struct tt_subfiles *s, bool *sized,
                      bool *ended)
{
    switch (number) {
    case 2:
        return take_number(line, "subfiles", &s->n) && s->n > 0 && s->n <= TT_SUBFILE_MOST;
    case 3:
        return take_number(line, "stripe", &s->stripe) && s->stripe >= TT_SUBFILE_LEAST_STRIPE &&
               s->stripe <= (uint64_t)TT_SUBFILE_MOST_STRIPE;
    case 4:
        return take_policy(line);
    default:
        break;
    }
    if (*sized) {
        *ended = !strcmp(line, "end");
        return *ended;
    }
    if (!strncmp(line, "variable ", 9))
        return true;
    s->closed = take_number(line, "size", &s->size);
    *sized = s->closed || (!strncmp(line, "size open", 9) && !line[9 + strspn(line + 9, " ")]);
    return *sized && s->size < UINT64_C(1) << 62;
}

static int parse(const char *path, char *text, size_t length, struct tt_subfiles *out,
                 struct tt_error *e)
{
    bool sized = false, ended = false;
    uint64_t version;
    char *rest = text, *line;

    if (!tt_subfile_begins(text, length))
        return tt_fail(e, TT_FAILED, "'%s' does not begin like a file of the layer subfile", path);
    for (size_t number = 1; !ended && rest && strchr(rest, '\n'); number++) {
        line = strsep(&rest, "\n");
        if (number == 1 && take_number(line, "tutti subfile", &version) &&
            version != TT_SUBFILE_VERSION)
            return tt_fail(e, TT_FAILED,
                           "'%s' has version %" PRIu64 " of the subfiles' format; this tutti reads "
                           "version %d",
                           path, version, TT_SUBFILE_VERSION);
        if (number == 1 ? !take_number(line, "tutti subfile", &version)
                        : !take_line(line, number, out, &sized, &ended))
            return tt_fail(e, TT_CORRUPT, "'%s', line %zu: '%.60s' is not what tutti writes there",
                           path, number, line);
    }
    if (!ended)
        return tt_fail(e, TT_CORRUPT, "'%s' is cut short: its last line, 'end', is missing", path);
    return TT_OK;
}

int tt_subfile_load(const char *path, struct tt_subfiles *out, struct tt_error *e)
{
    char *text;
    size_t length;
    int rc = read_text(path, &text, &length, e);

    *out = (struct tt_subfiles){0};
    if (rc == TT_OK)
        rc = parse(path, text, length, out, e);
    free(text);
    return rc;
}

int tt_subfile_check(const struct tt_subfiles *s, const char *path, uint64_t i, uint64_t *length,
                     struct tt_error *e)
{
    char *name = tt_subfile_path(path, i, s->n);
    uint64_t wanted = tt_subfile_length(s, i, s->size);
    struct stat st;
    int rc = TT_OK;

    *length = 0;
    if (!name)
        return tt_fail_nomem(e, "the name of a subfile");
    if (stat(name, &st) != 0)
        rc = errno == ENOENT ? tt_fail(e, TT_FAILED,
                                       "'%s' is missing: '%s' has %" PRIu64
                                       " subfiles; put all of them beside it",
                                       name, path, s->n)
                             : tt_fail_call(e, errno, "stat", name, -1);
    else if (!S_ISREG(st.st_mode))
        rc = tt_fail(e, TT_FAILED, "'%s' is not a file", name);
    else if (s->closed && (uint64_t)st.st_size != wanted)
        rc = tt_fail(e, TT_CORRUPT, "'%s' has %lld bytes, but by '%s' it has %" PRIu64, name,
                     (long long)st.st_size, path, wanted);
    else
        *length = (uint64_t)st.st_size;
    free(name);
    return rc;
}
