/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No wait without an end. A thread of every rank, asleep but for a look at the notes (base/note.h)
 * now and then, without MPI. It ends the rank, and so the job, when
 *   - this rank has failed, and the job has not ended twice --patience later;
 *   - a system call of this rank was refused, and the library that made it has not come back after
 *     --patience;
 *   - the measured time takes longer than --max-time and twice --patience;
 *   - no rank has made a step for TT_STALL times --patience, from before MPI_Init to the last
 * removal. In the measured time that counts only if all ranks are inside calls, and none waits in
 * the kernel: a library failed on one rank, and left the others in its collective. A file system
 * that hangs may be the reason: it is given some seconds to take the last words. */
#ifndef TT_ENGINE_GUARD_H
#define TT_ENGINE_GUARD_H

#define TT_STALL 20
/* Seconds, until the run's own is known. */
#define TT_PATIENCE 30

enum tt_guarded {
    TT_GUARD_OUTSIDE, /* before and after the measured time */
    TT_GUARD_HELD,    /* somebody else decides how long: the driver, or the analysis */
    TT_GUARD_MEASURED,
};

/* Before MPI_Init. Where there is no memory for a thread, there is no guard. */
void tt_guard_start(double patience);
void tt_guard_stop(void);
/* Where to leave the last words, and where notes are shared; once it is known. directory stays. */
void tt_guard_directory(const char *directory, int rank, int size);
/* The limits of the run that begins; 0: no --max-time. */
void tt_guard_limits(double patience, double max_time);
void tt_guard_enter(enum tt_guarded part);
/* All is well: nobody will read the notes. */
void tt_guard_forget(void);
/* This rank has failed; and all ranks have heard of it, so nobody is left waiting. */
void tt_guard_failed(void);
void tt_guard_agreed(void);

#endif
