/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ctrl-C would leave a temporary file behind. */
static void hold_signals(struct tt_outfile *f)
{
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, &f->signals);
}

/* After it was renamed or removed. */
static void forget_temporary(struct tt_outfile *f)
{
    if (f->temporary)
        pthread_sigmask(SIG_SETMASK, &f->signals, NULL);
    free(f->temporary);
    f->temporary = NULL;
}

static int open_temporary(struct tt_outfile *f, struct tt_error *e)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (asprintf(&f->temporary, "%s.XXXXXX", f->path) < 0) {
        f->temporary = NULL;
        return tt_fail_nomem(e, "a file name");
    }
    hold_signals(f);
    fd = mkostemp(f->temporary, O_CLOEXEC);
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) == 0)
        f->stream = fdopen(fd, "w");
    if (f->stream)
        return TT_OK;
    tt_fail_call(e, errno, "open", f->path, -1);
    if (fd >= 0) {
        close(fd);
        unlink(f->temporary);
    }
    forget_temporary(f);
    return e->code;
}

bool tt_is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

int tt_outfile_check(const char *path, struct tt_error *e)
{
    const char *slash = strrchr(path, '/');
    struct stat st;
    char *directory;
    int rc = TT_OK, why;

    if (!strcmp(path, "-"))
        return TT_OK;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is a directory; name a file for the result", path);
    directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!directory)
        return tt_fail_nomem(e, "a file name");
    why = access(directory, W_OK) != 0 ? errno
                                       : 0; /* of the file it would only be that there is none */
    if (why && access(path, W_OK) != 0)
        rc = tt_fail_call(e, why, "open", path, -1);
    free(directory);
    return rc;
}

int tt_outfile_check_ours(const char *path, const char *mark, struct tt_error *e)
{
    char begin[4096];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe does not make it wait */
    ssize_t n = fd >= 0 ? read(fd, begin, sizeof begin) : -1;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return TT_OK; /* whoever opens it says what is missing */
    if (fd >= 0)
        close(fd);
    if (n > 0 && memmem(begin, (size_t)n, mark, strlen(mark)))
        return TT_OK;
    return tt_fail(e, TT_FAILED, "'%s' exists, and tutti did not make it; name another place",
                   path);
}

static int check_two(const struct tt_outfile_option *a, const struct tt_outfile_option *b,
                     struct tt_error *e)
{
    struct stat st;

    if (!a->path || !b->path || strcmp(a->path, b->path))
        return TT_OK;
    if (tt_is_stdout(a->path))
        return tt_fail(e, TT_USAGE, "only one of %s and %s can go to stdout", a->option, b->option);
    if (stat(a->path, &st) == 0 && !S_ISREG(st.st_mode))
        return TT_OK;
    return tt_fail(e, TT_USAGE, "%s and %s name the same file '%s'; give each its own", a->option,
                   b->option, a->path);
}

int tt_outfiles_differ(const struct tt_outfile_option *files, struct tt_error *e)
{
    int rc = TT_OK;

    for (const struct tt_outfile_option *f = files; f->option && rc == TT_OK; f++)
        if (f->path)
            rc = tt_outfile_check(f->path, e);
    for (const struct tt_outfile_option *f = files; f->option && rc == TT_OK; f++)
        for (const struct tt_outfile_option *g = files; g < f && rc == TT_OK; g++)
            rc = check_two(g, f, e);
    return rc;
}

int tt_outfiles_check(const char *json, const char *csv, struct tt_error *e)
{
    return tt_outfiles_differ(
        (const struct tt_outfile_option[]){{"--json", json}, {"--csv", csv}, {NULL}}, e);
}

int tt_outfile_open(struct tt_outfile *f, const char *path, struct tt_error *e)
{
    struct stat st;

    *f = (struct tt_outfile){.path = path};
    if (!strcmp(path, "-")) {
        f->stream = stdout;
        return TT_OK;
    }
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return open_temporary(f, e);
    f->stream = fopen(path, "we");
    return f->stream ? TT_OK : tt_fail_call(e, errno, "open", path, -1);
}

int tt_outfile_close(struct tt_outfile *f, struct tt_error *e)
{
    int bad = fflush(f->stream) != 0 || ferror(f->stream), why = errno;

    if (f->stream != stdout && fclose(f->stream) != 0 && !bad) {
        bad = 1;
        why = errno;
    }
    if (!bad && f->temporary && rename(f->temporary, f->path) != 0) {
        bad = 1;
        why = errno;
    }
    if (bad && f->temporary)
        unlink(f->temporary);
    forget_temporary(f);
    return bad ? tt_fail_call(e, why, "write", f->path, -1) : TT_OK;
}

int tt_outfile_discard(struct tt_outfile *f, int rc)
{
    if (f->stream != stdout)
        fclose(f->stream);
    if (f->temporary)
        unlink(f->temporary);
    forget_temporary(f);
    return rc;
}

int tt_outfile_json(const char *path, const json_t *value, struct tt_error *e)
{
    struct tt_outfile f;
    int rc = value ? tt_outfile_open(&f, path, e) : tt_fail_nomem(e, path);

    if (rc != TT_OK)
        return rc;
    if (json_dumpf(value, f.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) != 0)
        return tt_outfile_discard(&f, tt_fail(e, TT_FAILED, "'%s' cannot be written", path));
    fputc('\n', f.stream);
    return tt_outfile_close(&f, e);
}

/* ---- CSV ---- */

static void separate(struct tt_outfile *f)
{
    if (f->in_row)
        fputc(',', f->stream);
    f->in_row = true;
}

void tt_csv_text(struct tt_outfile *f, const char *text)
{
    const char *quote = text[strcspn(text, ",\"\r\n")] ? "\"" : "";

    separate(f);
    fputs(quote, f->stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', f->stream);
        fputc(*text, f->stream);
    }
    fputs(quote, f->stream);
}

void tt_csv_number(struct tt_outfile *f, double value, int digits)
{
    separate(f);
    if (isfinite(value))
        fprintf(f->stream, "%.*f", digits, value);
}

void tt_csv_end_row(struct tt_outfile *f)
{
    fputc('\n', f->stream);
    f->in_row = false;
}
