/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes are whole bytes and are computed exactly; durations and rates are real numbers. */
#include "spec/units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MAX_DECIMALS 19 /* 10^19 is the largest power of ten in 64 bits */

#define MAX_SECONDS 1e9 /* 30 years; as nanoseconds it fits 64 bits, also when added to a clock */

static const char a_count[] = "a whole number such as 4096";
static const char a_size[] = "bytes such as 4096, 4k, 1.5g or 16GiB";
static const char a_duration[] = "a duration such as 5s, 200ms, 3us, 2min or 1h";
static const char a_rate[] = "bytes per second such as 50m or 50MiB/s";
static const char a_real[] = "a number such as 0.5 or 1e-3";

static int refuse(struct tt_error *e, const char *text, const char *why, const char *expected)
{
    if (!*text)
        return tt_fail(e, TT_USAGE, "'' is empty: expected %s", expected);
    return tt_fail(e, TT_USAGE, "'%.80s' %s: expected %s", text, why, expected);
}

static bool is_negative(const char *text)
{
    return text[0] == '-' && (isdigit((unsigned char)text[1]) || text[1] == '.');
}

/* Reads digits at *text into *out; false on overflow. */
static bool read_digits(const char **text, uint64_t *out)
{
    bool fits = true;

    *out = 0;
    for (; isdigit((unsigned char)**text); (*text)++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(**text - '0'), out))
            fits = false;
    return fits;
}

int tt_parse_count(const char *text, uint64_t *out, struct tt_error *e)
{
    const char *at = text;
    uint64_t value;

    if (is_negative(text))
        return refuse(e, text, "is negative", a_count);
    if (!isdigit((unsigned char)*at))
        return refuse(e, text, "is not a count", a_count);
    if (!read_digits(&at, &value) && !*at)
        return refuse(e, text, "is too large", "at most 18446744073709551615");
    if (*at)
        return refuse(e, text, "is not a count", a_count);
    *out = value;
    return TT_OK;
}

/* Shift of a binary suffix ("k", "GiB", in any case), -1 if it is none, -2 for a decimal one (KB).
 */
static int binary_shift(const char *suffix, size_t length)
{
    static const char letters[] = "kmgtp";
    const char *letter;

    if (length == 0)
        return 0;
    letter = strchr(letters, tolower((unsigned char)*suffix));
    if (!letter)
        return -1;
    if (length == 1 || (length == 3 && !strncasecmp(suffix + 1, "ib", 2)))
        return 10 * (int)(letter - letters + 1);
    return length == 2 && tolower((unsigned char)suffix[1]) == 'b' ? -2 : -1;
}

/* The suffix of text, or a usage error that says what is wrong with it. */
static int read_shift(const char *text, const char *suffix, size_t length, const char *expected,
                      int *shift, struct tt_error *e)
{
    *shift = binary_shift(suffix, length);
    if (*shift == -2)
        return tt_fail(e, TT_USAGE, "'%.80s' may mean powers of ten or two: write '%ciB' (1024s)",
                       text, toupper((unsigned char)*suffix));
    if (*shift < 0)
        return refuse(e, text, "has an unknown unit", expected);
    return TT_OK;
}

/* fraction / 10^decimals * 2^shift, which must be whole. */
static bool scale_fraction(uint64_t fraction, size_t decimals, int shift, uint64_t *out)
{
    unsigned __int128 scaled = (unsigned __int128)fraction << shift;
    uint64_t power = 1;

    for (size_t i = 0; i < decimals; i++)
        power *= 10;
    *out = (uint64_t)(scaled / power);
    return scaled % power == 0;
}

int tt_parse_bytes(const char *text, uint64_t *out, struct tt_error *e)
{
    const char *at = text, *decimals = "";
    uint64_t whole, fraction = 0;
    size_t length = 0;
    int shift, rc;

    if (is_negative(text))
        return refuse(e, text, "is negative", a_size);
    if (!isdigit((unsigned char)*at))
        return refuse(e, text, "is not a size", a_size);
    bool fits = read_digits(&at, &whole);
    if (*at == '.') {
        decimals = ++at;
        if (!isdigit((unsigned char)*at))
            return refuse(e, text, "is not a size", a_size);
        while (isdigit((unsigned char)*at))
            at++;
        for (length = (size_t)(at - decimals); length && decimals[length - 1] == '0'; length--)
            ;
    }
    rc = read_shift(text, at, strlen(at), a_size, &shift, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < length && length <= MAX_DECIMALS; i++)
        fraction = fraction * 10 + (uint64_t)(decimals[i] - '0');
    if (length > MAX_DECIMALS || !scale_fraction(fraction, length, shift, &fraction))
        return refuse(e, text, "is not a whole number of bytes", a_size);
    if (!fits || whole > UINT64_MAX >> shift)
        return refuse(e, text, "is too large", "less than 16384p");
    *out = (whole << shift) + fraction; /* a fraction is below the lowest bit of the other */
    return TT_OK;
}

/* Reads digits[.digits][e[+-]digits] and leaves *end behind it; false if there is no such number.
 */
static bool read_real(const char *text, const char **end, double *out)
{
    const char *at = text, *exponent;
    size_t digits = 0;

    for (; isdigit((unsigned char)*at); at++)
        digits++;
    if (*at == '.')
        for (at++; isdigit((unsigned char)*at); at++)
            digits++;
    if (!digits)
        return false;
    exponent = at;
    if (*exponent == 'e' || *exponent == 'E') {
        exponent++;
        if (*exponent == '+' || *exponent == '-')
            exponent++;
        if (isdigit((unsigned char)*exponent))
            for (at = exponent; isdigit((unsigned char)*at); at++)
                ;
    }
    *end = at;
    *out = strtod(text, NULL);
    return true;
}

int tt_parse_real(const char *text, double *out, struct tt_error *e)
{
    bool negative = text[0] == '-';
    const char *end;
    double value;

    if (!read_real(text + negative, &end, &value) || *end)
        return refuse(e, text, "is not a number", a_real);
    if (!isfinite(value))
        return refuse(e, text, "is too large", a_real);
    *out = negative ? -value : value;
    return TT_OK;
}

/* A real number that is not negative, with its unit at *unit. */
static int read_quantity(const char *text, const char *expected, double *value, const char **unit,
                         struct tt_error *e)
{
    if (is_negative(text))
        return refuse(e, text, "is negative", expected);
    if (!read_real(text, unit, value))
        return refuse(e, text, "is not a number", expected);
    if (!isfinite(*value))
        return refuse(e, text, "is too large", expected);
    return TT_OK;
}

int tt_parse_duration(const char *text, double *seconds, struct tt_error *e)
{
    static const struct {
        const char *name;
        double times, divided_by; /* a division by 1000 is exact where 1e-3 is not */
    } units[] = {{"", 1, 1},     {"s", 1, 1},    {"ms", 1, 1e3}, {"us", 1, 1e6},
                 {"ns", 1, 1e9}, {"min", 60, 1}, {"h", 3600, 1}};
    const char *unit;
    double value;
    int rc = read_quantity(text, a_duration, &value, &unit, e);

    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(unit, units[i].name)) {
            value = value * units[i].times / units[i].divided_by;
            if (value > MAX_SECONDS)
                return refuse(e, text, "is too large", "at most 1e9 seconds");
            *seconds = value;
            return TT_OK;
        }
    return refuse(e, text, "has an unknown unit", a_duration);
}

int tt_parse_rate(const char *text, double *bytes_per_second, struct tt_error *e)
{
    const char *unit;
    size_t length;
    double value;
    int shift, rc = read_quantity(text, a_rate, &value, &unit, e);

    if (rc)
        return rc;
    length = strlen(unit);
    if (length >= 2 && !strcasecmp(unit + length - 2, "/s"))
        length -= 2;
    rc = read_shift(text, unit, length, a_rate, &shift, e);
    if (rc)
        return rc;
    value = ldexp(value, shift);
    if (!isfinite(value))
        return refuse(e, text, "is too large", a_rate);
    *bytes_per_second = value;
    return TT_OK;
}

/* Three significant digits of what is left after dividing by base as often as there are prefixes.
 */
static char *format_scaled(double value, double base, const char *const *prefixes, const char *unit,
                           char out[TT_UNIT_TEXT])
{
    double size = fabs(value);
    size_t i = 0;

    if (!isfinite(value)) {
        snprintf(out, TT_UNIT_TEXT, "%f", value);
        return out;
    }
    for (; size >= base - 0.5 && prefixes[i + 1]; i++)
        size /= base;
    if (size >= 1e6)
        snprintf(out, TT_UNIT_TEXT, "%.2e", copysign(size, value));
    else
        snprintf(out, TT_UNIT_TEXT, "%.*f",
                 size >= 99.95 || (!i && size == floor(size)) ? 0 : (size >= 9.995 ? 1 : 2),
                 copysign(size, value));
    size_t used = strlen(out);
    snprintf(out + used, TT_UNIT_TEXT - used, "%s%s%s", *prefixes[i] || *unit ? " " : "",
             prefixes[i], unit);
    return out;
}

static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", NULL};
static const char *const decimal[] = {"", "k", "M", "G", "T", "P", "E", NULL};

char *tt_format_bytes(double bytes, char out[TT_UNIT_TEXT])
{
    return format_scaled(bytes, 1024, binary, "B", out);
}

char *tt_format_rate(double bytes_per_second, char out[TT_UNIT_TEXT])
{
    return format_scaled(bytes_per_second, 1024, binary, "B/s", out);
}

char *tt_format_quantity(double value, char out[TT_UNIT_TEXT])
{
    return format_scaled(value, 1000, decimal, "", out);
}

char *tt_format_seconds(double seconds, char out[TT_UNIT_TEXT])
{
    static const char *const below[] = {"n", "u", "m", "", NULL};

    if (seconds == 0 || fabs(seconds) > 1e12)
        snprintf(out, TT_UNIT_TEXT, "%.3g s", seconds);
    else
        format_scaled(seconds * 1e9, 1000, below, "s", out);
    return out;
}

char *tt_format_value(double value, const char *unit, char out[TT_UNIT_TEXT])
{
    if (!strcmp(unit, "B"))
        return tt_format_bytes(value, out);
    if (!strcmp(unit, "B/s"))
        return tt_format_rate(value, out);
    if (!strcmp(unit, "s"))
        return tt_format_seconds(value, out);
    if (strcmp(unit, "1"))
        return format_scaled(value, 1000, decimal, unit[0] == '1' ? unit + 1 : unit, out);
    if (fabs(value) >= 1000)
        return tt_format_quantity(value, out);
    snprintf(out, TT_UNIT_TEXT, "%.4g", value);
    return out;
}

char *tt_format_time(double seconds, char out[TT_TIME_TEXT])
{
    int64_t ms = (int64_t)llround(fmin(fmax(seconds, 0), 1e11) * 1e3);
    time_t whole = (time_t)(ms / 1000);
    struct tm utc;
    size_t n = gmtime_r(&whole, &utc) ? strftime(out, TT_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &utc) : 0;

    snprintf(out + n, TT_TIME_TEXT - n, ".%03dZ", (int)(ms % 1000));
    return out;
}

int tt_parse_time(const char *text, double *seconds, double *length, struct tt_error *e)
{
    static const struct {
        const char *format;
        double length;
    } forms[] = {{"%Y-%m-%d", 86400},
                 {"%Y-%m-%dT%H", 3600},
                 {"%Y-%m-%dT%H:%M", 60},
                 {"%Y-%m-%dT%H:%M:%S", 1}};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm utc = {.tm_mday = 1};
        const char *end = strptime(text, forms[i].format, &utc);
        struct tm found = utc;

        if (!end || (*end && strcmp(end, "Z") != 0))
            continue;
        *seconds = (double)timegm(&utc);
        if (utc.tm_mday != found.tm_mday)
            break; /* 31 June */
        if (length)
            *length = forms[i].length;
        return TT_OK;
    }
    return tt_fail(e, TT_USAGE,
                   "'%.40s' is not a time: expected 2026-11-15 or 2026-11-15T12:30, in UTC", text);
}
