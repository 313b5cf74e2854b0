/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding an option is one row, adding a command one table: help and validation come from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/command.h"

#define FOR_EACH_OPTION(o, c) \
    for (const struct tt_param *o = (c)->options ? (c)->options->params : NULL; o && o->key; o++)

/* What a call prints, stdout and stderr together; *status is its exit status. */
static char *printed_by(int *status, int (*call)(int, char **), int argc, char **argv)
{
    int before[2] = {dup(1), dup(2)};
    FILE *file = tmpfile();
    char *text;
    long size;

    assert_non_null(file);
    fflush(stdout);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    *status = call(argc, argv);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        dup2(before[i], i + 1);
        close(before[i]);
    }
    size = lseek(fileno(file), 0, SEEK_END);
    text = calloc(1, (size_t)size + 1);
    assert_int_equal(size, pread(fileno(file), text, (size_t)size, 0));
    fclose(file);
    return text;
}
#define PRINTED(status, ...) \
    printed_by(status, tt_dispatch, (int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), \
               (char *[]){__VA_ARGS__, NULL})

static void every_row_has_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; tt_commands[i]; i++) {
        const struct tt_command *c = tt_commands[i];

        assert_non_null(c->run);
        assert_true(c->name && c->summary && c->synopsis && c->text);
        assert_non_null(strstr(c->synopsis, c->name));
        FOR_EACH_OPTION(o, c)
        {
            assert_true(o->text && *o->text);
            assert_true(o->offset < c->options->size);
            assert_true(o->type != TT_PARAM_CHOICE || o->choices);
            FOR_EACH_OPTION(other, c)
            assert_true(other == o || (strcmp(other->key, o->key) &&
                                       (!o->flag || !other->flag || strcmp(other->flag, o->flag))));
        }
    }
}

static void help_names_every_option(void **state)
{
    (void)state;
    for (size_t i = 0; tt_commands[i]; i++) {
        const struct tt_command *c = tt_commands[i];
        int status;
        char *text = PRINTED(&status, "tutti", "help", (char *)c->name);

        assert_int_equal(0, status);
        FOR_EACH_OPTION(o, c)
        {
            char name[80];

            snprintf(name, sizeof name, "%s%s", o->flag ? "" : "--", o->flag ? o->flag : o->key);
            for (char *at = name; *at; at++)
                *at = *at == '_' ? '-' : *at;
            if (!strstr(text, name))
                fail_msg("help %s does not name %s", c->name, name);
        }
        free(text);
    }
}

static void internal_commands_are_not_listed(void **state)
{
    int status;
    char *text = PRINTED(&status, "tutti", "--help");

    (void)state;
    assert_int_equal(0, status);
    for (size_t i = 0; tt_commands[i]; i++) {
        char line[40];

        snprintf(line, sizeof line, "\n  %s ", tt_commands[i]->name);
        assert_int_equal(tt_commands[i]->hidden, !strstr(text, line));
    }
    free(text);
}

static void unknown_options_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; tt_commands[i]; i++) {
        const struct tt_command *c = tt_commands[i];
        const struct tt_param *o = c->options ? c->options->params : NULL;
        char wrong[80], near[80];
        int status;
        char *text;

        if (c->job || !o || strlen(o->key) < 3)
            continue;
        snprintf(near, sizeof near, "did you mean '--%s'", o->key);
        snprintf(wrong, sizeof wrong, "--%sx", o->key);
        text = PRINTED(&status, "tutti", (char *)c->name, wrong);
        assert_int_equal(2, status);
        assert_non_null(strstr(text, "unknown option"));
        if (!strstr(text, near))
            fail_msg("%s: '%s' does not say '%s'", wrong, text, near);
        free(text);
    }
}

/* ---- a new command ---- */

struct fresh {
    char *name;
    uint64_t level;
    bool loud;
};

static const struct tt_param params[] = {
    {"name", TT_PARAM_TEXT, offsetof(struct fresh, name), "nobody", NULL, "a name"},
    {"level", TT_PARAM_COUNT, offsetof(struct fresh, level), "3", NULL, "a number", 1, 9,
     .flag = "-l"},
    {"loud", TT_PARAM_BOOL, offsetof(struct fresh, loud), NULL, NULL, "a switch"},
    {NULL},
};

static int greet(struct tt_invocation *call, struct tt_error *e)
{
    const struct fresh *o = call->opts;

    if (call->nwords == 0)
        return tt_fail(e, TT_FAILED, "nothing to say");
    printf("%s %s %d%s\n", call->words[0], o->name, (int)o->level, o->loud ? "!" : "");
    return o->level == 7 ? 5 : TT_OK;
}

static const struct tt_command fresh = {
    .name = "fresh",
    .run = greet,
    .options = &(const struct tt_options){params, sizeof(struct fresh)},
    .max_words = 1,
};

static int call_fresh(int argc, char **argv)
{
    return tt_call_command(&fresh, argc, argv);
}

static void says(int status, const char *expected, int argc, char **argv)
{
    int got;
    char *text = printed_by(&got, call_fresh, argc, argv);

    assert_string_equal(expected, text);
    assert_int_equal(status, got);
    free(text);
}
#define SAYS(status, expected, ...) \
    says(status, expected, (int)(sizeof((char *[]){"fresh", __VA_ARGS__}) / sizeof(char *)), \
         (char *[]){"fresh", __VA_ARGS__, NULL})

static void a_new_command_is_a_table(void **state)
{
    (void)state;
    SAYS(0, "hello nobody 3\n", "hello");
    SAYS(0, "hello you 4!\n", "--loud", "--name=you", "hello", "-l", "4");
    SAYS(5, "hello nobody 7\n", "hello", "--level", "7");
    SAYS(0, "--loud nobody 3\n", "--", "--loud");
    SAYS(1, "tutti: nothing to say\n", "--loud");
    SAYS(2, "tutti: --level: 'x' is not a count: expected a whole number such as 4096\n", "hello",
         "--level", "x");
    SAYS(2, "tutti: --level: '10' is out of range: 1 to 9\n", "hello", "--level", "10");
    SAYS(2, "tutti: option --name needs a value: --name TEXT\n", "hello", "--name");
    SAYS(2, "tutti: option --name needs a value: --name TEXT\n", "hello", "--name", "--loud");
    SAYS(2, "tutti: option --loud takes no value\n", "hello", "--loud=yes");
    SAYS(2, "tutti: option --name is given twice\n", "--name", "a", "--name", "b");
    SAYS(2, "tutti: unknown option '--nam' (did you mean '--name'?)\n", "--nam", "a");
    SAYS(2, "tutti: unexpected word 'you' after 'hello'\n", "hello", "you");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_its_text),
        cmocka_unit_test(help_names_every_option),
        cmocka_unit_test(internal_commands_are_not_listed),
        cmocka_unit_test(unknown_options_are_refused),
        cmocka_unit_test(a_new_command_is_a_table),
    };

    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
