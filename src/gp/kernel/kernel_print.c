/* Kernels to text that kernel_parse.c reads back as the same tree. */
#include "kernel_tree.h"
#include "text.h"

#include <cotangent/gp/number.h>

/* One value, the first of a list with the list's name. */
static void add_value(ct__text *t, const kernel_node *n, int i, const char *separator)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const bool index = n->code == CT_COV_INDEX,
               first = !i || i == (index ? n->levels * n->degree : n->n_length);
    const char *list = index ? (i ? "kappa" : "w") : i < n->n_length ? "lengthscale" : kind->extra;
    char number[CT_NUMBER_TEXT];
    ct_number_write(n->param[i].value, 0, number);
    ct__text_add(t, "%s", first ? separator : ":");
    if (first && ct__kernel_reads_inputs(n)) ct__text_add(t, "%s=", list);
    ct__text_add(t, "%s%s", number, n->param[i].fixed ? "!" : "");
}

static void add_term(ct__text *t, const kernel_node *n, bool values)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    ct__text_add(t, "%s", kind->text);
    const size_t bare = t->length;
    if (n->ard) ct__text_add(t, "(ard");
    for (int i = 0; i < n->n_dims; i++)
        ct__text_add(t, "%s%s%d", i ? ":" : t->length > bare ? ", " : "(", i ? "" : "dims=", n->dims[i]);
    if (kind->degree)
        ct__text_add(t, "%s%s=%d", t->length > bare ? ", " : "(", n->code == CT_COV_INDEX ? "rank" : "degree",
                     n->degree);
    if (n->levels) ct__text_add(t, ", levels=%d", n->levels);
    for (int i = 0; i < n->n_param && values; i++) add_value(t, n, i, t->length > bare ? ", " : "(");
    if (t->length > bare) ct__text_add(t, ")");
}

static void add_tree(ct__text *t, const kernel_node *n, bool values, bool parentheses)
{
    const bool product = n->code == CT_COV_PRODUCT;
    const int operands = ct__kernel_kinds[n->code].operands;
    if (parentheses) ct__text_add(t, "(");
    if (operands < 2)
        add_term(t, n, values);
    else
        add_tree(t, n + 1, values, product && (n[1].code == CT_COV_SUM || n[1].code == CT_COV_SCALE));
    if (operands) {
        const kernel_node *b = ct__kernel_right(n);
        bool inner = b->code == CT_COV_SUM || (product && ct__kernel_kinds[b->code].operands);
        ct__text_add(t, n->code == CT_COV_SUM ? " + " : " * ");
        add_tree(t, b, values, inner);
    }
    if (parentheses) ct__text_add(t, ")");
}

size_t ct_kernel_print(const ct_kernel *k, bool values, char *buffer, size_t size)
{
    ct__text t = { buffer, buffer ? size : 0, 0 };
    if (t.size) buffer[0] = 0;
    if (k && k->nodes) add_tree(&t, k->node, values, false);
    return t.length;
}
