/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plot.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "report/paragraph.h"

bool tt_shows_unicode(FILE *out)
{
    locale_t users = tt_is_terminal(out) ? newlocale(LC_CTYPE_MASK, "", (locale_t)0) : (locale_t)0;
    bool shows = users && !strcmp(nl_langinfo_l(CODESET, users), "UTF-8");

    if (users)
        freelocale(users);
    return shows;
}

void tt_plot_line(const double *values, size_t n, bool unicode, char text[TT_PLOT_TEXT])
{
    static const char ascii[] = "_.:-=+*#";
    double most = 0;

    n = n < TT_PLOT_COLUMNS ? n : TT_PLOT_COLUMNS;
    while (n > 0 && !(values[n - 1] > 0))
        n--;
    for (size_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    for (size_t i = 0; i < n; i++) {
        unsigned level = values[i] > 0 ? (unsigned)(fmin(values[i] / most, 1) * 7.999) : 0;

        if (!(values[i] > 0))
            *text++ = ' ';
        else if (unicode) /* U+2581 to U+2588 */
            text = memcpy(text, (const char[]){'\xe2', '\x96', (char)(0x81 + level)}, 3) + 3;
        else
            *text++ = ascii[level];
    }
    *text = '\0';
}

size_t tt_plot_means(const double *values, size_t n, double parts[TT_PLOT_COLUMNS])
{
    size_t width = (n + TT_PLOT_COLUMNS - 1) / TT_PLOT_COLUMNS, count = 0;

    for (size_t i = 0; i < n; i += width) {
        double sum = 0;
        size_t known = 0;

        for (size_t k = i; k < n && k < i + width; k++)
            if (isfinite(values[k])) {
                sum += values[k];
                known++;
            }
        parts[count++] = known ? sum / (double)known : 0;
    }
    return count;
}

void tt_plot_bar(double value, double low, double high, double longest, size_t width, char *text)
{
    size_t end = 0;

    for (size_t i = 0; i < width; i++) {
        double at = ((double)i + 0.5) / (double)width * longest;
        bool inside = isfinite(low) && at >= low && at <= high;

        text[i] = at <= value ? (inside ? '=' : '#') : inside ? '-' : ' ';
        end = text[i] != ' ' ? i + 1 : end;
    }
    text[end] = '\0';
}
