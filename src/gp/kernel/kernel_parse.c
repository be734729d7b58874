/* Kernels from text: recursive descent over the grammar of kernel.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

/* -- options --------------------------------------------------------------------------------------------- */

static void dims(ct__scan *p, kernel_node *n)
{
    int list[CT__KERNEL_MAX_ACTIVE], count = 0;
    do {
        const char *place = ct__scan_space(p);
        int d = ct__scan_column(p);
        for (int i = 0; i < count; i++)
            if (list[i] == d) ct__scan_fail(p, CT_EFORMAT, place, "column %d twice", d);
        if (count == CT__KERNEL_MAX_ACTIVE)
            ct__scan_fail(p, CT_EFORMAT, place, "more than %d columns", count);
        if (!p->status) list[count++] = d;
    } while (!p->status && ct__scan_accept(p, ':'));
    if (!p->status && !ct__kernel_dims(n, list, count)) ct__scan_no_memory(p);
}

/* value { ":" value }; each value is a lengthscale */
static void lengthscales(ct__scan *p, kernel_node *n)
{
    int count = 0;
    do {
        const char *place = ct__scan_space(p);
        if (count == CT__KERNEL_MAX_ACTIVE)
            ct__scan_fail(p, CT_EFORMAT, place, "more than %d lengthscales", count);
        /* capacity doubles; the surplus is cut off below */
        if (!p->status && count >= n->n_length && !ct__kernel_lengthscales(n, 2 * n->n_length))
            ct__scan_no_memory(p);
        if (!p->status) ct__scan_value(p, &n->param[count++]);
    } while (!p->status && ct__scan_accept(p, ':'));
    if (!p->status && n->n_length != count && !ct__kernel_lengthscales(n, count)) ct__scan_no_memory(p);
}

/* The rank or the levels of an index, which must precede its values. */
static void index_size(ct__scan *p, kernel_node *n, bool rank)
{
    const char *place = ct__scan_space(p);
    const int size = ct__scan_integer(p, CT_COV_MOST_LEVELS, rank ? "a rank" : "the number of levels");
    for (int i = 0; i < n->n_param; i++)
        if (n->param[i].start_given)
            ct__scan_fail(p, CT_EFORMAT, place, "rank= and levels= come before w= and kappa=");
    const char *fault = !rank && !size ? "the levels must be 1 to 512"
                                       : ct__kernel_levels_fault(rank ? 0 : size, rank ? size : 1);
    if (fault) ct__scan_fail(p, CT_EFORMAT, place, "%s", fault);
    if (p->status) return;
    if (rank) n->degree = size;
    if (!ct__kernel_levels(n, rank ? n->levels : size)) ct__scan_no_memory(p);
}

/* All values of an index's W or κ. */
static void index_values(ct__scan *p, kernel_node *n, bool W)
{
    const int of_W = n->levels * n->degree, count = W ? of_W : n->levels;
    const char *place = ct__scan_space(p);
    int i = 0;
    if (!count) ct__scan_fail(p, CT_EFORMAT, place, "levels= comes before w= and kappa=");
    do {
        if (i == count) ct__scan_fail(p, CT_EFORMAT, place, "more than %d values", count);
        if (!p->status) ct__scan_value(p, &n->param[W ? i++ : of_W + i++]);
    } while (!p->status && ct__scan_accept(p, ':'));
    if (i < count) ct__scan_fail(p, CT_EFORMAT, place, "%d of %d values", i, count);
}

/* False: an index has no such option. */
static bool index_option(ct__scan *p, kernel_node *n, const char *word)
{
    const bool rank = !strcmp(word, "rank"), W = !strcmp(word, "w");
    if (!rank && !W && strcmp(word, "levels") && strcmp(word, "kappa")) return false;
    ct__scan_expect(p, '=');
    if (rank || *word == 'l')
        index_size(p, n, rank);
    else
        index_values(p, n, W);
    return true;
}

static void option(ct__scan *p, kernel_node *n)
{
    const bool index = n->code == CT_COV_INDEX;
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    char word[32];
    ct__scan_space(p);
    bool variance = kind->extra && !strcmp(kind->extra, "variance");
    if (variance && (*p->at == '.' || ct__is_digit(*p->at))) {
        ct__scan_value(p, n->param);
        return;
    }
    const char *place = ct__scan_name(p, word);
    if (!strcmp(word, "ard") && kind->lengthscales) {
        n->ard = true;
        return;
    }
    if (index && index_option(p, n, word)) return;
    bool is_dims = !strcmp(word, "dims") && ct__kernel_looks(n);
    bool is_degree = !strcmp(word, "degree") && kind->degree && !index;
    bool is_length = !strcmp(word, "lengthscale") && kind->lengthscales;
    bool is_extra = kind->extra && !strcmp(word, kind->extra);
    if (!is_dims && !is_degree && !is_length && !is_extra) {
        const bool looks = ct__kernel_looks(n);
        ct__scan_fail(p, CT_EFORMAT, place, "%s%s%s; %s takes%s%s%s%s%s%s",
                      *word ? "no option \"" : "expected an option", word, *word ? "\"" : "", kind->text,
                      kind->lengthscales ? " ard, lengthscale=" : "",
                      looks ? kind->lengthscales ? ", dims=" : " dims=" : "",
                      index          ? ", rank=, levels=, w=, kappa="
                      : kind->degree ? ", degree="
                                     : "",
                      !kind->extra ? ""
                      : looks      ? ", "
                                   : " a number or ",
                      kind->extra ? kind->extra : "", kind->extra ? "=" : "");
        return;
    }
    ct__scan_expect(p, '=');
    if (is_dims) {
        dims(p, n);
    } else if (is_length) {
        lengthscales(p, n);
    } else if (is_degree) {
        place = ct__scan_space(p);
        n->degree = ct__scan_integer(p, CT__KERNEL_MAX_DEGREE, "a degree");
        if (n->degree < 1) ct__scan_fail(p, CT_EFORMAT, place, "a degree is at least 1");
    } else {
        ct__scan_value(p, &n->param[n->n_length]);
    }
}

static void options(ct__scan *p, kernel_node *n)
{
    const char *place = ct__scan_space(p);
    do option(p, n);
    while (!p->status && ct__scan_accept(p, ','));
    if (!p->status) ct__scan_expect(p, ')');
    if (n->code == CT_COV_INDEX && ct__kernel_levels_fault(n->levels, n->degree))
        ct__scan_fail(p, CT_EFORMAT, place, "%s", ct__kernel_levels_fault(n->levels, n->degree));
    if (n->code == CT_COV_INDEX && n->n_dims > 1)
        ct__scan_fail(p, CT_EFORMAT, place, "index reads one column, not %d", n->n_dims);
    if (p->status || n->n_length <= 1) return;
    if (!n->ard)
        ct__scan_fail(p, CT_EFORMAT, place, "%d lengthscales need ard", n->n_length);
    else if (n->dims && n->n_dims != n->n_length)
        ct__scan_fail(p, CT_EFORMAT, place, "%d lengthscales for %d columns", n->n_length, n->n_dims);
}

/* -- expressions ----------------------------------------------------------------------------------------- */

static void sum(ct__scan *p);

/* Inserts a node before node `at`; NULL if the text is wrong or memory is exhausted. */
static kernel_node *insert(ct__scan *p, int at, ct_cov_code code, const char *place)
{
    if (p->kernel->nodes == CT__KERNEL_MAX_NODES)
        ct__scan_fail(p, CT_EFORMAT, place, "more than %d terms and factors", CT__KERNEL_MAX_NODES);
    kernel_node *n = p->status ? NULL : ct__kernel_insert(p->kernel, at, code);
    if (!n) ct__scan_no_memory(p);
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

/* Reads a profile or "scale", with its options. True: it is a scale, inserted as node `front`. */
static bool term(ct__scan *p, int front)
{
    char word[32];
    const char *place = ct__scan_name(p, word);
    int code = 0;
    while (code <= CT_COV_SCALE && strcmp(word, ct__kernel_kinds[code].text)) code++;
    if (code > CT_COV_SCALE) {
        unknown_kernel(p, place, word);
        return false;
    }
    const bool scale = code == CT_COV_SCALE;
    kernel_node *n = insert(p, scale ? front : p->kernel->nodes, (ct_cov_code)code, place);
    if (n && ct__scan_accept(p, '(')) options(p, n);
    return scale;
}

/* Reads a term or a sum in parentheses; as term. */
static bool factor(ct__scan *p, int front)
{
    if (!ct__scan_accept(p, '(')) return term(p, front);
    if (++p->depth > CT__KERNEL_MAX_DEPTH)
        ct__scan_fail(p, CT_EFORMAT, p->at - 1, "more than %d parentheses deep", CT__KERNEL_MAX_DEPTH);
    else
        sum(p);
    if (!p->status) ct__scan_expect(p, ')');
    p->depth--;
    return false;
}

/* Scales become the outer nodes, the first one outermost; the other factors associate to the left. */
static void product(ct__scan *p)
{
    int front = p->kernel->nodes, others = 0; /* front: the position after the scales */
    const char *place = ct__scan_space(p);
    do {
        if (factor(p, front))
            front++;
        else if (others++)
            insert(p, front, CT_COV_PRODUCT, p->at);
    } while (!p->status && ct__scan_accept(p, '*'));
    if (!others) ct__scan_fail(p, CT_EFORMAT, place, "scale multiplies a kernel: scale * rbf");
}

static void sum(ct__scan *p)
{
    int first = p->kernel->nodes;
    product(p);
    while (!p->status && ct__scan_accept(p, '+')) {
        product(p);
        insert(p, first, CT_COV_SUM, p->at);
    }
}

ct_kernel *ct_kernel_parse(const char *text) { return ct_kernel_parse_named(text, NULL, 0); }

ct_kernel *ct_kernel_parse_named(const char *text, const ct_column *columns, int64_t n)
{
    ct_kernel *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    if (!text) return ct__kernel_changed(k, ct__kernel_refuse(k, CT_EINVAL, "kernel: no text (NULL)"));
    ct__scan p = { .kernel = k, .columns = columns, .n_columns = columns ? n : 0, .text = text, .at = text };
    sum(&p);
    if (*ct__scan_space(&p)) ct__scan_fail(&p, CT_EFORMAT, p.at, "expected \"+\", \"*\" or the end");
    return ct__kernel_changed(k, p.status ? ct__scan_describe(&p) : CT_OK);
}
