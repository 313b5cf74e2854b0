/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sample of all sources. Runs ten times a second beside the job: files stay open, nothing is
 * allocated. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/sources.h"

/* Reading a process costs the kernel more than anything else, so only some are read each time. */
#define PIDS_AT_ONCE 16
#define MAX_WORDS 32

/* Into the buffer, as a string. The kernel may give a file page by page. False: not there. */
static bool read_text(int fd, char *buffer, size_t limit)
{
    size_t used = 0;
    ssize_t n;

    do {
        n = pread(fd, buffer + used, limit - 1 - used, (off_t)used);
        used += n > 0 ? (size_t)n : 0;
    } while (n > 0 && used < limit - 1);
    buffer[used] = '\0';
    return used > 0;
}

static size_t split(char *line, const char *separators, char *words[MAX_WORDS])
{
    size_t n = 0;

    while (n < MAX_WORDS) {
        line += strspn(line, separators);
        if (!*line)
            break;
        words[n++] = line;
        line += strcspn(line, separators);
        if (*line)
            *line++ = '\0';
    }
    return n;
}

static void store_line(const struct tt_source *s, size_t key, size_t nwords, char *const *words,
                       double *values)
{
    const struct tt_format *f = &s->format;

    for (unsigned i = 0; i < f->nfields; i++)
        if (f->fields[i].word < nwords)
            values[s->first + key * f->nfields + i] =
                (double)strtoull(words[f->fields[i].word], NULL, 10) * f->fields[i].scale;
}

static size_t find_key(const struct tt_source *s, const char *word)
{
    size_t i = 0;

    while (s->keys && i < s->nkeys && strcmp(s->keys[i], word) != 0)
        i++;
    return i;
}

static void read_source(const struct tt_source *s, char *buffer, double *values)
{
    size_t found = 0, ncolumns = s->nkeys * s->format.nfields;
    bool there = read_text(s->fd, buffer, s->limit);
    char *rest = buffer, *line, *words[MAX_WORDS];

    for (size_t i = 0; i < ncolumns; i++)
        values[s->first + i] = there ? s->format.absent : NAN;
    while (found < s->nkeys && (line = strsep(&rest, "\n"))) {
        size_t n = split(line, s->format.separators, words);
        size_t key = n ? find_key(s, words[0]) : s->nkeys;

        if (key == s->nkeys)
            continue;
        store_line(s, key, n, words, values);
        found++;
    }
}

/* ---- the job's processes ---- */

/* User and system time, of children that have ended, too. The name before may hold anything. */
static bool parse_process(char *text, double *ticks)
{
    char *after = strrchr(text, ')'), *words[MAX_WORDS];

    if (!after || split(after + 1, " \n", words) < 15)
        return false;
    *ticks = 0;
    for (int i = 11; i < 15; i++)
        *ticks += (double)strtoull(words[i], NULL, 10);
    return true;
}

/* One that has ended keeps what it had. */
static void read_process(struct tt_sources *s, size_t i)
{
    double ticks;

    if (s->pid_fds[i] < 0)
        return;
    if (read_text(s->pid_fds[i], s->buffer, TT_SOURCE_BYTES) && parse_process(s->buffer, &ticks))
        s->pid_ms[i] = ticks * s->tick_ms;
}

static void read_job(struct tt_sources *s, bool all)
{
    size_t n = all || s->npids < PIDS_AT_ONCE ? s->npids : PIDS_AT_ONCE;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        read_process(s, s->next_pid);
        s->next_pid = (s->next_pid + 1) % s->npids;
    }
    for (size_t i = 0; i < s->npids; i++)
        sum += s->pid_ms[i];
    s->values[s->job_column] = sum;
}

/* ---- the user's series ---- */

static double first_number(const char *text)
{
    const char *digit = text + strcspn(text, "0123456789");

    if (!*digit)
        return NAN;
    if (digit > text && digit[-1] == '.')
        digit--;
    if (digit > text && (digit[-1] == '-' || digit[-1] == '+'))
        digit--;
    return strtod(digit, NULL);
}

static double read_watched(const struct tt_watched *w, char *buffer)
{
    /* Not blocking, since it may be a pipe that nobody writes to. */
    int fd = open(w->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buffer, TT_SOURCE_BYTES - 1);

    if (fd >= 0)
        close(fd);
    buffer[n > 0 ? n : 0] = '\0';
    return first_number(buffer);
}

void tt_sources_read(struct tt_sources *s, bool all)
{
    for (size_t i = 0; i < s->n; i++)
        read_source(&s->list[i], s->buffer, s->values);
    if (s->npids)
        read_job(s, all);
    for (size_t i = 0; i < s->nwatched; i++)
        s->values[s->watched[i].column] = read_watched(&s->watched[i], s->buffer);
}
