/* Kernels to text: what kernel_parse.c reads back as the same tree. */
#include "kernel_tree.h"

#include <cotangent/io.h>

#include <stdio.h>
#include <string.h>

typedef struct printer {
    char *buffer;
    size_t size, length;
    bool values;
} printer;

static void put(printer *p, const char *text)
{
    size_t n = strlen(text);
    if (p->length < p->size) {
        size_t room = p->size - p->length - 1;
        size_t take = n < room ? n : room;
        memcpy(p->buffer + p->length, text, take);
        p->buffer[p->length + take] = 0;
    }
    p->length += n;
}

static void put_value(printer *p, const ct_param *param)
{
    char number[CT_NUMBER_TEXT];
    ct_number_write(param->value, 0, number);
    put(p, number);
    if (param->fixed) put(p, "!");
}

static void put_term(printer *p, const kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const char *separator = "(";
    char number[32];
    put(p, kind->text);
    if (n->ard) {
        put(p, separator);
        put(p, "ard");
        separator = ", ";
    }
    for (int i = 0; i < n->n_dims; i++) {
        snprintf(number, sizeof number, "%d", n->dims[i]);
        put(p, i ? ":" : separator);
        if (!i) put(p, "dims=");
        put(p, number);
        separator = ", ";
    }
    if (kind->degree) {
        snprintf(number, sizeof number, "degree=%d", n->degree);
        put(p, separator);
        put(p, number);
        separator = ", ";
    }
    for (int i = 0; p->values && i < n->n_param; i++) {
        bool length = i < n->n_length;
        put(p, length && i ? ":" : separator);
        if (!length && ct__kernel_looks(n)) {
            put(p, kind->extra);
            put(p, "=");
        } else if (length && !i) {
            put(p, "lengthscale=");
        }
        put_value(p, &n->param[i]);
        separator = ", ";
    }
    if (*separator == ',') put(p, ")");
}

static void put_tree(printer *p, const kernel_node *n, bool parentheses)
{
    if (parentheses) put(p, "(");
    const kernel_node *a = n->left, *b = n->right;
    switch (n->code) {
    case CT_COV_SUM:
        put_tree(p, a, false);
        put(p, " + ");
        put_tree(p, b, b->code == CT_COV_SUM);
        break;
    case CT_COV_PRODUCT:
        put_tree(p, a, a->code == CT_COV_SUM || a->code == CT_COV_SCALE);
        put(p, " * ");
        put_tree(p, b, b->code == CT_COV_SUM || b->code == CT_COV_SCALE || b->code == CT_COV_PRODUCT);
        break;
    case CT_COV_SCALE:
        put_term(p, n);
        put(p, " * ");
        put_tree(p, b, b->code == CT_COV_SUM);
        break;
    default: put_term(p, n);
    }
    if (parentheses) put(p, ")");
}

size_t ct_kernel_print(const ct_kernel *k, bool values, char *buffer, size_t size)
{
    printer p = { .buffer = buffer, .size = buffer ? size : 0, .values = values };
    if (p.size) buffer[0] = 0;
    if (k && k->root) put_tree(&p, k->root, false);
    return p.length;
}
