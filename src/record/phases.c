/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/phases.h"

const char *const tt_phase_names[TT_NPHASES] = {
#define X(id, name, colour, text) [TT_##id] = #name,
    TT_PHASES(X)
#undef X
};

const char *const tt_phase_texts[TT_NPHASES] = {
#define X(id, name, colour, text) [TT_##id] = text,
    TT_PHASES(X)
#undef X
};

const unsigned char tt_phase_colours[TT_NPHASES] = {
#define X(id, name, colour, text) [TT_##id] = colour,
    TT_PHASES(X)
#undef X
};

const char *const tt_call_names[TT_NCALLS] = {
#define X(id, name, text) [TT_##id] = #name,
    TT_CALLS(X)
#undef X
};

const char *const tt_call_texts[TT_NCALLS] = {
#define X(id, name, text) [TT_##id] = text,
    TT_CALLS(X)
#undef X
};
