/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One error that carries its context from the failing call up to main. */
#ifndef TT_BASE_ERROR_H
#define TT_BASE_ERROR_H

/* Negative codes returned by every function that can fail; 0 is success. */
enum tt_code {
    TT_OK = 0,
    TT_USAGE = -1,       /* the user asked for something that makes no sense: exit status 2 */
    TT_FAILED = -2,      /* a system call, a library or MPI failed */
    TT_NOMEM = -3,       /* memory ran out */
    TT_UNSUPPORTED = -4, /* this backend or layer cannot do what was asked */
    TT_CORRUPT = -5,     /* data read is not the data written, or a directory holds garbage */
    TT_LIMIT = -6,       /* --max-bytes, --max-time or --min-free was reached */
    TT_INTERRUPTED = -7, /* Ctrl-C or the launcher ended the run */
    TT_BUSY = -8,        /* somebody is at it: a run that is not over, an index being written */
    TT_STOPPED = -9,     /* the driver told the run to end: no failure */
};

struct tt_error {
    int code;         /* TT_OK while clear */
    int sys_errno;    /* 0 if no system call failed */
    int rank;         /* -1 until ranks have agreed */
    long long offset; /* -1 if the failure has no place in a file */
    char call[32];    /* "write", "MPI_File_open", ... or empty */
    char file[256];   /* path, or empty */
    char text[512];   /* what happened and what to do, one line */
};

#define TT_ERROR_CLEAR \
    { \
        .code = TT_OK, .rank = -1, .offset = -1 \
    }

void tt_error_clear(struct tt_error *e);

/* Fill *e only if it is still clear (the first error is kept); always return code. */
int tt_fail(struct tt_error *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A failed system call: keeps errno, the call's name, the file (may be NULL) and the offset (-1:
 * none). Returns TT_FAILED, or TT_NOMEM for ENOMEM. */
int tt_fail_call(struct tt_error *e, int sys_errno, const char *call, const char *file,
                 long long offset);

int tt_fail_nomem(struct tt_error *e, const char *what);

/* "rank 1: write of 'x' at offset 4096: No space left on device": no newline, one line. */
void tt_error_format(const struct tt_error *e, char *out, unsigned long size);

/* One line, whatever names it quotes and wherever it was cut off: control characters, which do
 * things to terminals, and what is no UTF-8, which JSON cannot hold, become '?'. */
void tt_make_plain(char *text);

/* Bytes of the UTF-8 character at text; 0: it is none. */
int tt_utf8_length(const char *at);

/* 0 for TT_OK, 2 for TT_USAGE, 1 for everything else. */
int tt_exit_status(int code);

#endif
