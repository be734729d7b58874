/* Kernels from text: recursive descent over the grammar of kernel.h. */
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "text.h"

/* -- options --------------------------------------------------------------------------------------------- */

/* Passes the name here, in quotes or up to ":", "," or ")"; returns its end. */
static const char *pass_name(ct__scan *p)
{
    const char *place = p->at, *end;
    if (*place == '"') {
        p->at = ct__scan_behind_quotes(place);
        if (p->at == place) ct__scan_fail(p, CT_EFORMAT, place, "a quote is opened here and never closed");
        return p->at;
    }
    p->at += strcspn(p->at, ":,)");
    for (end = p->at; end > place && strchr(" \t\r\n", end[-1]);) end--;
    return end;
}

/* Reads a column of the inputs, as a number or a name. */
static int column(ct__scan *p)
{
    const char *place = ct__scan_space(p);
    const bool number = !p->n_columns || ct__is_digit(*place);
    const int64_t i = number ? ct__scan_integer(p, CT__KERNEL_MAX_DIMS - 1, "a column")
                             : ct__scan_find_column(p, place, pass_name(p));
    if (i < 0 || (p->n_columns && i >= p->n_columns)) ct__scan_no_column(p, place);
    if (i >= CT__KERNEL_MAX_DIMS)
        ct__scan_fail(p, CT_EFORMAT, place, "a column is at most %d", CT__KERNEL_MAX_DIMS - 1);
    return p->status ? 0 : (int)i;
}

static void dims(ct__scan *p, kernel_node *n)
{
    int list[CT__KERNEL_MAX_ACTIVE], count = 0;
    do {
        const char *place = ct__scan_space(p);
        int d = column(p);
        for (int i = 0; i < count; i++)
            if (list[i] == d) ct__scan_fail(p, CT_EFORMAT, place, "column %d twice", d);
        if (count == CT__KERNEL_MAX_ACTIVE)
            ct__scan_fail(p, CT_EFORMAT, place, "more than %d columns", count);
        if (!p->status) list[count++] = d;
    } while (!p->status && ct__scan_accept(p, ':'));
    if (!p->status && !ct__kernel_dims(n, list, count)) ct__scan_no_memory(p);
}

static void ard(ct__scan *p, kernel_node *n)
{
    (void)p;
    n->ard = true;
}

static void degree(ct__scan *p, kernel_node *n)
{
    const char *place = ct__scan_space(p);
    n->degree = ct__scan_integer(p, CT__KERNEL_MAX_DEGREE, "a degree");
    if (n->degree < 1) ct__scan_fail(p, CT_EFORMAT, place, "a degree is at least 1");
}

/* value { ":" value }, `count` of them. */
static void values(ct__scan *p, ct_param *param, int count)
{
    const char *place = ct__scan_space(p);
    int i = 0;
    do {
        if (i == count) ct__scan_fail(p, CT_EFORMAT, place, "more than %d values", count);
        if (!p->status) ct__scan_value(p, &param[i++]);
    } while (!p->status && ct__scan_accept(p, ':'));
    if (i < count) ct__scan_fail(p, CT_EFORMAT, place, "%d of %d values", i, count);
}

static void extra(ct__scan *p, kernel_node *n) { ct__scan_value(p, &n->param[n->n_length]); }

static void lengthscales(ct__scan *p, kernel_node *n)
{
    int count = 1;
    for (const char *c = ct__scan_space(p); *c && *c != ',' && *c != ')'; c++) count += *c == ':';
    if (count > CT__KERNEL_MAX_ACTIVE)
        ct__scan_fail(p, CT_EFORMAT, p->at, "more than %d lengthscales", CT__KERNEL_MAX_ACTIVE);
    else if (count != n->n_length && !ct__kernel_lengthscales(n, count))
        ct__scan_no_memory(p);
    values(p, n->param, count);
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

static void rank(ct__scan *p, kernel_node *n) { index_size(p, n, true); }
static void levels(ct__scan *p, kernel_node *n) { index_size(p, n, false); }

static void index_values(ct__scan *p, kernel_node *n, int first, int count)
{
    if (!count) ct__scan_fail(p, CT_EFORMAT, ct__scan_space(p), "levels= comes before w= and kappa=");
    values(p, n->param + first, count);
}

static void w(ct__scan *p, kernel_node *n) { index_values(p, n, 0, n->levels * n->degree); }
static void kappa(ct__scan *p, kernel_node *n) { index_values(p, n, n->levels * n->degree, n->levels); }

/* Which kernels take an option. */
enum { LENGTHS = 1, COLUMNS = 2, OF_DEGREE = 4, OF_LEVELS = 8, EXTRA = 16 };

static unsigned takes(const kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const bool index = n->code == CT_COV_INDEX;
    return (kind->lengthscales ? LENGTHS : 0u) | (ct__kernel_reads_inputs(n) ? COLUMNS : 0u) |
           (index          ? OF_LEVELS
            : kind->degree ? OF_DEGREE
                           : 0u) |
           (kind->extra ? EXTRA : 0u);
}

static const struct option {
    const char *word; /* NULL: the name of the extra parameter */
    const char *sign; /* "=" if a value follows */
    unsigned taken;
    void (*read)(ct__scan *p, kernel_node *n);
} table[] = {
    { "ard", "", LENGTHS, ard },          { "lengthscale", "=", LENGTHS, lengthscales },
    { "dims", "=", COLUMNS, dims },       { "rank", "=", OF_LEVELS, rank },
    { "levels", "=", OF_LEVELS, levels }, { "w", "=", OF_LEVELS, w },
    { "kappa", "=", OF_LEVELS, kappa },   { "degree", "=", OF_DEGREE, degree },
    { NULL, "=", EXTRA, extra },
};
enum { OPTIONS = sizeof table / sizeof *table };

static const char *word_of(const struct option *o, const kernel_node *n)
{
    return o->word ? o->word : ct__kernel_kinds[n->code].extra;
}

static void no_option(ct__scan *p, const kernel_node *n, const char *place, const char *word)
{
    char list[160];
    ct__text t = { list, sizeof list, 0 };
    if (!ct__kernel_reads_inputs(n)) ct__text_add(&t, "a number or ");
    for (const struct option *o = table; o < table + OPTIONS; o++)
        if (takes(n) & o->taken)
            ct__text_add(&t, "%s%s%s", t.length && ct__kernel_reads_inputs(n) ? ", " : "", word_of(o, n),
                         o->sign);
    ct__scan_fail(p, CT_EFORMAT, place, "%s%s%s; %s takes %s", *word ? "no option \"" : "expected an option",
                  word, *word ? "\"" : "", ct__kernel_kinds[n->code].text, list);
}

static void option(ct__scan *p, kernel_node *n)
{
    char word[32];
    ct__scan_space(p);
    if (!ct__kernel_reads_inputs(n) && (*p->at == '.' || ct__is_digit(*p->at))) {
        extra(p, n);
        return;
    }
    const char *place = ct__scan_name(p, word);
    const struct option *o = table, *end = table + OPTIONS;
    while (o < end && !((takes(n) & o->taken) && !strcmp(word, word_of(o, n)))) o++;
    if (o == end) {
        no_option(p, n, place, word);
        return;
    }
    if (*o->sign) ct__scan_expect(p, '=');
    o->read(p, n);
}

static void options(ct__scan *p, kernel_node *n)
{
    const char *place = ct__scan_space(p);
    do option(p, n);
    while (!p->status && ct__scan_accept(p, ','));
    if (!p->status) ct__scan_expect(p, ')');
    const char *fault = n->code == CT_COV_INDEX ? ct__kernel_levels_fault(n->levels, n->degree) : NULL;
    if (fault) ct__scan_fail(p, CT_EFORMAT, place, "%s", fault);
    if (n->code == CT_COV_INDEX && n->n_dims > 1)
        ct__scan_fail(p, CT_EFORMAT, place, "index reads one column, not %d", n->n_dims);
    if (n->n_length > 1 && !n->ard)
        ct__scan_fail(p, CT_EFORMAT, place, "%d lengthscales need ard", n->n_length);
    if (n->n_length > 1 && n->dims && n->n_dims != n->n_length)
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

/* Reads a profile or "scale", with its options. True: it is a scale, inserted as node `front`. */
static bool term(ct__scan *p, int front)
{
    char word[32];
    const char *place = ct__scan_name(p, word);
    int code = 0;
    while (code <= CT_COV_SCALE && strcmp(word, ct__kernel_kinds[code].text)) code++;
    if (code > CT_COV_SCALE) {
        ct__scan_no_kernel(p, place, word);
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

/* Sets the kernel's message, to three lines if the text is at fault. Returns the status. */
static ct_status describe(const ct__scan *p)
{
    char text[512];
    if (p->status == CT_ENOMEM) return ct__kernel_refuse(p->kernel, p->status, "kernel: %s", p->what);
    ct__scan_message(p, "kernel", text, sizeof text);
    return ct__kernel_refuse(p->kernel, p->status, "%s", text);
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
    return ct__kernel_changed(k, p.status ? describe(&p) : CT_OK);
}
