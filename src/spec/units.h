/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers with units: strict in, readable out. What is not understood is refused. */
#ifndef TT_SPEC_UNITS_H
#define TT_SPEC_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* All return TT_OK or TT_USAGE with one line that quotes the text and says what is expected. */
int tt_parse_count(const char *text, uint64_t *out, struct tt_error *e);
int tt_parse_bytes(const char *text, uint64_t *out, struct tt_error *e);
int tt_parse_duration(const char *text, double *seconds, struct tt_error *e);
int tt_parse_rate(const char *text, double *bytes_per_second, struct tt_error *e);
int tt_parse_real(const char *text, double *out, struct tt_error *e);

/* The product, or UINT64_MAX where it is more: a limit then refuses it, and nothing wraps to 0. */
static inline uint64_t tt_times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* "1.50 GiB", "312 MiB/s", "4.31 ms", "1.2 G": at most 12 characters, into out; returns out. */
#define TT_UNIT_TEXT 24
char *tt_format_bytes(double bytes, char out[TT_UNIT_TEXT]);
char *tt_format_rate(double bytes_per_second, char out[TT_UNIT_TEXT]);
char *tt_format_seconds(double seconds, char out[TT_UNIT_TEXT]);
char *tt_format_quantity(double value, char out[TT_UNIT_TEXT]); /* k M G T, powers of ten */
/* "2026-11-16T22:33:30.250Z" of seconds since 1970; and back from that or its beginning: a date, a
 * date and a time, in UTC. *length, unless NULL: of the day, hour, minute or second that was named.
 */
#define TT_TIME_TEXT 32
char *tt_format_time(double seconds, char out[TT_TIME_TEXT]);
int tt_parse_time(const char *text, double *seconds, double *length, struct tt_error *e);
/* Any value of a metric, by its unit ("B", "B/s", "s", "flop/s", "1", ...). */
char *tt_format_value(double value, const char *unit, char out[TT_UNIT_TEXT]);

#endif
