/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion of command lines by a shell: commands first, then the options of the command, and the
 * keys of a run where it takes them. */
#include <stdio.h>
#include <string.h>

#include "cli/help/parts.h"
#include "ensemble/ensemble.h"
#include "plan/config.h"

/* "--any-plan" of "any_plan". */
static void print_key(const char *prefix, const char *key)
{
    printf("--%s", prefix);
    for (; *key; key++)
        putchar(*key == '_' ? '-' : *key);
}

/* The prefix of the keys of a component on the command line. */
static void prefix_of(const struct tt_component *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s", c->name, *c->name ? "." : "");
}

static const char *prefix_of_job(const struct tt_command *c)
{
    return c->job == &tt_launch_component ? "launch." : "";
}

static bool has_options(const struct tt_command *c)
{
    return !c->hidden && (c->options || c->job);
}

/* ---- bash: a list of words for each command ---- */

static void print_words(const struct tt_param *p, const char *prefix, bool only_letters)
{
    for (; p && p->key; p++) {
        if (!only_letters) {
            putchar(' ');
            print_key(prefix, p->key);
        }
        if (p->flag)
            printf(" %s", p->flag);
    }
}

static void print_words_of(const char *kind, const struct tt_component *c, void *context)
{
    char prefix[64];

    (void)kind;
    (void)context;
    prefix_of(c, prefix, sizeof prefix);
    print_words(c->params, prefix, false);
}

static void print_bash(void)
{
    printf("_tutti() {\n  local words run=\"");
    tt_each_component(print_words_of, NULL);
    for (size_t i = 0; tt_workloads[i]; i++)
        printf(" %s", tt_workloads[i]->name);
    printf("\"\n  case $COMP_CWORD-${COMP_WORDS[1]} in\n  1-*) words=\"");
    for (size_t i = 0; tt_commands[i]; i++)
        if (!tt_commands[i]->hidden)
            printf(" %s", tt_commands[i]->name);
    printf("\" ;;\n");
    for (size_t i = 0; tt_commands[i]; i++) {
        const struct tt_command *c = tt_commands[i];

        if (!has_options(c))
            continue;
        printf("  *-%s) words=\"", c->name);
        if (c->options)
            print_words(c->options->params, "", c->options->style == TT_OPTIONS_LETTERS);
        if (c->job == &tt_run_component)
            printf(" $run");
        else if (c->job)
            print_words(c->job->params, prefix_of_job(c), false);
        printf("\" ;;\n");
    }
    printf("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
           "complete -o default -F _tutti tutti\n");
}

/* ---- zsh: specifications for _arguments, with a description each ---- */

/* Inside of single quotes and of what _arguments takes apart. */
static void print_plain(const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '\'':
            printf("'\\''");
            break;
        case '[':
        case ']':
        case ':':
        case '\\':
            printf("\\%c", *text);
            break;
        default:
            putchar(*text);
        }
}

/* ":FILE:_files", ":WORD:(a b)"; nothing for a switch. */
static void print_value(const struct tt_param *p, bool is_switch)
{
    const char *name = tt__value_name(p);

    if (is_switch || !*name)
        return;
    putchar(':');
    print_plain(name);
    putchar(':');
    if (p->type == TT_PARAM_CHOICE) {
        for (size_t i = 0; p->choices[i]; i++)
            printf("%s%s", i ? " " : "(", p->choices[i]);
        putchar(')');
    } else if (strstr(name, "FILE") || strstr(name, "DIR")) {
        printf("_files");
    }
}

static void print_specs(const struct tt_param *p, const char *prefix, bool only_letters,
                        bool has_switches)
{
    for (; p && p->key; p++) {
        bool is_switch = p->type == TT_PARAM_BOOL && has_switches;

        for (int letter = 0; letter < 2; letter++) {
            if (letter ? !p->flag : only_letters)
                continue;
            printf("    '");
            if (letter)
                printf("%s", p->flag);
            else
                print_key(prefix, p->key);
            printf("%s[", is_switch || letter || !*tt__value_name(p) ? "" : "=");
            print_plain(p->text);
            putchar(']');
            print_value(p, is_switch);
            printf("'\n");
        }
    }
}

static void print_specs_of(const char *kind, const struct tt_component *c, void *context)
{
    char prefix[64];

    (void)kind;
    (void)context;
    prefix_of(c, prefix, sizeof prefix);
    print_specs(c->params, prefix, false, !*c->name);
}

static void print_zsh_command(const struct tt_command *c)
{
    printf("  %s) specs=(\n", c->name);
    if (c->options)
        print_specs(c->options->params, "", c->options->style == TT_OPTIONS_LETTERS, true);
    if (c->job && c->job != &tt_run_component)
        print_specs(c->job->params, prefix_of_job(c), false, true);
    printf("    )%s ;;\n", c->job == &tt_run_component ? "; specs+=($run)" : "");
}

static void print_zsh(void)
{
    printf("#compdef tutti\n_tutti() {\n  local -a commands run specs\n  commands=(\n");
    for (size_t i = 0; tt_commands[i]; i++)
        if (!tt_commands[i]->hidden) {
            printf("    '%s:", tt_commands[i]->name);
            print_plain(tt_commands[i]->summary);
            printf("'\n");
        }
    printf("    )\n  if ((CURRENT == 2)); then _describe command commands; return; fi\n  run=(\n");
    tt_each_component(print_specs_of, NULL);
    printf("    )\n  case $words[2] in\n");
    for (size_t i = 0; tt_commands[i]; i++)
        if (has_options(tt_commands[i]))
            print_zsh_command(tt_commands[i]);
    printf("  esac\n  shift words; ((CURRENT--))\n");
    printf("  if [[ $words[1] = run ]]; then\n    specs+=('*:workload or "
           "file:{_alternative \"workloads:workload:(");
    for (size_t i = 0; tt_workloads[i]; i++)
        printf("%s%s", i ? " " : "", tt_workloads[i]->name);
    printf(")\" \"files:file:_files\"}')\n  else\n    specs+=('*:file:_files')\n  fi\n"
           "  _arguments $specs\n}\n_tutti \"$@\"\n");
}

void tt__print_completion(enum tt__shell shell)
{
    if (shell == TT__SHELL_ZSH)
        print_zsh();
    else
        print_bash();
}
