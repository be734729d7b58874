/* Kernels from text: recursive descent over the grammar of kernel.h. */
#include "kernel_tree.h"

#include <cotangent/io.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *text, *at;
    int depth, nodes;
    ct_status status; /* the first error, at `place` */
    const char *place;
    char what[256];
} parser;

static kernel_node *sum(parser *p);

/* -- errors and tokens ----------------------------------------------------------------------------------- */

static CT_PRINTF(4, 5) void fail(parser *p, ct_status status, const char *place, const char *format, ...)
{
    if (p->status) return;
    va_list args;
    va_start(args, format);
    vsnprintf(p->what, sizeof p->what, format, args);
    va_end(args);
    p->status = status;
    p->place = place;
}

static void no_memory(parser *p) { fail(p, CT_ENOMEM, p->at, "out of memory"); }

static void skip_space(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
}

static bool accept(parser *p, char c)
{
    skip_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static void expect(parser *p, char c)
{
    if (!accept(p, c))
        fail(p, CT_EFORMAT, p->at, *p->at ? "expected \"%c\"" : "the text ends, expected \"%c\"", c);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A name, in lower case, into word[32]; "" where there is none. A longer one matches nothing. */
static const char *name(parser *p, char word[32])
{
    skip_space(p);
    const char *start = p->at;
    int n = 0;
    while (is_letter(*p->at) || (p->at > start && is_digit(*p->at))) {
        char c = *p->at++;
        if (n < 31) word[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    word[n] = 0;
    return start;
}

static int integer(parser *p, int limit, const char *what)
{
    skip_space(p);
    const char *start = p->at;
    int64_t value = 0;
    while (is_digit(*p->at)) {
        if (value <= INT_MAX) value = 10 * value + (*p->at - '0');
        p->at++;
    }
    if (p->at == start)
        fail(p, CT_EFORMAT, start, "expected %s, a whole number", what);
    else if (value > limit)
        fail(p, CT_EFORMAT, start, "%s is at most %d", what, limit);
    return p->status ? 0 : (int)value;
}

/* Reads digits [. digits] [e [+-] digits]; returns the first place after it, `text` where there is none. Of a
 * number of more than 200 characters the value is NaN. */
static const char *decimal(const char *text, double *value)
{
    const char *s = text;
    bool digits = is_digit(*s);
    while (is_digit(*s)) s++;
    if (*s == '.') s++;
    digits |= is_digit(*s);
    while (is_digit(*s)) s++;
    if (!digits) return text;
    if (*s == 'e' || *s == 'E') {
        const char *e = s + 1;
        if (*e == '+' || *e == '-') e++;
        if (is_digit(*e)) {
            while (is_digit(*e)) e++;
            s = e;
        }
    }
    *value = NAN;
    if (s - text <= 200) ct_number_read(text, (size_t)(s - text), value);
    return s;
}

/* A positive finite number, and whether "!" follows. */
static double number(parser *p, bool *fixed)
{
    skip_space(p);
    double value = 1;
    const char *end = decimal(p->at, &value);
    if (end == p->at)
        fail(p, CT_EFORMAT, p->at, "expected a positive number");
    else if (!(value > 0) || !isfinite(value))
        fail(p, CT_EFORMAT, p->at, "a parameter is positive and finite");
    p->at = end;
    *fixed = accept(p, '!');
    return value;
}

static void give(ct_param *param, double value, bool fixed)
{
    param->value = value;
    param->fixed = fixed;
    param->start_given = true;
}

/* -- options --------------------------------------------------------------------------------------------- */

static void dims(parser *p, kernel_node *n)
{
    int count = 0, room = 0;
    int *list = NULL;
    do {
        skip_space(p);
        const char *place = p->at;
        int d = integer(p, CT__KERNEL_MAX_DIMS - 1, "a column");
        for (int i = 0; i < count; i++) {
            if (list[i] == d) fail(p, CT_EFORMAT, place, "column %d twice", d);
        }
        if (count == CT__KERNEL_MAX_ACTIVE) fail(p, CT_EFORMAT, place, "more than %d columns", count);
        if (!p->status && count == room) {
            room = room ? 2 * room : 8;
            int *more = realloc(list, (size_t)room * sizeof *list);
            if (more)
                list = more;
            else
                no_memory(p);
        }
        if (!p->status) list[count++] = d;
    } while (!p->status && accept(p, ':'));
    free(n->dims);
    n->dims = list;
    n->n_dims = count;
}

/* value { ":" value }; several make as many lengthscales */
static void lengthscales(parser *p, kernel_node *n)
{
    int count = 0;
    do {
        skip_space(p);
        const char *place = p->at;
        bool fixed;
        double value = number(p, &fixed);
        if (count == CT__KERNEL_MAX_ACTIVE) fail(p, CT_EFORMAT, place, "more than %d lengthscales", count);
        if (p->status) return;
        /* room by doubling; the surplus is cut off below */
        if (count >= n->n_length && !ct__kernel_lengthscales(n, 2 * n->n_length)) no_memory(p);
        if (p->status) return;
        give(&n->param[count++], value, fixed);
    } while (accept(p, ':'));
    if (n->n_length != count && !ct__kernel_lengthscales(n, count)) no_memory(p);
}

static void option(parser *p, kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    char word[32];
    skip_space(p);
    bool variance = kind->extra && !strcmp(kind->extra, "variance");
    if (variance && (is_digit(*p->at) || *p->at == '.')) {
        bool fixed;
        double value = number(p, &fixed);
        if (!p->status) give(&n->param[0], value, fixed);
        return;
    }
    const char *place = name(p, word);
    if (!strcmp(word, "ard") && kind->lengthscales) {
        n->ard = true;
        return;
    }
    bool is_dims = !strcmp(word, "dims") && ct__kernel_looks(n);
    bool is_degree = !strcmp(word, "degree") && kind->degree;
    bool is_length = !strcmp(word, "lengthscale") && kind->lengthscales;
    bool is_extra = kind->extra && !strcmp(word, kind->extra);
    if (!is_dims && !is_degree && !is_length && !is_extra) {
        char extra[24];
        snprintf(extra, sizeof extra, "%s=", kind->extra ? kind->extra : "");
        char unknown[48];
        snprintf(unknown, sizeof unknown, *word ? "no option \"%s\"" : "expected an option", word);
        fail(p, CT_EFORMAT, place, "%s; %s takes%s%s%s%s%s", unknown, kind->text,
             kind->lengthscales ? " ard, lengthscale=" : "",
             ct__kernel_looks(n) ? kind->lengthscales ? ", dims=" : " dims=" : "",
             kind->degree ? ", degree=" : "", kind->extra ? ct__kernel_looks(n) ? ", " : " a number or " : "",
             kind->extra ? extra : "");
        return;
    }
    expect(p, '=');
    if (p->status) return;
    if (is_dims) {
        dims(p, n);
    } else if (is_length) {
        lengthscales(p, n);
    } else if (is_degree) {
        skip_space(p);
        place = p->at;
        n->degree = integer(p, CT__KERNEL_MAX_DEGREE, "a degree");
        if (n->degree < 1) fail(p, CT_EFORMAT, place, "a degree is at least 1");
    } else {
        bool fixed;
        double value = number(p, &fixed);
        if (!p->status) give(&n->param[n->n_length], value, fixed);
    }
}

static void options(parser *p, kernel_node *n)
{
    skip_space(p);
    const char *place = p->at;
    do option(p, n);
    while (!p->status && accept(p, ','));
    if (!p->status) expect(p, ')');
    if (p->status || n->n_length <= 1) return;
    if (!n->ard)
        fail(p, CT_EFORMAT, place, "%d lengthscales need ard", n->n_length);
    else if (n->dims && n->n_dims != n->n_length)
        fail(p, CT_EFORMAT, place, "%d lengthscales for %d columns", n->n_length, n->n_dims);
}

/* -- expressions ----------------------------------------------------------------------------------------- */

static kernel_node *new_node(parser *p, ct_cov_code code, const char *place)
{
    if (++p->nodes > CT__KERNEL_MAX_NODES) {
        fail(p, CT_EFORMAT, place, "more than %d terms and factors", CT__KERNEL_MAX_NODES);
        return NULL;
    }
    kernel_node *n = ct__kernel_node(code);
    if (!n) no_memory(p);
    return n;
}

static kernel_node *binary(parser *p, ct_cov_code code, kernel_node *a, kernel_node *b)
{
    kernel_node *n = p->status ? NULL : new_node(p, code, p->at);
    if (!n) {
        ct__kernel_node_free(a);
        ct__kernel_node_free(b);
        return NULL;
    }
    n->left = a;
    n->right = b;
    return n;
}

static void unknown_kernel(parser *p, const char *place, const char *word)
{
    char known[160] = "";
    size_t n = 0;
    for (int code = 0; code <= CT_COV_SCALE && n < sizeof known; code++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", code ? ", " : "",
                              ct__kernel_kinds[code].text);
    if (*word)
        fail(p, CT_EFORMAT, place, "no kernel \"%s\"; there are %s", word, known);
    else
        fail(p, CT_EFORMAT, place,
             *place ? "expected a kernel or \"(\"" : "the text ends where a kernel is expected");
}

/* A profile or "scale", with its options. */
static kernel_node *term(parser *p)
{
    char word[32];
    const char *place = name(p, word);
    int code = 0;
    while (code <= CT_COV_SCALE && strcmp(word, ct__kernel_kinds[code].text)) code++;
    if (code > CT_COV_SCALE) {
        unknown_kernel(p, place, word);
        return NULL;
    }
    kernel_node *n = new_node(p, (ct_cov_code)code, place);
    if (n && accept(p, '(')) options(p, n);
    return n;
}

static kernel_node *factor(parser *p)
{
    if (!accept(p, '(')) return term(p);
    const char *place = p->at - 1;
    if (++p->depth > CT__KERNEL_MAX_DEPTH) {
        fail(p, CT_EFORMAT, place, "more than %d parentheses deep", CT__KERNEL_MAX_DEPTH);
        return NULL;
    }
    kernel_node *n = sum(p);
    if (!p->status) expect(p, ')');
    p->depth--;
    return n;
}

/* Scales go outside, the first one outermost; the other factors associate to the left. */
static kernel_node *product(parser *p)
{
    kernel_node *outer = NULL, *inner = NULL, *rest = NULL;
    skip_space(p);
    const char *place = p->at;
    do {
        kernel_node *n = factor(p);
        if (n && n->code == CT_COV_SCALE && !n->right) {
            if (inner)
                inner->right = n;
            else
                outer = n;
            inner = n;
        } else if (n) {
            rest = rest ? binary(p, CT_COV_PRODUCT, rest, n) : n;
        }
    } while (!p->status && accept(p, '*'));
    if (!p->status && !rest) fail(p, CT_EFORMAT, place, "scale multiplies a kernel: scale * rbf");
    if (!inner) return rest;
    inner->right = rest;
    return outer;
}

static kernel_node *sum(parser *p)
{
    kernel_node *n = product(p);
    while (!p->status && accept(p, '+')) n = binary(p, CT_COV_SUM, n, product(p));
    return n;
}

/* -- the message ----------------------------------------------------------------------------------------- */

/* what, an excerpt of the text on one line, a caret under the place */
static void describe(const parser *p, ct_kernel *k)
{
    enum { BEFORE = 60, AFTER = 30 };
    size_t place = (size_t)(p->place - p->text);
    size_t from = place > BEFORE ? place - BEFORE : 0, n = 0;
    char excerpt[BEFORE + AFTER + 8];
    if (from) n = (size_t)snprintf(excerpt, sizeof excerpt, "...");
    size_t caret = n + place - from;
    const char *s = p->text + from;
    for (; *s && s < p->place + AFTER; s++)
        excerpt[n++] = *s > ' ' && *s < 127 ? *s : strchr(" \t\n\r", *s) ? ' ' : '?';
    excerpt[n] = 0;
    ct__kernel_poison(k, p->status, "kernel: %s\n  %s%s\n  %*s^", p->what, excerpt, *s ? "..." : "",
                      (int)caret, "");
}

ct_kernel *ct_kernel_parse(const char *text)
{
    parser p = { .text = text, .at = text, .place = text };
    kernel_node *root = NULL;
    if (text) {
        root = sum(&p);
        skip_space(&p);
        if (!p.status && *p.at) fail(&p, CT_EFORMAT, p.at, "expected \"+\", \"*\" or the end");
    }
    if (text && !p.status) return ct__kernel_new(root);
    ct__kernel_node_free(root);
    ct_kernel *k = ct__kernel_new(NULL);
    if (!k) return NULL;
    if (!text) return ct__kernel_poison(k, CT_EINVAL, "kernel: no text (NULL)");
    if (p.status == CT_ENOMEM) return ct__kernel_poison(k, p.status, "kernel: out of memory");
    describe(&p, k);
    return k;
}
