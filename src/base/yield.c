/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/yield.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/note.h"

/* Nanoseconds. The main thread's own messages may have to wait for this thread to wake up, so it
 * never sleeps long; 50 us cost 5 % of a core. */
#define SHORTEST 5000
#define LONGEST 50000
/* Two polls without any work lie closer together than this. */
#define WORKED 5000

static _Thread_local bool is_helper;
static _Thread_local int64_t woke_ns, sleep_ns;

void tt_yield_ask_mpi(void)
{
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

void tt_yield_as_helper(void)
{
    is_helper = true;
    prctl(PR_SET_TIMERSLACK, 1000); /* else the kernel adds 50 us to every sleep */
}

bool tt_yield_should_sleep(void)
{
    return is_helper && tt_note_main_is_at_work();
}

void tt_yield_asleep(void)
{
    bool worked = tt_now_ns() - woke_ns > WORKED;

    sleep_ns = worked || sleep_ns == 0 ? SHORTEST : sleep_ns * 2;
    if (sleep_ns > LONGEST)
        sleep_ns = LONGEST;
    nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
    woke_ns = tt_now_ns();
}
