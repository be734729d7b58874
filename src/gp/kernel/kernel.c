/* Kernels from kernels: profiles, combinations, copies. */
#include "kernel_tree.h"

#include <stdlib.h>
#include <string.h>

/* -- copies ---------------------------------------------------------------------------------------------- */

/* A copy of a block; NULL also for nothing. */
static void *duplicate(const void *data, size_t bytes)
{
    void *copy = data && bytes ? malloc(bytes) : NULL;
    if (copy) memcpy(copy, data, bytes);
    return copy;
}

static kernel_node *node_copy(const kernel_node *n)
{
    kernel_node *copy = duplicate(n, sizeof *n);
    if (!copy) return NULL;
    copy->left = n->left ? node_copy(n->left) : NULL;
    copy->right = n->right ? node_copy(n->right) : NULL;
    copy->dims = duplicate(n->dims, (size_t)n->n_dims * sizeof *n->dims);
    copy->param = duplicate(n->param, (size_t)n->n_param * sizeof *n->param);
    if ((n->left && !copy->left) || (n->right && !copy->right) || (n->dims && !copy->dims) ||
        (n->param && !copy->param)) {
        ct__kernel_node_free(copy);
        return NULL;
    }
    return copy;
}

ct_kernel *ct_kernel_copy(const ct_kernel *k)
{
    if (!k) return NULL;
    ct_kernel *copy = calloc(1, sizeof *copy);
    if (!copy) return NULL;
    copy->status = k->status;
    memcpy(copy->message, k->message, sizeof copy->message);
    if (k->status) return copy;
    copy->root = node_copy(k->root);
    copy->program = k->program ? duplicate(k->program, (size_t)k->program->bytes) : NULL;
    if (!copy->root || (k->program && !copy->program))
        return ct__kernel_poison(copy, CT_ENOMEM, "kernel copy: memory is exhausted");
    return copy;
}

/* -- profiles -------------------------------------------------------------------------------------------- */

static ct_kernel *leaf(ct_cov_code code) { return ct__kernel_new(ct__kernel_node(code)); }

static ct_kernel *leaf_of_degree(ct_cov_code code, int degree)
{
    ct_kernel *k = leaf(code);
    if (!k || k->status) return k;
    if (degree < 1 || degree > CT__KERNEL_MAX_DEGREE)
        return ct__kernel_poison(k, CT_EINVAL, "%s: degree %d, must be 1 to %d", ct__kernel_kinds[code].text,
                                 degree, CT__KERNEL_MAX_DEGREE);
    k->root->degree = degree;
    return k;
}

#define PLAIN(CODE, name, ...) \
    ct_kernel *ct_kernel_##name(void) { return leaf(CT_COV_##CODE); }
#define OF_DEGREE(CODE, name, text, ...) \
    ct_kernel *ct_kernel_##name(int degree) { return leaf_of_degree(CT_COV_##CODE, degree); }
CT_PLAIN_PROFILES(PLAIN)
CT_PROFILES_OF_DEGREE(OF_DEGREE)
#undef PLAIN
#undef OF_DEGREE

ct_kernel *ct_kernel_constant(void) { return leaf(CT_COV_CONSTANT); }
ct_kernel *ct_kernel_white(void) { return leaf(CT_COV_WHITE); }

/* -- combinations ---------------------------------------------------------------------------------------- */

/* code(a, b), into a's object; frees b's. b may be absent where `unary`. */
static ct_kernel *combine(ct_cov_code code, ct_kernel *a, ct_kernel *b, bool unary)
{
    if (!a || (!unary && !b)) {
        ct_kernel_free(a);
        ct_kernel_free(b);
        return NULL;
    }
    if (a == b) {
        return ct__kernel_poison(a, CT_EINVAL,
                                 "kernel %s: both sides are the same object; pass a ct_kernel_copy of it",
                                 ct__kernel_kinds[code].text);
    }
    if (a->status || (b && b->status)) {
        ct_kernel *bad = a->status ? a : b;
        ct_kernel_free(bad == a ? b : a);
        return bad;
    }
    int nodes = 1 + ct__kernel_nodes(a->root) + (b ? ct__kernel_nodes(b->root) : 0);
    kernel_node *n = nodes <= CT__KERNEL_MAX_NODES ? ct__kernel_node(code) : NULL;
    if (!n) {
        ct_kernel_free(b);
        if (nodes > CT__KERNEL_MAX_NODES)
            return ct__kernel_poison(a, CT_EINVAL, "kernel: more than %d terms and factors",
                                     CT__KERNEL_MAX_NODES);
        return ct__kernel_poison(a, CT_ENOMEM, "kernel: memory is exhausted");
    }
    if (unary) {
        n->right = a->root;
    } else {
        n->left = a->root;
        n->right = b->root;
        b->root = NULL;
        ct_kernel_free(b);
    }
    a->root = n;
    ct__kernel_changed(a);
    return a;
}

ct_kernel *ct_kernel_sum(ct_kernel *a, ct_kernel *b) { return combine(CT_COV_SUM, a, b, false); }
ct_kernel *ct_kernel_product(ct_kernel *a, ct_kernel *b) { return combine(CT_COV_PRODUCT, a, b, false); }
ct_kernel *ct_kernel_scale(ct_kernel *k) { return combine(CT_COV_SCALE, k, NULL, true); }

static void set_ard(kernel_node *n)
{
    if (!n) return;
    set_ard(n->left);
    set_ard(n->right);
    if (n->n_length) n->ard = true;
}

ct_kernel *ct_kernel_ard(ct_kernel *k)
{
    if (!k || k->status) return k;
    set_ard(k->root);
    ct__kernel_changed(k);
    return k;
}

static bool set_dims(kernel_node *n, const int *dims, int count)
{
    if (!n) return true;
    if (ct__kernel_looks(n)) {
        int *copy = duplicate(dims, (size_t)count * sizeof *dims);
        if (!copy) return false;
        free(n->dims);
        n->dims = copy;
        n->n_dims = count;
    }
    return set_dims(n->left, dims, count) && set_dims(n->right, dims, count);
}

ct_kernel *ct_kernel_active(ct_kernel *k, const int *dims, int n)
{
    if (!k || k->status) return k;
    if (!dims || n < 1 || n > CT__KERNEL_MAX_ACTIVE)
        return ct__kernel_poison(k, CT_EINVAL, "active dimensions: %d of them, must be 1 to %d", dims ? n : 0,
                                 CT__KERNEL_MAX_ACTIVE);
    for (int i = 0; i < n; i++) {
        if (dims[i] < 0 || dims[i] >= CT__KERNEL_MAX_DIMS)
            return ct__kernel_poison(k, CT_EINVAL, "active dimensions: no column %d", dims[i]);
        for (int j = 0; j < i; j++) {
            if (dims[j] == dims[i])
                return ct__kernel_poison(k, CT_EINVAL, "active dimensions: column %d twice", dims[i]);
        }
    }
    if (!set_dims(k->root, dims, n))
        return ct__kernel_poison(k, CT_ENOMEM, "active dimensions: memory is exhausted");
    ct__kernel_changed(k);
    return k;
}
