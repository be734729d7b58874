/* Kernels to text that kernel_parse.c reads back as the same tree. */
#include "kernel_tree.h"

#include <cotangent/gp/number.h>

#include <stdio.h>

typedef struct printer {
    char *buffer;
    size_t size, length;
    bool values;
} printer;

static CT_PRINTF(2, 3) void put(printer *p, const char *format, ...)
{
    size_t room = p->length < p->size ? p->size - p->length : 0;
    va_list args;
    va_start(args, format);
    p->length += (size_t)vsnprintf(room ? p->buffer + p->length : NULL, room, format, args);
    va_end(args);
}

static void put_term(printer *p, const kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const char *separator = "(";
    put(p, "%s", kind->text);
    if (n->ard) {
        put(p, "(ard");
        separator = ", ";
    }
    for (int i = 0; i < n->n_dims; i++) {
        put(p, "%s%s%d", i ? ":" : separator, i ? "" : "dims=", n->dims[i]);
        separator = ", ";
    }
    const bool index = n->code == CT_COV_INDEX;
    if (kind->degree) {
        put(p, "%s%s=%d", separator, index ? "rank" : "degree", n->degree);
        separator = ", ";
    }
    if (n->levels) put(p, ", levels=%d", n->levels);
    for (int i = 0; p->values && i < n->n_param; i++) {
        /* only the first value of a list is named */
        const bool length = i < n->n_length, first = !i || i == (index ? n->levels * n->degree : n->n_length);
        const char *list = !index ? length ? "lengthscale" : kind->extra : i ? "kappa" : "w";
        char number[CT_NUMBER_TEXT];
        ct_number_write(n->param[i].value, 0, number);
        put(p, "%s", first ? separator : ":");
        if (first && ct__kernel_looks(n)) put(p, "%s=", list);
        put(p, "%s%s", number, n->param[i].fixed ? "!" : "");
        separator = ", ";
    }
    if (*separator == ',') put(p, ")");
}

static void put_tree(printer *p, const kernel_node *n, bool parentheses)
{
    const bool product = n->code == CT_COV_PRODUCT;
    const int operands = ct__kernel_kinds[n->code].operands;
    if (parentheses) put(p, "(");
    if (operands < 2)
        put_term(p, n);
    else
        put_tree(p, n + 1, product && (n[1].code == CT_COV_SUM || n[1].code == CT_COV_SCALE));
    if (operands) {
        const kernel_node *b = ct__kernel_right(n);
        bool inner = b->code == CT_COV_SUM || (product && ct__kernel_kinds[b->code].operands);
        put(p, n->code == CT_COV_SUM ? " + " : " * ");
        put_tree(p, b, inner);
    }
    if (parentheses) put(p, ")");
}

size_t ct_kernel_print(const ct_kernel *k, bool values, char *buffer, size_t size)
{
    printer p = { .buffer = buffer, .size = buffer ? size : 0, .values = values };
    if (p.size) buffer[0] = 0;
    if (k && k->nodes) put_tree(&p, k->node, false);
    return p.length;
}
