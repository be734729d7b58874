/* Kernel trees: building, combining, copying. */
#include "kernel_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(code, text, lengthscale, extra) { text, lengthscale, extra },
const kernel_kind ct__kernel_kinds[CT_COV_CODES] = { CT__KERNEL_TABLE(ROW) };
#undef ROW

/* -- nodes ----------------------------------------------------------------------------------------------- */

kernel_node *ct__kernel_node(ct_cov_code code)
{
    const kernel_kind *kind = &ct__kernel_kinds[code];
    kernel_node *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->code = code;
    n->degree = code == CT_COV_POLYNOMIAL ? 2 : 0;
    n->n_length = kind->lengthscale ? 1 : 0;
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

ct_status ct_kernel_status(const ct_kernel *k) { return k ? k->status : CT_ENOMEM; }

const char *ct_kernel_message(const ct_kernel *k)
{
    return k ? k->message : "kernel: NULL: memory was exhausted while it was built, or none was given";
}

/* -- profiles -------------------------------------------------------------------------------------------- */

static ct_kernel *leaf(ct_cov_code code) { return ct__kernel_new(ct__kernel_node(code)); }

ct_kernel *ct_kernel_rbf(void) { return leaf(CT_COV_RBF); }
ct_kernel *ct_kernel_matern12(void) { return leaf(CT_COV_MATERN12); }
ct_kernel *ct_kernel_matern32(void) { return leaf(CT_COV_MATERN32); }
ct_kernel *ct_kernel_matern52(void) { return leaf(CT_COV_MATERN52); }
ct_kernel *ct_kernel_rational_quadratic(void) { return leaf(CT_COV_RATIONAL_QUADRATIC); }
ct_kernel *ct_kernel_periodic(void) { return leaf(CT_COV_PERIODIC); }
ct_kernel *ct_kernel_cosine(void) { return leaf(CT_COV_COSINE); }
ct_kernel *ct_kernel_linear(void) { return leaf(CT_COV_LINEAR); }
ct_kernel *ct_kernel_constant(void) { return leaf(CT_COV_CONSTANT); }
ct_kernel *ct_kernel_white(void) { return leaf(CT_COV_WHITE); }

ct_kernel *ct_kernel_polynomial(int degree)
{
    ct_kernel *k = leaf(CT_COV_POLYNOMIAL);
    if (!k || k->status) return k;
    if (degree < 1 || degree > CT__KERNEL_MAX_DEGREE)
        return ct__kernel_poison(k, CT_EINVAL, "polynomial kernel: degree %d, must be 1 to %d", degree,
                                 CT__KERNEL_MAX_DEGREE);
    k->root->degree = degree;
    return k;
}

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
