/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/stripe.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/json.h"
#include "base/run_command.h"
#include "base/text.h"
#include "engine/private.h"

#define MOST_FILES 32              /* are asked */
#define PIECE ((uint64_t)64 << 10) /* Lustre and CephFS take multiples of it only */

int tt_stripe_check(const void *opts, struct tt_error *e)
{
    const struct tt_stripe_options *o = opts;

    if (o->size % PIECE != 0)
        return tt_fail(e, TT_USAGE, "stripe.size: %" PRIu64 " bytes are not a multiple of 64 KiB",
                       o->size);
    return TT_OK;
}

/* The first key that was given; NULL: none. */
static const char *key_given(const struct tt_stripe_options *o)
{
    if (!o || (o->count == 0 && o->size == 0))
        return NULL;
    return o->count ? "stripe.count" : "stripe.size";
}

int tt_stripe_check_path(const struct tt_config *config, bool own_path, const char *key,
                         struct tt_error *e)
{
    const char *given = key_given(tt_config_opts(config, "stripe"));

    if (given && own_path)
        return tt_fail(e, TT_USAGE, "%s is for new files in the data directory; leave %s out",
                       given, key);
    if (given && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE, "%s: %s makes no files", given, config->run->backend);
    return TT_OK;
}

static const char *text_of(const json_t *environment, const char *key)
{
    return tt_text_of(json_object_get(environment, "data"), key);
}

/* ---- setting ---- */

static int set_lustre(const struct tt_stripe_options *o, char *directory, struct tt_error *e)
{
    char count[32], size[32], answer[512];
    char *words[9] = {"lfs", "setstripe"};
    size_t n = 2;

    snprintf(count, sizeof count, "%" PRIu64, o->count);
    snprintf(size, sizeof size, "%" PRIu64, o->size);
    if (o->count) {
        words[n++] = "-c";
        words[n++] = count;
    }
    if (o->size) {
        words[n++] = "-S";
        words[n++] = size;
    }
    words[n++] = "--";
    words[n] = directory;
    if (tt_run_command(words, answer, sizeof answer))
        return TT_OK;
    answer[strcspn(answer, "\n")] = '\0';
    return tt_fail(e, TT_FAILED, "%s: lfs setstripe refuses it: %.200s", key_given(o), answer);
}

static int set_ceph(const struct tt_stripe_options *o, const char *directory, struct tt_error *e)
{
    char layout[128];

    tt_ceph_layout(o, layout, sizeof layout);
    if (setxattr(directory, "ceph.dir.layout", layout, strlen(layout), 0) == 0)
        return TT_OK;
    return tt_fail(e, TT_FAILED, "%s: CephFS does not take the layout '%s' for '%s': %s",
                   key_given(o), layout, directory, strerror(errno));
}

static int set(const struct tt_stripe_options *o, const char *filesystem, char *directory,
               struct tt_error *e)
{
    switch (tt_striped_by(filesystem)) {
    case TT_LUSTRE:
        return set_lustre(o, directory, e);
    case TT_CEPH:
        return set_ceph(o, directory, e);
    case TT_GLUSTER:
        return tt_fail(e, TT_USAGE,
                       "%s: GlusterFS cuts files as the volume says; leave it out and use gluster "
                       "volume set VOLUME features.shard-block-size SIZE",
                       key_given(o));
    default:
        return tt_fail(e, TT_USAGE,
                       "%s: %s knows no striping; leave it out, or put --dir on Lustre or CephFS",
                       key_given(o), *filesystem ? filesystem : "this file system");
    }
}

int tt_stripe_apply(struct tt_engine *engine, const json_t *environment, struct tt_error *e)
{
    const struct tt_stripe_options *o = tt_config_opts(engine->config, "stripe");
    int rc = TT_OK;

    if (!key_given(o))
        return TT_OK;
    if (engine->rank == 0)
        rc = set(o, text_of(environment, "filesystem"), engine->p->data_directory, e);
    return tt_agree(engine->comm, rc, e);
}

/* ---- reading back ---- */

static bool ask_lustre(char *path, struct tt_striping *out)
{
    char *words[] = {"lfs", "getstripe", "--", path, NULL}, answer[8192];

    return tt_run_command(words, answer, sizeof answer) && tt_striping_from_lfs(answer, out);
}

static bool ask_ceph(const char *path, struct tt_striping *out)
{
    char layout[256];
    ssize_t n = getxattr(path, "ceph.file.layout", layout, sizeof layout - 1);

    if (n < 0)
        return false;
    layout[n] = '\0';
    return tt_striping_from_ceph(layout, out);
}

/* Files under .meta have no size. */
static bool read_text(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;

    text[n] = '\0';
    return f && fclose(f) == 0;
}

/* The client tells of its parts in a directory that is not listed; one of them cuts files. */
static bool ask_gluster(const char *mount, struct tt_striping *out)
{
    char directory[4096], path[4608], text[4096];
    struct dirent *entry;
    bool found = false;
    DIR *parts;

    snprintf(directory, sizeof directory, "%s/.meta/graphs/active", mount);
    parts = opendir(directory);
    while (parts && !found && (entry = readdir(parts))) {
        const char *end = strrchr(entry->d_name, '-');

        if (!end || strcmp(end, "-shard") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/private", directory, entry->d_name);
        found = read_text(path, text, sizeof text) && tt_striping_from_gluster(text, out);
    }
    if (parts)
        closedir(parts);
    return found;
}

static void add_fact(struct tt_facts *facts, const char *key, uint64_t want, uint64_t is,
                     const char *how)
{
    char given[32], back[32];

    snprintf(given, sizeof given, "%" PRIu64, want);
    snprintf(back, sizeof back, "%" PRIu64, is);
    if (is > 0)
        tt_facts_add(facts, key, want ? given : NULL, back,
                     want == 0    ? TT_UNCONFIRMED
                     : want == is ? TT_IN_EFFECT
                                  : TT_NO_EFFECT,
                     how);
}

/* A directory that a library fills has only what new files would get: its first file tells. NULL:
 * there is none. The caller frees. */
static char *file_of(struct tt_made_file *f)
{
    char *roots[] = {f->path, NULL}, *path = NULL;
    FTS *walk =
        f->kind == TT_MADE_BUNDLE ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *x;

    if (f->kind != TT_MADE_BUNDLE)
        return strdup(f->path);
    while (walk && !path && (x = fts_read(walk)))
        if (x->fts_info == FTS_F)
            path = strdup(x->fts_path);
    if (walk)
        fts_close(walk);
    return path;
}

/* How it is known; NULL: it is not. */
static const char *ask(enum tt_striped by, char *path, const json_t *environment,
                       struct tt_striping *out)
{
    *out = (struct tt_striping){0};
    if (by == TT_LUSTRE && ask_lustre(path, out))
        return out->composite ? "lfs getstripe of a file, its first component"
                              : "lfs getstripe of a file";
    if (by == TT_CEPH && ask_ceph(path, out))
        return "ceph.file.layout of a file";
    if (by == TT_GLUSTER && ask_gluster(text_of(environment, "mount"), out))
        return "shards of the volume, by the client";
    return NULL;
}

/* What is known of one becomes facts; all files are made in the same directory. */
static void keep_facts(struct tt_engine *engine, const struct tt_striping *is, const char *how)
{
    const struct tt_stripe_options *o = tt_config_opts(engine->config, "stripe");
    struct tt_facts facts = {0};

    add_fact(&facts, "stripe.count", o->count, is->count, how);
    add_fact(&facts, "stripe.size", o->size, is->size, how);
    tt_facts_keep(engine, &facts);
    tt_facts_free(&facts);
}

/* The newest files first: each costs a program or a system call. */
void tt_stripe_look(struct tt_engine *engine, const json_t *environment)
{
    enum tt_striped by = tt_striped_by(text_of(environment, "filesystem"));
    unsigned asked = 0;
    json_t *all;

    if (engine->rank != 0 || by == TT_NOT_STRIPED || !tt_config_opts(engine->config, "stripe"))
        return;
    engine->p->striping = all = json_array();
    for (struct tt_made_file *f = engine->p->made; f && asked < MOST_FILES; f = f->next) {
        struct tt_striping is;
        const char *how;
        char *path;

        if (f->withdrawn || access(f->path, F_OK) != 0)
            continue;
        asked++;
        path = file_of(f);
        how = path ? ask(by, path, environment, &is) : NULL;
        if (how && json_array_size(all) == 0)
            keep_facts(engine, &is, how);
        if (how)
            json_array_append_new(all,
                                  json_pack("{s:o, s:I, s:I}", "path", tt_json_text(path), "count",
                                            (json_int_t)is.count, "size", (json_int_t)is.size));
        free(path);
    }
}
