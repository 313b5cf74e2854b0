/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting the ranks of a job, and knowing whether this process is one of them. */
#ifndef TT_LAUNCH_LAUNCH_H
#define TT_LAUNCH_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "base/error.h"
#include "launch/process.h"
#include "launch/words.h"
#include "plan/config.h"

/* Size announced by a launcher's environment (mpirun, mpiexec, srun); 0 if nobody launched us. */
int tt_launched_size(void);
/* Whether that is a Slurm step of one task, such as srun --pty bash gives: a shell as good as any.
 */
bool tt_launched_alone_by_slurm(void);
/* This process's rank as the launcher announced it; 0 if nobody launched us. Messages before MPI is
 * up come from rank 0 only. */
int tt_launched_rank(void);

/* The same among the processes on this node, if the launcher tells; else the rank. */
int tt_launched_local_rank(void);

/* The file of this program, to start it as ranks. */
int tt_own_program(char path[PATH_MAX], struct tt_error *e);

struct tt_rows_to; /* engine/perform.h */
struct tt_launch {
    const struct tt_launch_options *options;
    const char *directory; /* for stdout and stderr */
    unsigned ranks;
    bool is_command;        /* one rank of it needs no MPI launcher, and may start one itself */
    char *const *words;     /* what every rank runs, NULL-terminated */
    const char *nodes;      /* Slurm: a list of nodes instead of options->nodes; NULL: that */
    const cpu_set_t *cpus;  /* local: NULL for all */
    const char *cgroups[2]; /* local: NULL for the driver's */
    const struct tt_run_options *run; /* whose limits tt_launch_and_wait() knows */
    const struct tt_rows_to *rows_to; /* gets rows while the job runs; NULL: nobody */
};

/* A way to start ranks: it only says which command does it, and whether ending that command ends
 * them. */
struct tt_job;
struct tt_launcher {
    const char *name;
    int (*command)(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e);
    const char *instead; /* program to try if the command's is missing; NULL: none */
    const char *out;     /* file for the command's stdout, if that is not the ranks' */
    /* Ends what the command has started elsewhere; NULL: a signal to the command does. */
    void (*cancel)(const char *directory);
    /* Makes what the command needs for itself on this machine, which sweep removes; NULL: nothing.
     */
    void (*prepare)(struct tt_job *job);
    /* Learns what the job is called while it runs, and removes by that name what it left on this
     * machine; NULL: it leaves nothing. */
    void (*learn_name)(struct tt_job *job);
    void (*sweep)(const struct tt_job *job);
};
extern const struct tt_launcher tt_launcher_local, tt_launcher_slurm, tt_launcher_batch,
    tt_launcher_template;
/* The launcher that the options ask for; auto looks at the environment. */
const struct tt_launcher *tt_launcher_choose(const struct tt_launch_options *options);

struct tt_job {
    const struct tt_launcher *launcher;
    struct tt_process process;
    time_t start;
    char name[32];     /* among jobs of this MPI; empty while nobody knows */
    char session[128]; /* a temporary directory of its launcher; empty: it has none of its own */
    bool told;         /* to end, by us */
    bool noted;        /* how it ended */
    char directory[4096];
};
/* Between tt_processes_begin() and tt_processes_end(). */
int tt_job_start(const struct tt_launch *l, struct tt_job *job, struct tt_error *e);
/* Has it ended? If somebody killed the launcher, outcome.json says so unless a rank wrote it. */
bool tt_job_poll(struct tt_job *job);
/* Removes what a job has left in shared memory and temporary directories, if it is certain whose it
 * is. After tt_processes_end(): while a rank uses it, it stays. */
void tt_job_sweep(const struct tt_job *job);
/* What a launcher, or a rank under it, left in the directory's stderr as the reason: an error of
 * tutti's own, else the first line that says something. One line, never empty. */
void tt_job_words(const char *directory, char *line, size_t size);
/* Asks the job to end; kill it if that has been asked before and was of no use. */
void tt_job_terminate(struct tt_job *job);
void tt_job_kill(struct tt_job *job);

/* Start a job and wait for its end, with progress on a terminal unless quiet. Ctrl-C ends the ranks
 * and is reported as TT_INTERRUPTED. *status is the launcher's exit status. A job of which no rank
 * has begun after launch.start_timeout, or whose ranks should have ended themselves, is killed. */
int tt_launch_and_wait(const struct tt_launch *l, bool quiet, int *status, struct tt_error *e);

/* Whether that is a launcher which starts ranks by itself, and with which options it starts two of
 * them here and nowhere else. A script may do anything, and an mpiexec of other names than Open
 * MPI's and Hydra's, or srun, may ask a batch system for a job. */
bool tt_launcher_forks(const char *program, struct tt_words *options);

/* The names of the nodes of this allocation; none outside of one, or if Slurm does not tell. */
int tt_slurm_nodes(struct tt_words *out, struct tt_error *e);

#endif
