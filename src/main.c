/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Only main ends the process; cli/command.h has the list of commands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>
#include <mpi.h>

#include "cli/command.h"
#include "launch/launch.h"

/* Some launchers kill the other ranks at once when one ends with an error. Before MPI is up all
 * find the same, and only rank 0 says what. */
static void let_rank_0_speak(void)
{
    int up = 0;

    MPI_Initialized(&up);
    if (!up && tt_launched_rank() > 0)
        sleep(1);
}

/* A file that is opened later must not become stdout or stderr, which would be written into it.
 * What was closed stays unwritable, so that output which nobody can see is no success. */
static int open_streams(struct tt_error *e)
{
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream)
            return tt_fail_call(e, errno, "open", "/dev/null", -1);
    return TT_OK;
}

/* A full disk behind a pipe or redirection must not look like success. */
int main(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int status;

    if (open_streams(&e) != TT_OK)
        return tt_report_error(&e);
    signal(SIGXFSZ, SIG_IGN);    /* a file larger than ulimit -f is an error like any other */
    gsl_set_error_handler_off(); /* it would abort; what it returns is looked at */
    status = tt_dispatch(argc, argv);
    if (status != 0)
        let_rank_0_speak();
    if (status != 0 || (fflush(stdout) == 0 && !ferror(stdout)))
        return status;
    tt_fail(&e, TT_FAILED, "the output could not be written to stdout");
    return tt_report_error(&e);
}
