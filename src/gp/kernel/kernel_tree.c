/* Kernel trees and the object around one: nodes, the names of their parameters, errors. */
#include "kernel_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define PLAIN(CODE, name, text, lengthscales, extra, unit, geometry, tail, ...) \
    [CT_COV_##CODE] = { text, lengthscales, extra, unit, geometry, tail, 0 },
#define OF_DEGREE(CODE, name, text, lengthscales, extra, unit, geometry, tail, ...) \
    [CT_COV_##CODE] = { text, lengthscales, extra, unit, geometry, tail, 2 },
const kernel_kind ct__kernel_kinds[CT_COV_CODES] = {
    CT_PLAIN_PROFILES(PLAIN)
    CT_PROFILES_OF_DEGREE(OF_DEGREE)
    [CT_COV_CONSTANT] = { .text = "constant", .extra = "variance", .unit = CT_UNIT_VARIANCE },
    [CT_COV_WHITE] = { .text = "white", .extra = "variance", .unit = CT_UNIT_VARIANCE },
    [CT_COV_SCALE] = { .text = "scale", .extra = "variance", .unit = CT_UNIT_VARIANCE },
    [CT_COV_SUM] = { .text = "+" },
    [CT_COV_PRODUCT] = { .text = "*" },
};
#undef PLAIN
#undef OF_DEGREE
/* clang-format on */

/* -- nodes ----------------------------------------------------------------------------------------------- */

kernel_node *ct__kernel_node(ct_cov_code code)
{
    const kernel_kind *kind = &ct__kernel_kinds[code];
    kernel_node *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->code = code;
    n->degree = kind->degree;
    n->n_length = kind->lengthscales ? 1 : 0;
    n->n_param = n->n_length + (kind->extra ? 1 : 0);
    if (!n->n_param) return n;
    n->param = calloc((size_t)n->n_param, sizeof *n->param);
    if (!n->param) {
        free(n);
        return NULL;
    }
    for (int i = 0; i < n->n_param; i++) {
        n->param[i].value = 1;
        n->param[i].upper = INFINITY;
        n->param[i].column = -1;
    }
    return n;
}

void ct__kernel_node_free(kernel_node *n)
{
    if (!n) return;
    ct__kernel_node_free(n->left);
    ct__kernel_node_free(n->right);
    free(n->dims);
    free(n->param);
    free(n);
}

int ct__kernel_nodes(const kernel_node *n)
{
    return n ? 1 + ct__kernel_nodes(n->left) + ct__kernel_nodes(n->right) : 0;
}

bool ct__kernel_looks(const kernel_node *n) { return n->code < CT_COV_PROFILES; }

bool ct__kernel_lengthscales(kernel_node *n, int count)
{
    int extra = n->n_param - n->n_length;
    ct_param *p = calloc((size_t)count + 1, sizeof *p);
    if (!p) return false;
    for (int i = 0; i < count; i++) p[i] = n->param[i < n->n_length ? i : 0];
    if (extra) p[count] = n->param[n->n_length];
    free(n->param);
    n->param = p;
    n->n_length = count;
    n->n_param = count + extra;
    return true;
}

void ct__kernel_walk(kernel_node *n, void (*visit)(kernel_node *n, void *context), void *context)
{
    if (!n) return;
    visit(n, context);
    ct__kernel_walk(n->left, visit, context);
    ct__kernel_walk(n->right, visit, context);
}

/* -- names ----------------------------------------------------------------------------------------------- */

static void name_node(kernel_node *n, void *context)
{
    int *seen = context;
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    int number = ++seen[n->code];
    char prefix[32];
    if (number == 1)
        snprintf(prefix, sizeof prefix, "%s", kind->text);
    else
        snprintf(prefix, sizeof prefix, "%s#%d", kind->text, number);
    for (int i = 0; i < n->n_param; i++) {
        ct_param *p = &n->param[i];
        if (i >= n->n_length)
            snprintf(p->name, sizeof p->name, "%s.%s", prefix, kind->extra);
        else if (n->ard)
            snprintf(p->name, sizeof p->name, "%s.lengthscale[%d]", prefix,
                     n->dims && i < n->n_dims ? n->dims[i] : i);
        else
            snprintf(p->name, sizeof p->name, "%s.lengthscale", prefix);
    }
}

void ct__kernel_changed(ct_kernel *k)
{
    int seen[CT_COV_CODES] = { 0 };
    free(k->program);
    k->program = NULL;
    ct__kernel_walk(k->root, name_node, seen);
}

/* -- objects --------------------------------------------------------------------------------------------- */

static CT_PRINTF(2, 0) void set_message(ct_kernel *k, const char *format, va_list args)
{
    vsnprintf(k->message, sizeof k->message, format, args);
}

static void drop(ct_kernel *k)
{
    ct__kernel_node_free(k->root);
    free(k->program);
    k->root = NULL;
    k->program = NULL;
}

ct_kernel *ct__kernel_poison(ct_kernel *k, ct_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(k, format, args);
    va_end(args);
    k->status = status;
    drop(k);
    return k;
}

ct_status ct__kernel_refuse(ct_kernel *k, ct_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(k, format, args);
    va_end(args);
    return status;
}

ct_kernel *ct__kernel_new(kernel_node *root)
{
    ct_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        ct__kernel_node_free(root);
        return NULL;
    }
    k->root = root;
    if (!root) return ct__kernel_poison(k, CT_ENOMEM, "kernel: memory is exhausted");
    ct__kernel_changed(k);
    return k;
}

void ct_kernel_free(ct_kernel *k)
{
    if (!k) return;
    drop(k);
    free(k);
}

ct_status ct_kernel_status(const ct_kernel *k) { return k ? k->status : CT_ENOMEM; }

const char *ct_kernel_message(const ct_kernel *k)
{
    return k ? k->message : "kernel: NULL: memory was exhausted while it was built, or none was given";
}
