/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/paragraph.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Open MPI's launcher gives every rank a terminal of its own and copies what comes out of it to
 * wherever its output goes, perhaps a file. Such a one is not the terminal of the session. */
bool tt_is_terminal(FILE *out)
{
    return isatty(fileno(out)) && tcgetsid(fileno(out)) == getsid(0);
}

static bool has_styles(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return tt_is_terminal(out) && !(no && *no) && terminal && *terminal &&
           strcmp(terminal, "dumb") != 0;
}

void tt_style(FILE *out, enum tt_style style)
{
    static const char *const codes[] = {"\x1b[0m", "\x1b[1m", "\x1b[1;32m", "\x1b[33m",
                                        "\x1b[1;31m"};

    if (has_styles(out))
        fputs(codes[style], out);
}

/* In ASCII, and in the control characters that UTF-8 writes as C2 80 to C2 9F. */
void tt_disarm(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];

        if (c < ' ' || c == 127)
            *text = '?';
        else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
            text[0] = text[1] = '?';
    }
}

static void add(struct tt_paragraph *p, const char *fmt, va_list args)
{
    size_t room = sizeof p->text - p->n;
    int length = vsnprintf(p->text + p->n, room, fmt, args);

    if (length < 0)
        return;
    if ((size_t)length >= room) {
        memcpy(p->text + sizeof p->text - 4, "...", 4);
        length = (int)room - 1;
    }
    tt_disarm(p->text + p->n);
    p->n += (size_t)length;
}

void tt_paragraph_add(struct tt_paragraph *p, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(p, fmt, args);
    va_end(args);
}

size_t tt_text_columns(const char *text, size_t n)
{
    size_t wide = 0;

    for (size_t i = 0; i < n; i++)
        wide += ((unsigned char)text[i] & 0xc0) != 0x80;
    return wide;
}

void tt_paragraph_wrap(const char *text, FILE *out, size_t indent)
{
    size_t at = indent;

    for (size_t n; *text; text += n) {
        text += strspn(text, " ");
        n = strcspn(text, " ");
        if (n == 0)
            break;
        if (at > indent && at + 1 + tt_text_columns(text, n) > TT_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, n, out);
        at += tt_text_columns(text, n);
    }
    fputc('\n', out);
}

void tt_paragraph_print(const struct tt_paragraph *p, FILE *out, const char *label)
{
    char name[11];

    if (p->n == 0)
        return;
    snprintf(name, sizeof name, "%s", label);
    tt_disarm(name);
    fprintf(out, "  %-10s ", name);
    tt_paragraph_wrap(p->text, out, 13);
}

void tt_paragraph_print_marked(const struct tt_paragraph *p, FILE *out, const char *mark)
{
    if (p->n > 0)
        tt_print_wrapped(out, mark, p->text);
}

void tt_print_wrapped(FILE *out, const char *mark, const char *text)
{
    fputs(mark, out);
    tt_paragraph_wrap(text, out, strlen(mark));
}

void tt_print_entry(FILE *out, const char *name, int column, const char *text)
{
    int at = fprintf(out, "  %s", name);

    if (at + 2 > column && *name) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", column - at, "");
    tt_paragraph_wrap(text, out, (size_t)column);
}

void tt_say(FILE *out, const char *label, const char *fmt, ...)
{
    struct tt_paragraph p = {0};
    va_list args;

    va_start(args, fmt);
    add(&p, fmt, args);
    va_end(args);
    tt_paragraph_print(&p, out, label);
}

void tt_say_marked(FILE *out, const char *mark, const char *fmt, ...)
{
    struct tt_paragraph p = {0};
    va_list args;

    va_start(args, fmt);
    add(&p, fmt, args);
    va_end(args);
    tt_paragraph_print_marked(&p, out, mark);
}
