/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a limit of the slowdown allows: how many others, and on which of several systems. Functions
 * of answers alone, whoever made them. */
#include <stdio.h>

#include "analysis/slowdown.h"
#include "base/json.h"

/* ---- how many others are possible ---- */

/* The first step with so many others; NULL: they were not tested. */
static const json_t *step_with(const json_t *steps, json_int_t others)
{
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        if (tt_integer_of(step, "others") == others)
            return step;
    }
    return NULL;
}

/* Steps stand in the order of the file. */
static json_t *not_tested_json(const json_t *steps)
{
    json_t *list = json_array();
    json_int_t most = 0;
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        json_int_t others = tt_integer_of(step, "others");

        most = others > most ? others : most;
    }
    for (json_int_t k = 0; k < most && json_array_size(list) < 1000; k++)
        if (!step_with(steps, k))
            json_array_append_new(list, json_integer(k));
    return list;
}

enum reach { WITHIN, UNDECIDED, BEYOND };

static enum reach reach_of(const json_t *step, double limit)
{
    const json_t *slowdown = json_object_get(step, "slowdown");
    const json_t *low = json_object_get(slowdown, "low"), *high = json_object_get(slowdown, "high");

    if (tt_integer_of(step, "others") == 0 ||
        (json_is_number(high) && json_number_value(high) <= limit))
        return WITHIN;
    return json_is_number(low) && json_number_value(low) > limit ? BEYOND : UNDECIDED;
}

/* So many others are possible only if they are for every reference and every kind of load. */
static enum reach reach_with(const json_t *steps, json_int_t others, double limit)
{
    enum reach worst = WITHIN;
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        enum reach one = tt_integer_of(step, "others") == others ? reach_of(step, limit) : WITHIN;

        worst = one > worst ? one : worst;
    }
    return worst;
}

static bool holds(const json_t *list, json_int_t number)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_integer_value(one) == number)
            return true;
    }
    return false;
}

int tt_slowdown_limit(const json_t *steps, double limit, json_t **out, struct tt_error *e)
{
    json_t *undecided = json_array(), *not_tested = not_tested_json(steps);
    json_int_t largest = -1;
    const json_t *step;
    char text[400];
    size_t i;

    json_array_foreach(steps, i, step)
    {
        json_int_t others = tt_integer_of(step, "others");
        enum reach reach = reach_with(steps, others, limit);

        if (reach == WITHIN && others > largest)
            largest = others;
        if (reach == UNDECIDED && !holds(undecided, others))
            json_array_append_new(undecided, json_integer(others));
    }
    snprintf(text, sizeof text,
             "largest tested number of others with a slowdown of at most %.3g: %lld", limit,
             (long long)largest);
    *out = json_pack("{s:f, s:I, s:o, s:o, s:s}", "limit", limit, "largest", largest, "not_tested",
                     not_tested, "undecided", undecided, "text", text);
    return *out ? TT_OK : tt_fail_nomem(e, "the limit");
}

/* ---- which system suffices ---- */

/* The largest number of others that every answer has; 0 if there is none but that. */
static json_int_t largest_common(const json_t *answers)
{
    const json_t *answer, *step;
    json_int_t largest = 0;
    size_t i, k;

    json_array_foreach(json_object_get(json_array_get(answers, 0), "steps"), i, step)
    {
        json_int_t others = tt_integer_of(step, "others");
        bool everywhere = true;

        json_array_foreach(answers, k, answer) everywhere &=
            step_with(json_object_get(answer, "steps"), others) != NULL;
        if (everywhere && others > largest)
            largest = others;
    }
    return largest;
}

static json_t *system_json(const json_t *answer, json_int_t others, double limit)
{
    static const char *const verdicts[] = {
        [WITHIN] = "suffices", [UNDECIDED] = "cannot tell", [BEYOND] = "does not suffice"};
    const json_t *slowdown =
        json_object_get(step_with(json_object_get(answer, "steps"), others), "slowdown");
    const char *text = tt_text_of(slowdown, "text");
    enum reach reach = reach_with(json_object_get(answer, "steps"), others, limit);

    if (others == 0) { /* which says nothing about a system */
        reach = UNDECIDED;
        text = "no number of others was tested on all systems";
    }
    return json_pack("{s:O?, s:O?, s:I, s:s, s:s}", "id", json_object_get(answer, "id"), "label",
                     json_object_get(answer, "label"), "others", others, "verdict", verdicts[reach],
                     "text", *text ? text : "not measured");
}

int tt_slowdown_suffices(const json_t *answers, double limit, json_t **out, struct tt_error *e)
{
    json_int_t others = largest_common(answers);
    const json_t *answer;
    size_t i;

    *out = json_array();
    json_array_foreach(answers, i, answer)
        json_array_append_new(*out, system_json(answer, others, limit));
    return *out ? TT_OK : tt_fail_nomem(e, "the systems");
}
