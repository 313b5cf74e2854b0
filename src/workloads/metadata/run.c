/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: phase after phase over all of its items, each between two barriers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/note.h"
#include "base/mix.h"
#include "engine/content.h"
#include "engine/engine.h"
#include "workloads/metadata/metadata.h"

struct metadata {
    struct tt_engine *engine;
    const struct tt_metadata_options *options;
    char *root;
    int root_fd; /* what is removed lies below this, whatever stands at the path now */
    struct tt_content content;
    unsigned char *buffer;
    uint64_t items[2];           /* of every rank that works: files, directories */
    uint64_t rank, ranks;        /* of those that work */
    bool works, touches;         /* this rank; and the file system is used at all */
    uint64_t phases, planned;    /* begun; and how many there will be */
    uint64_t progress, expected; /* items of all phases, done and to do */
    uint64_t missing;            /* bytes that files did not have when they were to be read */
    size_t nrows;
    double *rows;
    double count[TT_METADATA_NOPERATIONS], seconds[TT_METADATA_NOPERATIONS]; /* of items */
};

/* A phase on this rank. */
struct phase {
    struct metadata *m;
    enum tt_metadata_operation operation;
    bool directories, renamed;
    uint64_t owner; /* the rank whose items these are */
    struct tt_metadata_names names;
    uint64_t done;
    int64_t ended_ns;
};

/* ---- single items ---- */

static int fail(struct tt_error *e, const char *call, const char *path)
{
    return tt_fail_call(e, errno, call, path, -1);
}

static int write_file(struct phase *p, int fd, const char *path, uint64_t i, struct tt_error *e)
{
    const struct tt_metadata_options *o = p->m->options;
    size_t done = 0;

    tt_content_fill(&p->m->content, p->owner, i * TT_CONTENT_CHUNK, p->m->buffer, o->write);
    while (done < o->write) {
        ssize_t n = write(fd, p->m->buffer + done, o->write - done);

        if (n < 0 && errno != EINTR)
            return fail(e, "write", path);
        done += n > 0 ? (size_t)n : 0;
    }
    tt_count_written(p->m->engine, done);
    return TT_OK;
}

static int check_file(struct phase *p, const char *path, uint64_t i, size_t n, struct tt_error *e)
{
    uint64_t written = p->m->options->write;
    size_t wrong;

    n = n < written ? n : written;
    if (tt_content_matches(&p->m->content, p->owner, i * TT_CONTENT_CHUNK, p->m->buffer, n, &wrong))
        return TT_OK;
    return tt_fail(e, TT_CORRUPT, "'%s' at offset %zu: what was read is not what was written", path,
                   wrong);
}

static int read_back(struct phase *p, int fd, const char *path, uint64_t i, struct tt_error *e)
{
    uint64_t size = p->m->options->write;
    size_t done = 0;
    ssize_t n = 1;

    memset(p->m->buffer, 0, size);
    while (done < size && n != 0) {
        n = pread(fd, p->m->buffer + done, size - done, (off_t)done);
        if (n < 0 && errno != EINTR)
            return fail(e, "read", path);
        done += n > 0 ? (size_t)n : 0;
    }
    return check_file(p, path, i, size, e);
}

static int create_file(struct phase *p, const char *path, uint64_t i, struct tt_error *e)
{
    const struct tt_metadata_options *o = p->m->options;
    int mode = (o->check_write ? O_RDWR : O_WRONLY) | (o->shared ? 0 : O_EXCL);
    int fd = open(path, mode | O_CREAT | O_CLOEXEC, 0666), rc = TT_OK;

    if (fd < 0)
        return fail(e, "open", path);
    if (!o->shared || p->m->rank == 0)
        tt_count_file(p->m->engine);
    if (o->write > 0)
        rc = write_file(p, fd, path, i, e);
    if (rc == TT_OK && o->check_write)
        rc = read_back(p, fd, path, i, e);
    if (rc == TT_OK && o->fsync && fsync(fd) != 0)
        rc = fail(e, "fsync", path);
    if (close(fd) != 0 && rc == TT_OK)
        rc = fail(e, "close", path);
    return rc;
}

static int make_node(struct phase *p, const char *path, struct tt_error *e)
{
    bool shared = p->m->options->shared;

    if (mknod(path, S_IFREG | 0666, 0) != 0 && !(shared && errno == EEXIST))
        return fail(e, "mknod", path);
    if (!shared || p->m->rank == 0)
        tt_count_file(p->m->engine);
    return TT_OK;
}

static int open_file(struct phase *p, const char *path, uint64_t i, struct tt_error *e)
{
    const struct tt_metadata_options *o = p->m->options;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = TT_OK;
    size_t done = 0;
    ssize_t n = 1;

    if (fd < 0)
        return fail(e, "open", path);
    while (rc == TT_OK && done < o->read && n != 0) {
        n = read(fd, p->m->buffer + done, o->read - done);
        if (n < 0 && errno != EINTR)
            rc = fail(e, "read", path);
        done += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (rc == TT_OK && done < o->read && done < o->write)
        rc = tt_fail(e, TT_CORRUPT, "'%s' holds %zu bytes, less than were written", path, done);
    tt_count_read(p->m->engine, done);
    p->m->missing += o->read - done;
    return rc == TT_OK && o->check ? check_file(p, path, i, done, e) : rc;
}

static int look_up(struct phase *p, const char *path, struct tt_error *e)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return fail(e, "stat", path);
    if (p->directories ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
        return tt_fail(e, TT_CORRUPT, "'%s' is not what was made there", path);
    return TT_OK;
}

static int rename_directory(struct phase *p, const char *path, uint64_t i, struct tt_error *e)
{
    char from[sizeof p->names.path];

    memcpy(from, path, strlen(path) + 1);
    path = tt_metadata_item(&p->names, i, true, true);
    return rename(from, path) == 0 ? TT_OK : fail(e, "rename", from);
}

static int remove_item(const struct phase *p, const char *path, bool directory, struct tt_error *e)
{
    const char *below = path + strlen(p->m->root) + 1;

    return unlinkat(p->m->root_fd, below, directory ? AT_REMOVEDIR : 0) == 0
               ? TT_OK
               : fail(e, directory ? "rmdir" : "unlink", path);
}

static int act_on(struct phase *p, const char *path, uint64_t i, struct tt_error *e)
{
    switch (p->operation) {
    case TT_METADATA_CREATE:
        if (!p->directories && p->m->options->mknod)
            return make_node(p, path, e);
        if (!p->directories)
            return create_file(p, path, i, e);
        return mkdir(path, 0777) == 0 ? TT_OK : fail(e, "mkdir", path);
    case TT_METADATA_STAT:
        return look_up(p, path, e);
    case TT_METADATA_OPEN:
        return open_file(p, path, i, e);
    case TT_METADATA_RENAME:
        return rename_directory(p, path, i, e);
    default:
        return remove_item(p, path, p->directories, e);
    }
}

static int act(struct phase *p, uint64_t i, struct tt_error *e)
{
    static const enum tt_doing doing[] = {[TT_METADATA_CREATE] = TT_DOING_OPEN,
                                          [TT_METADATA_STAT] = TT_DOING_LOOK,
                                          [TT_METADATA_OPEN] = TT_DOING_READ,
                                          [TT_METADATA_RENAME] = TT_DOING_WRITE,
                                          [TT_METADATA_REMOVE] = TT_DOING_REMOVE};
    bool renamed = p->renamed && p->operation != TT_METADATA_RENAME;
    const char *path = tt_metadata_item(&p->names, i, p->directories, renamed);
    uint64_t before;
    int rc;

    if (!p->m->touches)
        return TT_OK;
    before = tt_note_begin(doing[p->operation], tt_note_file(path));
    rc = act_on(p, path, i, e);
    tt_note_end(before);
    return rc;
}

/* ---- the tree ---- */

/* Parents before children, and the other way round. */
static int grow_or_fell(struct phase *p, struct tt_error *e)
{
    uint64_t n = tt_metadata_directories(p->m->options);
    bool fell = p->operation == TT_METADATA_FELL;
    int rc = TT_OK;

    for (uint64_t k = 0; rc == TT_OK && k < n; k++) {
        uint64_t i = fell ? n - 1 - k : k;
        const char *path = tt_metadata_directory(&p->names, i);

        if (i == 0 && !p->m->options->own_directories)
            continue; /* the root itself */
        if (!p->m->touches)
            rc = TT_OK;
        else if (fell)
            rc = remove_item(p, path, true, e);
        else if (mkdir(path, 0777) != 0)
            rc = fail(e, "mkdir", path);
        p->done += rc == TT_OK;
        if (rc == TT_OK)
            rc = tt_watch(p->m->engine, p->m->progress, p->m->expected, e);
    }
    return rc;
}

/* ---- phases ---- */

static bool is_late(const struct phase *p, int64_t since)
{
    const struct tt_metadata_options *o = p->m->options;

    return o->deadline > 0 && p->operation == TT_METADATA_CREATE &&
           tt_seconds(tt_now_ns() - since) > o->deadline;
}

static const enum tt_call calls[TT_METADATA_NOPERATIONS] = {
    [TT_METADATA_CREATE] = TT_CALL_CREATE, [TT_METADATA_STAT] = TT_CALL_STAT,
    [TT_METADATA_OPEN] = TT_CALL_OPEN,     [TT_METADATA_RENAME] = TT_CALL_RENAME,
    [TT_METADATA_REMOVE] = TT_CALL_REMOVE,
};

static int work_through(struct phase *p, uint64_t until, bool overtime, int64_t since,
                        struct tt_error *e)
{
    struct metadata *m = p->m;
    bool shuffled = m->options->shuffle &&
                    (p->operation == TT_METADATA_STAT || p->operation == TT_METADATA_OPEN);
    struct tt_permutation order =
        tt_permutation_make(m->items[p->directories], m->engine->config->run->seed + p->owner);
    int rc = TT_OK;

    while (rc == TT_OK && p->done < until) {
        int64_t t = tt_now_ns();

        rc = act(p, shuffled ? tt_permute(&order, p->done) : p->done, e);
        tt_call_add(m->engine, TT_METADATA, calls[p->operation], t);
        p->done += rc == TT_OK;
        if (rc == TT_OK)
            rc = tt_watch(m->engine, m->progress + p->done, m->expected, e);
        if (!overtime && is_late(p, since))
            break;
    }
    return rc;
}

/* Collective. After a deadline every rank makes as many as the fastest. */
static int work(struct phase *p, struct tt_error *e)
{
    struct metadata *m = p->m;
    int64_t since = tt_now_ns();
    bool alone = m->options->shared && p->operation == TT_METADATA_REMOVE;
    uint64_t most;
    int rc = TT_OK, reason;

    if (p->operation == TT_METADATA_TREE || p->operation == TT_METADATA_FELL) {
        if (m->works && (m->options->own_directories || m->rank == 0))
            rc = grow_or_fell(p, e);
        tt_phase_add(m->engine, TT_METADATA, since);
    } else if (m->works && (!alone || m->rank == 0)) {
        rc = work_through(p, m->items[p->directories], false, since, e);
    }
    if (m->options->deadline > 0 && p->operation == TT_METADATA_CREATE) {
        MPI_Allreduce(&p->done, &most, 1, MPI_UINT64_T, MPI_MAX, m->engine->comm);
        if (rc == TT_OK && m->works)
            rc = work_through(p, most, true, since, e);
        m->items[p->directories] = most;
    }
    p->ended_ns = tt_now_ns();
    reason = tt_watch_end(m->engine, e);
    return rc == TT_OK ? reason : rc;
}

static int sync_file_system(const struct metadata *m, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int fd = open(m->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = TT_OK;

    if (fd < 0 || syncfs(fd) != 0)
        rc = fail(e, "syncfs", m->root);
    if (fd >= 0)
        close(fd);
    tt_call_add(m->engine, TT_SYNC, TT_CALL_SYNC, t);
    return rc;
}

static void add_row(struct metadata *m, const struct phase *p, uint64_t repetition, double seconds)
{
    double sum = (double)p->done, slowest = seconds;
    double *row = m->rows + m->nrows * TT_METADATA_NCOLUMNS;

    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, m->engine->comm);
    MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, m->engine->comm);
    row[TT_METADATA_OPERATION] = p->operation;
    row[TT_METADATA_OF_DIRECTORIES] = p->directories;
    row[TT_METADATA_REPETITION] = (double)repetition;
    row[TT_METADATA_COUNT] = sum;
    row[TT_METADATA_SECONDS] = slowest;
    m->nrows++;
    m->count[p->operation] += sum;
    m->seconds[p->operation] += slowest;
}

/* mdtest's rule: looked up by the next rank, read by the one after it, removed by the third. */
static uint64_t owner_of(const struct metadata *m, enum tt_metadata_operation operation)
{
    uint64_t times = operation == TT_METADATA_STAT     ? 1
                     : operation == TT_METADATA_OPEN   ? 2
                     : operation == TT_METADATA_REMOVE ? 3
                                                       : 0;

    if (m->options->shared)
        return 0;
    return (m->rank + times * m->options->shift) % m->ranks;
}

/* Collective. */
static int run_phase(struct metadata *m, enum tt_metadata_operation operation, bool directories,
                     uint64_t repetition, struct tt_error *e)
{
    struct phase p = {.m = m,
                      .operation = operation,
                      .directories = directories,
                      .renamed = directories && m->options->rename,
                      .owner = owner_of(m, operation)};
    int64_t t;
    int rc = tt_metadata_names_begin(&p.names, m->options, m->root, p.owner, e);

    /* looked up before the renaming, removed after it */
    if (operation == TT_METADATA_CREATE || operation == TT_METADATA_STAT)
        p.renamed = false;
    rc = tt_agree(m->engine->comm, rc, e);
    if (rc == TT_OK)
        rc = tt_iteration_begin(m->engine, ++m->phases, m->planned, e);
    if (rc != TT_OK)
        return rc;
    tt_watch_begin(m->engine);
    MPI_Barrier(m->engine->comm);
    t = tt_now_ns();
    rc = work(&p, e);
    if (rc == TT_OK && m->options->sync_phases && m->touches) {
        rc = sync_file_system(m, e);
        p.ended_ns = tt_now_ns();
    }
    add_row(m, &p, repetition, tt_seconds(p.ended_ns - t));
    tt_iteration_end(m->engine);
    m->progress += p.done;
    return tt_agree(m->engine->comm, rc, e);
}

static int work_on(struct metadata *m, bool directories, uint64_t repetition, struct tt_error *e)
{
    const struct tt_metadata_options *o = m->options;
    const bool wanted[TT_METADATA_NOPERATIONS] = {
        [TT_METADATA_CREATE] = o->create,
        [TT_METADATA_STAT] = o->stat,
        [TT_METADATA_OPEN] = o->open && !directories,
        [TT_METADATA_RENAME] = o->rename && directories,
        [TT_METADATA_REMOVE] = o->remove,
    };
    int rc = TT_OK;

    for (int k = TT_METADATA_CREATE; rc == TT_OK && k <= TT_METADATA_REMOVE; k++)
        if (wanted[k])
            rc = run_phase(m, (enum tt_metadata_operation)k, directories, repetition, e);
    return rc;
}

static int repeat_once(struct metadata *m, uint64_t repetition, struct tt_error *e)
{
    const struct tt_metadata_options *o = m->options;
    int rc = TT_OK;

    if (o->create)
        m->items[0] = m->items[1] = tt_metadata_items(o);
    if (o->create)
        rc = run_phase(m, TT_METADATA_TREE, true, repetition, e);
    if (rc == TT_OK && o->what != TT_METADATA_FILES)
        rc = work_on(m, true, repetition, e);
    if (rc == TT_OK && o->what != TT_METADATA_DIRECTORIES)
        rc = work_on(m, false, repetition, e);
    if (rc == TT_OK && o->remove)
        rc = run_phase(m, TT_METADATA_FELL, true, repetition, e);
    return rc;
}

/* ---- the root of everything ---- */

static int load_counts(struct metadata *m, struct tt_error *e)
{
    const struct tt_metadata_options *o = m->options;
    int rc = TT_OK;

    for (int directories = 0; rc == TT_OK && directories < 2; directories++)
        if (o->what == TT_METADATA_BOTH || (o->what == TT_METADATA_DIRECTORIES) == directories)
            rc = tt_metadata_count_load(o, m->root, directories, &m->items[directories], e);
    return rc;
}

static int save_counts(struct metadata *m, struct tt_error *e)
{
    const struct tt_metadata_options *o = m->options;
    int rc = TT_OK;

    for (int directories = 0; rc == TT_OK && directories < 2; directories++)
        if (o->what == TT_METADATA_BOTH || (o->what == TT_METADATA_DIRECTORIES) == directories)
            rc = tt_metadata_count_save(o, m->root, directories, m->items[directories], e);
    return rc;
}

static int prepare(struct metadata *m, struct tt_error *e)
{
    const struct tt_metadata_options *o = m->options;
    uint64_t largest = o->write > o->read ? o->write : o->read;
    uint64_t files = o->what != TT_METADATA_DIRECTORIES, directories = o->what != TT_METADATA_FILES;
    uint64_t kinds = files + directories;

    m->rank = (uint64_t)m->engine->rank;
    m->ranks = tt_metadata_tasks(o, (uint64_t)m->engine->size);
    m->works = m->rank < m->ranks;
    m->touches = tt_stack_caps(&m->engine->config->stack) & TT_CAP_STORES;
    m->items[0] = m->items[1] = tt_metadata_items(o);
    m->content = (struct tt_content){.signature = o->signature ? o->signature
                                                               : m->engine->config->run->seed};
    m->planned = (o->create ? 1 + kinds : 0) + (o->stat ? kinds : 0) + (o->open ? files : 0) +
                 (o->rename ? directories : 0) + (o->remove ? kinds + 1 : 0);
    m->planned *= o->repetitions;
    m->expected = m->planned * m->items[0];
    m->rows = calloc(m->planned * TT_METADATA_NCOLUMNS + 1, sizeof *m->rows);
    m->buffer = malloc(largest + 1);
    m->root = tt_data_path_of(m->engine, o->path, "tree");
    if (!m->rows || !m->buffer || !m->root)
        return tt_fail_nomem(e, "the metadata workload");
    return o->create || !m->touches ? TT_OK : load_counts(m, e);
}

/* Collective. A directory that did not exist, or one that an earlier run has made. */
static int open_root(struct metadata *m, struct tt_error *e)
{
    int rc = TT_OK;

    if (m->engine->rank == 0)
        rc = m->options->create ? tt_data_make_tree(m->engine, m->root, e)
                                : tt_data_check_tree(m->engine, m->root, e);
    rc = tt_agree(m->engine->comm, rc, e);
    if (rc != TT_OK)
        return rc;
    m->root_fd = open(m->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return tt_agree(m->engine->comm, m->root_fd < 0 ? fail(e, "open", m->root) : TT_OK, e);
}

static void report(struct metadata *m)
{
    static const char *const names[TT_METADATA_NOPERATIONS] = {
        [TT_METADATA_CREATE] = "create_rate", [TT_METADATA_STAT] = "stat_rate",
        [TT_METADATA_OPEN] = "open_rate",     [TT_METADATA_RENAME] = "rename_rate",
        [TT_METADATA_REMOVE] = "remove_rate",
    };

    for (int k = 0; k < TT_METADATA_NOPERATIONS; k++)
        if (names[k] && m->seconds[k] > 0)
            tt_result(m->engine, names[k], TT_RESULT_SAME, m->count[k] / m->seconds[k]);
    if (m->engine->rank == 0 && m->missing > 0)
        tt_warning(m->engine,
                   "short files: they hold less than the %llu bytes that metadata.read asks for, "
                   "since metadata.write is %llu",
                   (unsigned long long)m->options->read, (unsigned long long)m->options->write);
    if (m->engine->rank == 0)
        tt_result_table(m->engine, "operations", (unsigned)m->nrows, TT_METADATA_NCOLUMNS, m->rows);
}

/* Collective. */
static int finish_tree(struct metadata *m, struct tt_error *e)
{
    const struct tt_metadata_options *o = m->options;
    int rc = TT_OK;

    if (m->engine->rank == 0 && o->create)
        rc = save_counts(m, e);
    if (m->engine->rank == 0 && !o->create && o->remove) {
        struct stat made, now;

        if (fstat(m->root_fd, &made) == 0 && lstat(m->root, &now) == 0 &&
            made.st_ino == now.st_ino) {
            tt_metadata_count_remove(m->root);
            (void)!rmdir(m->root); /* unless there is something that is not ours */
        }
    }
    return tt_agree(m->engine->comm, rc, e);
}

int tt_metadata_run(struct tt_engine *engine, struct tt_error *e)
{
    struct metadata m = {
        .engine = engine, .options = tt_config_opts(engine->config, "metadata"), .root_fd = -1};
    int rc = tt_agree(engine->comm, prepare(&m, e), e);

    if (rc == TT_OK && m.touches)
        rc = open_root(&m, e);
    if (rc == TT_OK)
        rc = tt_engine_start(engine, e);
    for (uint64_t i = 0; rc == TT_OK && i < m.options->repetitions; i++)
        rc = repeat_once(&m, i, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(engine, e);
    if (rc == TT_OK && m.touches)
        rc = finish_tree(&m, e);
    if (m.rows)
        report(&m);
    if (m.root_fd >= 0)
        close(m.root_fd);
    free(m.rows);
    free(m.buffer);
    free(m.root);
    return rc;
}
