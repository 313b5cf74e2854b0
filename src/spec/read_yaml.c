/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML through libyaml's documents, in which anchors are resolved and every node knows its place.
 * Left out: tags and typed scalars. A value is text until a parameter table says what it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "spec/read.h"

/* An alias can make a small file describe an endless one, and libyaml's time grows with the square
 * of the depth, so nothing is left to it that nobody writes. */
#define MAX_DEPTH 16
#define MAX_NODES 10000
#define MAX_BYTES (1 << 20)

struct reader {
    const char *path;
    yaml_document_t *document;
    struct tt_settings *settings;
    char **workload;
    size_t nodes; /* visited so far */
    struct tt_error *e;
};

static int fail_at(struct reader *r, const yaml_node_t *node, const char *what, const char *word)
{
    return tt_fail(r->e, TT_USAGE, "%.200s:%zu:%zu: %s%s%.80s%s", r->path,
                   node->start_mark.line + 1, node->start_mark.column + 1, what, word ? " '" : "",
                   word ? word : "", word ? "'" : "");
}

static const char *scalar(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static int check_scalar(struct reader *r, const yaml_node_t *node, const char *what)
{
    if (node->type != YAML_SCALAR_NODE)
        return fail_at(r, node, what, NULL);
    if (strlen(scalar(node)) != node->data.scalar.length)
        return fail_at(r, node, "a NUL character is not allowed here", NULL);
    return TT_OK;
}

/* "a,b" of a sequence of scalars. */
static int join_sequence(struct reader *r, const yaml_node_t *node, char **out)
{
    size_t size = 1;

    r->nodes += (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (r->nodes > MAX_NODES)
        return fail_at(r, node, "too many values", NULL);
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        const yaml_node_t *item = yaml_document_get_node(r->document, *i);
        int rc = check_scalar(r, item, "a list may hold only plain values");

        if (rc)
            return rc;
        size += 2 * item->data.scalar.length + 1;
    }
    char *at = *out = malloc(size);

    if (!at)
        return tt_fail_nomem(r->e, r->path);
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        if (at != *out)
            *at++ = ',';
        for (const char *c = scalar(yaml_document_get_node(r->document, *i)); *c; c++) {
            if (*c == ',' || *c == '\\')
                *at++ = '\\';
            *at++ = *c;
        }
    }
    *at = '\0';
    return TT_OK;
}

static bool is_list_of_mappings(struct reader *r, const yaml_node_t *node)
{
    yaml_node_item_t *first = node->data.sequence.items.start;

    return first < node->data.sequence.items.top &&
           yaml_document_get_node(r->document, *first)->type == YAML_MAPPING_NODE;
}

static int add(struct reader *r, const yaml_node_t *key, const char *name, const char *value)
{
    char *place;
    int rc;

    if (asprintf(&place, "%s:%zu:%zu", r->path, key->start_mark.line + 1,
                 key->start_mark.column + 1) < 0)
        return tt_fail_nomem(r->e, r->path);
    rc = tt_settings_add(r->settings, name, value, place, r->e);
    free(place);
    return rc;
}

static int set_workload(struct reader *r, const yaml_node_t *value)
{
    int rc = check_scalar(r, value, "a workload is one word");

    if (rc)
        return rc;
    free(*r->workload); /* an earlier one came through "<<" */
    *r->workload = strdup(scalar(value));
    return *r->workload ? TT_OK : tt_fail_nomem(r->e, r->path);
}

static int read_mapping(struct reader *r, const yaml_node_t *node, const char *prefix, int depth);

/* "load: [{size: 1}, {size: 2}]" is load.0.size and load.1.size. */
static int read_list(struct reader *r, const yaml_node_t *node, const char *name, int depth)
{
    yaml_node_item_t *first = node->data.sequence.items.start;
    int rc = TT_OK;

    for (yaml_node_item_t *i = first; rc == TT_OK && i < node->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(r->document, *i);
        char *numbered = NULL;

        if (item->type != YAML_MAPPING_NODE)
            return fail_at(r, item, "expected a mapping, as the others in this list", NULL);
        if (asprintf(&numbered, "%s.%zu", name, (size_t)(i - first)) < 0)
            return tt_fail_nomem(r->e, r->path);
        rc = read_mapping(r, item, numbered, depth + 1);
        free(numbered);
    }
    return rc;
}

static int read_pair(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                     const char *prefix, int depth)
{
    char *name = NULL, *list = NULL;
    int rc;

    if (!*prefix && !strcmp(scalar(key), "workload"))
        return set_workload(r, value);
    if (asprintf(&name, "%s%s%s", prefix, *prefix ? "." : "", scalar(key)) < 0)
        return tt_fail_nomem(r->e, r->path);
    if (value->type == YAML_MAPPING_NODE) {
        rc = read_mapping(r, value, name, depth + 1);
    } else if (value->type == YAML_SEQUENCE_NODE && is_list_of_mappings(r, value)) {
        rc = read_list(r, value, name, depth + 1);
    } else if (value->type == YAML_SEQUENCE_NODE) {
        rc = join_sequence(r, value, &list);
        if (rc == TT_OK)
            rc = add(r, key, name, list);
    } else {
        rc = check_scalar(r, value, "expected a value");
        if (rc == TT_OK)
            rc = add(r, key, name, scalar(value));
    }
    free(name);
    free(list);
    return rc;
}

/* Keys are scalars, each given once. */
static int check_keys(struct reader *r, const yaml_node_t *node)
{
    yaml_node_pair_t *first = node->data.mapping.pairs.start, *top = node->data.mapping.pairs.top;

    for (yaml_node_pair_t *p = first; p < top; p++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
        int rc = check_scalar(r, key, "a key must be a plain word");

        if (rc)
            return rc;
        for (yaml_node_pair_t *q = first; q < p; q++)
            if (tt_same_key(scalar(yaml_document_get_node(r->document, q->key)), scalar(key)))
                return fail_at(r, key, "key given twice:", scalar(key));
    }
    return TT_OK;
}

static bool is_merge(const yaml_node_t *key)
{
    return !strcmp(scalar(key), "<<") && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* "<<: *base" or "<<: [*a, *b]", where the first of a list wins. */
static int read_merge(struct reader *r, const yaml_node_t *value, const char *prefix, int depth)
{
    int rc = TT_OK;

    if (value->type == YAML_MAPPING_NODE)
        return read_mapping(r, value, prefix, depth + 1);
    if (value->type != YAML_SEQUENCE_NODE)
        return fail_at(r, value, "'<<' takes a mapping or a list of mappings", NULL);
    for (yaml_node_item_t *i = value->data.sequence.items.top;
         rc == TT_OK && i-- > value->data.sequence.items.start;) {
        const yaml_node_t *item = yaml_document_get_node(r->document, *i);

        rc = item->type == YAML_MAPPING_NODE
                 ? read_mapping(r, item, prefix, depth + 1)
                 : fail_at(r, item, "'<<' takes a mapping or a list of mappings", NULL);
    }
    return rc;
}

/* Merged keys come first, since later settings win. */
static int read_mapping(struct reader *r, const yaml_node_t *node, const char *prefix, int depth)
{
    int rc;

    if (depth > MAX_DEPTH)
        return fail_at(r, node, "nested too deeply", NULL);
    r->nodes += (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start) + 1;
    if (r->nodes > MAX_NODES)
        return fail_at(r, node, "too many keys", NULL);
    rc = check_keys(r, node);
    for (int merge = 1; merge >= 0; merge--)
        for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
             rc == TT_OK && p < node->data.mapping.pairs.top; p++) {
            const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
            const yaml_node_t *value = yaml_document_get_node(r->document, p->value);

            if (is_merge(key) != merge)
                continue;
            rc = merge ? read_merge(r, value, prefix, depth)
                       : read_pair(r, key, value, prefix, depth);
        }
    return rc;
}

static int fail_parser(const char *path, const yaml_parser_t *p, struct tt_error *e)
{
    yaml_mark_t at = p->problem_mark;

    if (p->error == YAML_MEMORY_ERROR)
        return tt_fail_nomem(e, path);
    if (p->error == YAML_READER_ERROR)
        at = p->mark;
    return tt_fail(e, TT_USAGE, "%.200s:%zu:%zu: %s%s%s", path, at.line + 1, at.column + 1,
                   p->problem ? p->problem : "not YAML", p->context ? " " : "",
                   p->context ? p->context : "");
}

static int read_document(struct reader *r, yaml_parser_t *parser)
{
    yaml_document_t more;
    const yaml_node_t *root;
    int rc;

    root = yaml_document_get_root_node(r->document);
    if (!root)
        return tt_fail(r->e, TT_USAGE, "%.200s:1:1: the file is empty", r->path);
    if (root->type != YAML_MAPPING_NODE)
        return fail_at(r, root, "expected lines of 'key: value'", NULL);
    rc = read_mapping(r, root, "", 1);
    if (rc)
        return rc;
    if (!yaml_parser_load(parser, &more))
        return fail_parser(r->path, parser, r->e);
    root = yaml_document_get_root_node(&more);
    if (root)
        rc = fail_at(r, root, "only one document is allowed in a file", NULL);
    yaml_document_delete(&more);
    return rc;
}

static int start_parser(yaml_parser_t *parser, const char *path, const unsigned char *text,
                        size_t length, struct tt_error *e)
{
    if (!yaml_parser_initialize(parser))
        return tt_fail_nomem(e, path);
    yaml_parser_set_input_string(parser, text, length);
    return TT_OK;
}

/* Ends at the first thing that is wrong: what is wrong with the syntax is said later. */
static int check_depth(const char *path, const unsigned char *text, size_t length,
                       struct tt_error *e)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int depth = 0, rc = start_parser(&parser, path, text, length, e);
    bool more = rc == TT_OK;

    if (rc != TT_OK)
        return rc;
    while (more && yaml_parser_parse(&parser, &event)) {
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            depth++;
        else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
            depth--;
        if (depth > MAX_DEPTH)
            rc = tt_fail(e, TT_USAGE, "%.200s:%zu:%zu: nested too deeply", path,
                         event.start_mark.line + 1, event.start_mark.column + 1);
        more = rc == TT_OK && event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static int read_text(struct reader *r, const unsigned char *text, size_t length)
{
    yaml_document_t document;
    yaml_parser_t parser;
    int rc = check_depth(r->path, text, length, r->e);

    if (rc == TT_OK)
        rc = start_parser(&parser, r->path, text, length, r->e);
    if (rc != TT_OK)
        return rc;
    if (yaml_parser_load(&parser, &document)) {
        r->document = &document;
        rc = read_document(r, &parser);
        yaml_document_delete(&document);
    } else {
        rc = fail_parser(r->path, &parser, r->e);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static int read_file(struct reader *r, FILE *file)
{
    unsigned char *text = malloc(MAX_BYTES + 1);
    size_t length = text ? fread(text, 1, MAX_BYTES + 1, file) : 0;
    int rc;

    if (!text)
        return tt_fail_nomem(r->e, r->path);
    if (ferror(file))
        rc = tt_fail_call(r->e, errno, "read", r->path, -1);
    else if (length > MAX_BYTES)
        rc = tt_fail(r->e, TT_USAGE, "%.200s: is larger than any settings (1 MiB)", r->path);
    else
        rc = read_text(r, text, length);
    free(text);
    return rc;
}

int tt_read_yaml(const char *path, struct tt_settings *s, char **workload, struct tt_error *e)
{
    struct reader r = {.path = path, .settings = s, .workload = workload, .e = e};
    FILE *file = fopen(path, "re");
    int rc;

    *workload = NULL;
    if (!file)
        return tt_fail_call(e, errno, "open", path, -1);
    rc = read_file(&r, file);
    fclose(file);
    if (rc) {
        free(*workload);
        *workload = NULL;
    }
    return rc;
}
