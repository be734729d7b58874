/* Kernels from text: recursive descent over the grammar of kernel.h. */
#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kernel_node *sum(ct__scan *p);

/* A parameter's value, and whether it is fixed. */
static void value(ct__scan *p, ct_param *param)
{
    bool fixed;
    double v = ct__scan_number(p, &fixed);
    if (p->status) return;
    param->value = v;
    param->fixed = fixed;
    param->start_given = true;
}

/* -- options --------------------------------------------------------------------------------------------- */

static void dims(ct__scan *p, kernel_node *n)
{
    int count = 0, room = 0;
    int *list = NULL;
    do {
        const char *place = ct__scan_space(p);
        int d = ct__scan_integer(p, CT__KERNEL_MAX_DIMS - 1, "a column");
        for (int i = 0; i < count; i++) {
            if (list[i] == d) ct__scan_fail(p, CT_EFORMAT, place, "column %d twice", d);
        }
        if (count == CT__KERNEL_MAX_ACTIVE)
            ct__scan_fail(p, CT_EFORMAT, place, "more than %d columns", count);
        if (!p->status && count == room) {
            room = room ? 2 * room : 8;
            int *more = realloc(list, (size_t)room * sizeof *list);
            if (more)
                list = more;
            else
                ct__scan_no_memory(p);
        }
        if (!p->status) list[count++] = d;
    } while (!p->status && ct__scan_accept(p, ':'));
    free(n->dims);
    n->dims = list;
    n->n_dims = count;
}

/* value { ":" value }; several make as many lengthscales */
static void lengthscales(ct__scan *p, kernel_node *n)
{
    int count = 0;
    do {
        const char *place = ct__scan_space(p);
        if (count == CT__KERNEL_MAX_ACTIVE)
            ct__scan_fail(p, CT_EFORMAT, place, "more than %d lengthscales", count);
        /* room by doubling; the surplus is cut off below */
        if (!p->status && count >= n->n_length && !ct__kernel_lengthscales(n, 2 * n->n_length))
            ct__scan_no_memory(p);
        if (!p->status) value(p, &n->param[count++]);
    } while (!p->status && ct__scan_accept(p, ':'));
    if (!p->status && n->n_length != count && !ct__kernel_lengthscales(n, count)) ct__scan_no_memory(p);
}

static void option(ct__scan *p, kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    char word[32];
    ct__scan_space(p);
    bool variance = kind->extra && !strcmp(kind->extra, "variance");
    if (variance && (*p->at == '.' || (*p->at >= '0' && *p->at <= '9'))) {
        value(p, &n->param[0]);
        return;
    }
    const char *place = ct__scan_name(p, word);
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
        ct__scan_fail(p, CT_EFORMAT, place, "%s; %s takes%s%s%s%s%s", unknown, kind->text,
                      kind->lengthscales ? " ard, lengthscale=" : "",
                      ct__kernel_looks(n) ? kind->lengthscales ? ", dims=" : " dims=" : "",
                      kind->degree ? ", degree=" : "",
                      kind->extra ? ct__kernel_looks(n) ? ", " : " a number or " : "",
                      kind->extra ? extra : "");
        return;
    }
    ct__scan_expect(p, '=');
    if (p->status) return;
    if (is_dims) {
        dims(p, n);
    } else if (is_length) {
        lengthscales(p, n);
    } else if (is_degree) {
        place = ct__scan_space(p);
        n->degree = ct__scan_integer(p, CT__KERNEL_MAX_DEGREE, "a degree");
        if (n->degree < 1) ct__scan_fail(p, CT_EFORMAT, place, "a degree is at least 1");
    } else {
        value(p, &n->param[n->n_length]);
    }
}

static void options(ct__scan *p, kernel_node *n)
{
    const char *place = ct__scan_space(p);
    do option(p, n);
    while (!p->status && ct__scan_accept(p, ','));
    if (!p->status) ct__scan_expect(p, ')');
    if (p->status || n->n_length <= 1) return;
    if (!n->ard)
        ct__scan_fail(p, CT_EFORMAT, place, "%d lengthscales need ard", n->n_length);
    else if (n->dims && n->n_dims != n->n_length)
        ct__scan_fail(p, CT_EFORMAT, place, "%d lengthscales for %d columns", n->n_length, n->n_dims);
}

/* -- expressions ----------------------------------------------------------------------------------------- */

static kernel_node *new_node(ct__scan *p, ct_cov_code code, const char *place)
{
    if (++p->nodes > CT__KERNEL_MAX_NODES) {
        ct__scan_fail(p, CT_EFORMAT, place, "more than %d terms and factors", CT__KERNEL_MAX_NODES);
        return NULL;
    }
    kernel_node *n = ct__kernel_node(code);
    if (!n) ct__scan_no_memory(p);
    return n;
}

static kernel_node *binary(ct__scan *p, ct_cov_code code, kernel_node *a, kernel_node *b)
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

static void unknown_kernel(ct__scan *p, const char *place, const char *word)
{
    char known[160] = "";
    size_t n = 0;
    for (int code = 0; code <= CT_COV_SCALE && n < sizeof known; code++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", code ? ", " : "",
                              ct__kernel_kinds[code].text);
    if (*word)
        ct__scan_fail(p, CT_EFORMAT, place, "no kernel \"%s\"; there are %s", word, known);
    else
        ct__scan_fail(p, CT_EFORMAT, place,
                      *place ? "expected a kernel or \"(\"" : "the text ends where a kernel is expected");
}

/* A profile or "scale", with its options. */
static kernel_node *term(ct__scan *p)
{
    char word[32];
    const char *place = ct__scan_name(p, word);
    int code = 0;
    while (code <= CT_COV_SCALE && strcmp(word, ct__kernel_kinds[code].text)) code++;
    if (code > CT_COV_SCALE) {
        unknown_kernel(p, place, word);
        return NULL;
    }
    kernel_node *n = new_node(p, (ct_cov_code)code, place);
    if (n && ct__scan_accept(p, '(')) options(p, n);
    return n;
}

static kernel_node *factor(ct__scan *p)
{
    if (!ct__scan_accept(p, '(')) return term(p);
    const char *place = p->at - 1;
    if (++p->depth > CT__KERNEL_MAX_DEPTH) {
        ct__scan_fail(p, CT_EFORMAT, place, "more than %d parentheses deep", CT__KERNEL_MAX_DEPTH);
        return NULL;
    }
    kernel_node *n = sum(p);
    if (!p->status) ct__scan_expect(p, ')');
    p->depth--;
    return n;
}

/* Scales go outside, the first one outermost; the other factors associate to the left. */
static kernel_node *product(ct__scan *p)
{
    kernel_node *outer = NULL, *inner = NULL, *rest = NULL;
    const char *place = ct__scan_space(p);
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
    } while (!p->status && ct__scan_accept(p, '*'));
    if (!p->status && !rest) ct__scan_fail(p, CT_EFORMAT, place, "scale multiplies a kernel: scale * rbf");
    if (!inner) return rest;
    inner->right = rest;
    return outer;
}

static kernel_node *sum(ct__scan *p)
{
    kernel_node *n = product(p);
    while (!p->status && ct__scan_accept(p, '+')) n = binary(p, CT_COV_SUM, n, product(p));
    return n;
}

ct_kernel *ct_kernel_parse(const char *text)
{
    ct__scan p = { .text = text, .at = text, .place = text };
    kernel_node *root = NULL;
    if (text) {
        root = sum(&p);
        ct__scan_space(&p);
        if (!p.status && *p.at) ct__scan_fail(&p, CT_EFORMAT, p.at, "expected \"+\", \"*\" or the end");
    }
    if (text && !p.status) return ct__kernel_new(root);
    ct__kernel_node_free(root);
    ct_kernel *k = ct__kernel_new(NULL);
    if (!k) return NULL;
    if (!text) return ct__kernel_poison(k, CT_EINVAL, "kernel: no text (NULL)");
    if (p.status == CT_ENOMEM) return ct__kernel_poison(k, p.status, "kernel: out of memory");
    ct__scan_describe(&p, k);
    return k;
}
