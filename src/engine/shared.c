/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A data directory that not all nodes share is the most likely mistake of all, and most libraries
 * leave the other ranks waiting when one of them cannot open a file. So before any file is opened
 * together, every rank shows that it sees what rank 0 has just put there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/note.h"
#include "engine/private.h"
#include "plan/directory.h"

struct tt__shared {
    struct tt__shared *next;
    char directory[];
};

/* NFS remembers for a while what is not there; opening the directory makes it ask again. */
static bool is_seen(const char *directory, const char *name, int *why)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    bool seen = at >= 0 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    char *path = NULL;

    /* One may enter it, but not list it. */
    if (at < 0 && errno == EACCES && asprintf(&path, "%s/%s", directory, name) >= 0)
        seen = lstat(path, &st) == 0;
    *why = errno;
    free(path);
    if (at >= 0)
        close(at);
    return seen;
}

static int look_for(const struct tt_engine *engine, const char *directory, const char *name,
                    struct tt_error *e)
{
    int64_t until = tt_now_ns() + (int64_t)(1e9 * engine->config->run->patience);
    uint64_t before = tt_note_begin(TT_DOING_LOOK, tt_note_file(directory));
    int64_t pause = 1000000;
    char host[64] = "";
    int why = 0;
    bool seen;

    while (!(seen = is_seen(directory, name, &why)) && tt_now_ns() < until) {
        tt_sleep_until(tt_now_ns() + pause);
        pause += pause / 2;
    }
    tt_note_end(before);
    gethostname(host, sizeof host - 1);
    if (seen)
        return TT_OK;
    return tt_fail(e, TT_FAILED,
                   "%s does not see '%.80s' in the directory '%.250s' of rank 0 (%s); choose one "
                   "that all nodes share with --dir",
                   host, name, directory, strerror(why));
}

/* Collective: what rank 0 has made there is there for all. */
static int agree_seen(struct tt_engine *engine, const char *directory, const char *name,
                      struct tt_error *e)
{
    int rc = engine->rank == 0 ? TT_OK : look_for(engine, directory, name, e);

    return tt_agree_patiently(engine->comm, rc, e);
}

int tt__shared_check_own(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;

    if (engine->size == 1 || !(tt_stack_caps(&p->stack) & TT_CAP_STORES))
        return TT_OK;
    return agree_seen(engine, engine->config->run->dir, strrchr(p->data_directory, '/') + 1, e);
}

/* In the manifest like any other file, in case this is the last thing that rank 0 does. */
static int make_token(struct tt_engine *engine, const char *token, struct tt_error *e)
{
    int rc = tt_data_claim(engine, token, e), fd;
    struct stat st = {0};

    if (rc != TT_OK)
        return rc;
    engine->p->nfiles--;
    fd = open(token, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return tt_fail_call(e, errno, "open", token, -1);
    fstat(fd, &st);
    close(fd);
    return tt_data_made(engine, token, st.st_ino, e);
}

static int check_directory(struct tt_engine *engine, const char *directory, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *token;
    int rc = TT_OK;

    if (asprintf(&token, "%s/.tutti-%s", directory, tt_directory_id(engine->p->directory)) < 0)
        token = NULL;
    if (!token)
        rc = tt_fail_nomem(e, "a path");
    if (rc == TT_OK && engine->rank == 0)
        rc = make_token(engine, token, e);
    rc = tt_agree_patiently(engine->comm, rc, e);
    if (rc == TT_OK)
        rc = agree_seen(engine, directory, strrchr(token, '/') + 1, e);
    if (token && engine->rank == 0 && tt_data_remove(engine, token, &ignored) == TT_OK)
        tt_data_leave(engine, token);
    free(token);
    return rc;
}

int tt__shared_check(struct tt_engine *engine, const char *path, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    struct tt__shared *s = malloc(sizeof *s + strlen(path) + 2), *known = p->shared;
    int rc = tt_agree(engine->comm, s ? TT_OK : tt_fail_nomem(e, "a path"), e);

    if (rc == TT_OK) {
        const char *end = strrchr(path, '/');

        snprintf(s->directory, strlen(path) + 2, "%.*s", end > path ? (int)(end - path) : 1,
                 end ? path : ".");
        while (known && strcmp(known->directory, s->directory) != 0)
            known = known->next;
    }
    if (rc != TT_OK || known || !strcmp(s->directory, p->data_directory)) {
        free(s);
        return rc;
    }
    s->next = p->shared;
    p->shared = s;
    return check_directory(engine, s->directory, e);
}

void tt__shared_forget(struct tt_engine_private *p)
{
    for (struct tt__shared *s = p->shared, *next; s; s = next) {
        next = s->next;
        free(s);
    }
}
