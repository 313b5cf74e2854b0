/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are there before a workflow: where they are, and what earlier runs have left in them.
 */
#include "cli/h5bench/session.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/config.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "workloads/particles/particles.h"

char *tt_h5bench_file(const char *directory, const char *file, bool per_process)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    bool is_absolute = file[0] == '/';
    char *path;

    if (asprintf(&path, "%s%s%.*s%s%s", is_absolute ? "" : directory, is_absolute ? "" : "/",
                 (int)(name - file), file, per_process ? "rank_0_" : "", name) < 0)
        return NULL;
    return path;
}

/* The directory of this name in a directory, if it is a run's; caller frees. */
static char *run_directory(const char *parent, const char *id)
{
    char *directory = tt_directory_path(parent, id);

    if (!directory || tt_directory_has(directory, "plan.json"))
        return directory;
    free(directory);
    return NULL;
}

/* In results, or in the directory of a workflow there. */
static char *find_directory(const char *results, const char *id)
{
    char *found = run_directory(results, id);
    DIR *dir = found ? NULL : opendir(results);
    struct dirent *entry;

    while (dir && !found && (entry = readdir(dir))) {
        char *directory = strncmp(entry->d_name, "h5bench-", 8) != 0
                              ? NULL
                              : tt_directory_path(results, entry->d_name);

        found = directory ? run_directory(directory, id) : NULL;
        free(directory);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* The outcome is written when all files are closed. */
static bool is_unchanged(const char *path, const char *directory)
{
    char *outcome = tt_directory_path(directory, "outcome.json");
    struct stat file, then;
    bool known = outcome && stat(path, &file) == 0 && stat(outcome, &then) == 0;

    free(outcome);
    return known && (file.st_mtim.tv_sec < then.st_mtim.tv_sec ||
                     (file.st_mtim.tv_sec == then.st_mtim.tv_sec &&
                      file.st_mtim.tv_nsec <= then.st_mtim.tv_nsec));
}

static void take_plan(const struct tt_config *config, struct tt_h5bench_content *content)
{
    const struct tt_particles_options *o = tt_config_opts(config, "particles");
    bool strided = o && o->pattern == TT_PARTICLES_STRIDED;

    if (!o || (o->phase != TT_PARTICLES_WRITE && o->phase != TT_PARTICLES_BOTH))
        return;
    *content = (struct tt_h5bench_content){
        .is_known = true,
        .can_check = true,
        .unlimited = o->unlimited,
        .per_process = o->files == 1,
        .layout = o->file == TT_PARTICLES_RECORDS,
        .ndims = o->dims.n,
        .steps = o->steps,
        .seed = config->run->seed,
        .ranks = config->run->ranks,
        .stride = strided ? o->stride.values[0] : 0,
        .block = strided ? o->block.values[0] : 0,
        .count = strided ? o->count : 0,
        .deviation = o->deviation,
    };
    for (size_t d = 0; d < TT_H5BENCH_DIMS; d++)
        content->dims[d] = d < o->dims.n ? o->dims.values[d] : 1;
}

static void look_at(const char *results, const char *path, struct tt_h5bench_content *content)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_config config = {0};
    char id[TT_ID_LENGTH + 1], *directory;

    tt_mark_read(path, TT_MADE_FILE, id);
    if (!id[0])
        return;
    directory = find_directory(results, id);
    if (directory && is_unchanged(path, directory) &&
        tt_directory_load_plan(directory, TT_PLAN_TO_LOOK, &config, NULL, &ignored) == TT_OK)
        take_plan(&config, content);
    tt_config_free(&config);
    free(directory);
}

void tt_h5bench_look_back(void *context, const char *directory, const char *file,
                          struct tt_h5bench_content *content)
{
    const struct tt_h5bench_past_context *c = context;

    for (int per_process = 0; per_process < 2 && !content->is_known; per_process++) {
        char *path = tt_h5bench_file(c->directory ? c->directory : directory, file, per_process);

        if (path)
            look_at(c->results, path, content);
        free(path);
    }
}
