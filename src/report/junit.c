/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/junit.h"

#include <string.h>

#include "analysis/require.h"
#include "base/json.h"
#include "base/text.h"
#include "report/outfile.h"

int tt_case_add(json_t *cases, const char *condition, const char *verdict, const char *text)
{
    return json_array_append_new(cases,
                                 json_pack("{s:o, s:s, s:o}", "condition", tt_json_text(condition),
                                           "verdict", verdict, "text", tt_json_text(text)));
}

json_t *tt_case_suite(const char *name, json_t *cases)
{
    return json_pack("{s:o, s:o}", "name", tt_json_text(name), "cases", cases);
}

json_t *tt_case_suite_of(const char *name, const json_t *answer, const char *verdict,
                         const char *text)
{
    json_t *conditions = json_object_get(answer, "require"),
           *cases = json_is_array(conditions) ? json_copy(conditions) : json_array();
    int failed = tt_case_add(cases, "all repetitions are measured", verdict, text);

    return tt_json_unless(failed, tt_case_suite(name, cases));
}

/* ---- XML ---- */

/* The bytes of UTF-8 at text that stand for a character which XML 1.0 forbids: control characters,
 * U+FFFE and U+FFFF; 0: it may stand. Strings of JSON hold no others. */
static size_t forbidden(const char *text)
{
    if ((unsigned char)*text < ' ' && !strchr("\t\n\r", *text))
        return 1;
    return !strncmp(text, "\xef\xbf\xbe", 3) || !strncmp(text, "\xef\xbf\xbf", 3) ? 3 : 0;
}

/* For an attribute and for text alike. A line break in an attribute would be read as a blank. */
static void write_text(FILE *f, const char *text)
{
    while (*text) {
        size_t skipped = forbidden(text);

        if (skipped)
            fputs("\xef\xbf\xbd", f); /* the character that stands for a lost one */
        else if (strchr("&<>\"'\t\n\r", *text))
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
        text += skipped ? skipped : 1;
    }
}

static void write_attribute(FILE *f, const char *name, const char *value)
{
    fprintf(f, " %s=\"", name);
    write_text(f, value);
    fputc('"', f);
}

/* ---- cases ---- */

/* The element that says how a case ended; NULL: it passed. */
static const char *element_of(const json_t *one)
{
    const char *verdict = tt_text_of(one, "verdict");

    if (!strcmp(verdict, tt_verdict_names[TT_PASS]))
        return NULL;
    if (!strcmp(verdict, tt_verdict_names[TT_FAIL]))
        return "failure";
    return strcmp(verdict, TT_CASE_LEFT_OUT) ? "error" : "skipped";
}

struct counts {
    size_t tests, failures, errors, skipped;
};

static void count(const json_t *cases, struct counts *n)
{
    const json_t *one;
    size_t i;

    json_array_foreach(cases, i, one)
    {
        const char *element = element_of(one);

        n->tests++;
        n->failures += element && element[0] == 'f';
        n->errors += element && element[0] == 'e';
        n->skipped += element && element[0] == 's';
    }
}

static void write_counts(FILE *f, const struct counts *n)
{
    fprintf(f, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", n->tests,
            n->failures, n->errors, n->skipped);
}

static void write_case(FILE *f, const char *class, const json_t *one)
{
    const char *element = element_of(one);

    fputs("    <testcase", f);
    write_attribute(f, "classname", class);
    write_attribute(f, "name", tt_text_of(one, "condition"));
    fputs(">\n      ", f);
    if (element) {
        fprintf(f, "<%s", element);
        write_attribute(f, "type", tt_text_of(one, "verdict"));
        write_attribute(f, "message", tt_text_of(one, "text"));
        fputs("/>", f);
    } else {
        fputs("<system-out>", f);
        write_text(f, tt_text_of(one, "text"));
        fputs("</system-out>", f);
    }
    fputs("\n    </testcase>\n", f);
}

static void write_suites(FILE *f, const char *class, const json_t *suites)
{
    struct counts all = {0};
    const json_t *suite, *one;
    size_t i, k;

    json_array_foreach(suites, i, suite) count(json_object_get(suite, "cases"), &all);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tutti\"", f);
    write_counts(f, &all);
    json_array_foreach(suites, i, suite)
    {
        const json_t *cases = json_object_get(suite, "cases");
        struct counts n = {0};
        char name[64];

        snprintf(name, sizeof name, "tutti.%s", class);
        count(cases, &n);
        fputs("  <testsuite", f);
        write_attribute(f, "name", tt_text_of(suite, "name"));
        write_counts(f, &n);
        json_array_foreach(cases, k, one) write_case(f, name, one);
        fputs("  </testsuite>\n", f);
    }
    fputs("</testsuites>\n", f);
}

int tt_report_junit(const char *path, const char *class, json_t *suites, struct tt_error *e)
{
    struct tt_outfile out;
    int rc = suites ? tt_outfile_open(&out, path, e) : tt_fail_nomem(e, path);

    if (rc == TT_OK) {
        write_suites(out.stream, class, suites);
        rc = tt_outfile_close(&out, e);
    }
    json_decref(suites);
    return rc;
}
