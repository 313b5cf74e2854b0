/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank spends its time on. One list yields enum, names and record columns.
 *
 * Records (.ttr) hold one number per phase and one histogram per call, in the order of the lists. A
 * new phase therefore makes records of other versions unreadable: they are refused as written by
 * another version of tutti. A new call comes last, and older records have none of it. Where the
 * number of rows stays the same but their order or meaning changes, raise TT_RECORDS_MAGIC. */
#ifndef TT_RECORD_PHASES_H
#define TT_RECORD_PHASES_H

#include <stdbool.h>

/* The order is a contract. First come the main phases: time of the rank's main thread, never
 * counted twice. OTHER is the last of them, and what they leave of the runtime. The rest, IO_*, are
 * durations of calls in any thread: they lie within main phases or beside them. The number is that
 * of a colour in the palette of reports; calls have the colour of the phase that waits for them. */
#define TT_PHASES(X) \
    X(COMPUTE, compute, 0, "computation; also making the data to be written, and comparing it") \
    X(HALO, halo, 1, "waiting for and moving halo data") \
    X(COLLECTIVE, collective, 2, "collective communication") \
    X(COPY, copy, 3, "copying data to a staging buffer so that computation may go on") \
    X(SUBMIT, submit, 4, "handing a write over, or the blocking write itself without overlap") \
    X(WAIT, wait, 5, "waiting for writes handed over earlier") \
    X(SYNC, sync, 6, "making data durable, in the caller") \
    X(OPEN, open, 7, \
      "opening files: the calls, the check that all ranks see the same file, and waiting for " \
      "ranks that are later") \
    X(CLOSE, close, 8, "closing files") \
    X(LOAD, read, 9, "reading, or waiting for reads started earlier") \
    X(METADATA, metadata, 10, "making, looking up, opening and removing files that are not dumps") \
    X(OTHER, other, 11, \
      "what is left of the runtime: checks, agreement, records and whatever else no phase names") \
    X(IO_WRITE, io_write, 4, \
      "the write calls' own duration, wherever they ran; until waited for if native; of single " \
      "transfers of a device's memory, with io_stage") \
    X(IO_SYNC, io_sync, 6, "the sync calls' own duration, wherever they ran") \
    X(IO_READ, io_read, 9, \
      "the read calls' own duration, wherever they ran; of single transfers of a device's " \
      "memory, with io_stage") \
    X(IO_DEFINE, io_define, 10, \
      "the part of io_write that made groups and variables for new steps") \
    X(IO_STAGE, io_stage, 3, \
      "data moving between a device's memory and the host's, by the device's own clock")

enum tt_phase {
#define X(id, name, colour, text) TT_##id,
    TT_PHASES(X)
#undef X
        TT_NPHASES
};

static inline bool tt_phase_is_main(int phase)
{
    return phase <= TT_OTHER;
}

extern const char *const tt_phase_names[TT_NPHASES];
extern const char *const tt_phase_texts[TT_NPHASES];
extern const unsigned char tt_phase_colours[TT_NPHASES];

/* Calls whose latency is kept in a histogram. */
#define TT_CALLS(X) \
    X(CALL_OPEN, open, "opening a file") \
    X(CALL_WRITE, write, \
      "one block through the stack, with its layers and all calls of the library that it takes; " \
      "of single transfers (bulk, arrays) from submission to " \
      "completion; dumps by native nonblocking calls are not counted, since nobody sees their " \
      "end") \
    X(CALL_READ, read, \
      "one block through the stack, with its layers and all calls of the library that it takes; " \
      "of single transfers (bulk, arrays) from submission to " \
      "completion") \
    X(CALL_SYNC, sync, "making data durable") \
    X(CALL_CLOSE, close, "closing a file") \
    X(CALL_SUBMIT, submit, "handing a write over") \
    X(CALL_WAIT, wait, "waiting for what was handed over") \
    X(CALL_CREATE, create, "making a file or directory") \
    X(CALL_STAT, stat, "looking a file or directory up") \
    X(CALL_RENAME, rename, "renaming a file or directory") \
    X(CALL_REMOVE, remove, "removing a file or directory") \
    X(CALL_HALO, halo, "one exchange of halo data") \
    X(CALL_COLLECTIVE, collective, "one collective communication")

enum tt_call {
#define X(id, name, text) TT_##id,
    TT_CALLS(X)
#undef X
        TT_NCALLS
};
extern const char *const tt_call_names[TT_NCALLS];
extern const char *const tt_call_texts[TT_NCALLS];

#endif
