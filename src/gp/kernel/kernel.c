/* Constructors of profiles and combinations; copies. */
#include "kernel_tree.h"

#include <stdlib.h>
#include <string.h>

static ct_status no_memory(ct_kernel *k)
{
    return ct__kernel_refuse(k, CT_ENOMEM, "kernel: memory is exhausted");
}

/* -- copies ---------------------------------------------------------------------------------------------- */

/* A copy of a block; NULL for no memory and for an empty block. */
static void *duplicate(const void *data, size_t bytes)
{
    void *copy = data && bytes ? malloc(bytes) : NULL;
    if (copy) memcpy(copy, data, bytes);
    return copy;
}

ct_kernel *ct_kernel_copy(const ct_kernel *k)
{
    ct_kernel *copy = duplicate(k, sizeof *k);
    if (!copy) return NULL;
    copy->program = duplicate(k->program, k->program ? (size_t)k->program->bytes : 0);
    copy->node = duplicate(k->node, (size_t)k->nodes * sizeof *k->node);
    bool fine = !k->program == !copy->program && !k->node == !copy->node;
    for (int i = 0; copy->node && i < k->nodes; i++) {
        kernel_node *n = &copy->node[i];
        n->dims = duplicate(n->dims, (size_t)n->n_dims * sizeof *n->dims);
        n->param = duplicate(n->param, (size_t)n->n_param * sizeof *n->param);
        fine = fine && !n->dims == !n->n_dims && !n->param == !n->n_param;
    }
    return fine ? copy : ct__kernel_changed(copy, no_memory(copy));
}

/* -- profiles -------------------------------------------------------------------------------------------- */

static ct_kernel *leaf(ct_cov_code code)
{
    ct_kernel *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    return ct__kernel_changed(k, ct__kernel_insert(k, 0, code) ? CT_OK : no_memory(k));
}

static ct_kernel *leaf_of_degree(ct_cov_code code, int degree)
{
    ct_kernel *k = leaf(code);
    if (!k || k->status) return k;
    k->node->degree = degree;
    if (degree >= 1 && degree <= CT__KERNEL_MAX_DEGREE) return k;
    return ct__kernel_changed(k,
                              ct__kernel_refuse(k, CT_EINVAL, "%s: degree %d, must be 1 to %d",
                                                ct__kernel_kinds[code].text, degree, CT__KERNEL_MAX_DEGREE));
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

ct_kernel *ct_kernel_index(int levels, int rank)
{
    ct_kernel *k = leaf(CT_COV_INDEX);
    if (!k || k->status) return k;
    const char *fault = ct__kernel_levels_fault(levels, rank);
    if (fault) return ct__kernel_changed(k, ct__kernel_refuse(k, CT_EINVAL, "index: %s", fault));
    k->node->degree = rank;
    return ct__kernel_changed(k, ct__kernel_levels(k->node, levels) ? CT_OK : no_memory(k));
}

/* -- combinations ---------------------------------------------------------------------------------------- */

/* Inserts `code` before a's nodes and moves b's after them. b is NULL for a unary operator. */
static ct_status join(ct_cov_code code, ct_kernel *a, ct_kernel *b)
{
    const int more = b ? b->nodes : 0;
    if (a == b)
        return ct__kernel_refuse(a, CT_EINVAL,
                                 "kernel %s: both sides are the same object; pass a ct_kernel_copy of it",
                                 ct__kernel_kinds[code].text);
    if (a->nodes + more >= CT__KERNEL_MAX_NODES)
        return ct__kernel_refuse(a, CT_EINVAL, "kernel: more than %d terms and factors",
                                 CT__KERNEL_MAX_NODES);
    kernel_node *behind = ct__kernel_room(a, a->nodes, more);
    if (behind && b) memcpy(behind, b->node, (size_t)more * sizeof *behind);
    if (behind && b) b->nodes = 0;
    return behind && ct__kernel_insert(a, 0, code) ? CT_OK : no_memory(a);
}

/* Builds code(a, b) in a's object and frees b's. */
static ct_kernel *combine(ct_cov_code code, ct_kernel *a, ct_kernel *b)
{
    if (!a || (!b && ct__kernel_kinds[code].operands > 1)) {
        ct_kernel_free(a);
        ct_kernel_free(b);
        return NULL;
    }
    if (b && b->status && !a->status) return combine(code, b, a); /* the error is passed on */
    ct_status status = a->status ? a->status : join(code, a, b);
    if (a != b) ct_kernel_free(b);
    return ct__kernel_changed(a, status);
}

ct_kernel *ct_kernel_sum(ct_kernel *a, ct_kernel *b) { return combine(CT_COV_SUM, a, b); }
ct_kernel *ct_kernel_product(ct_kernel *a, ct_kernel *b) { return combine(CT_COV_PRODUCT, a, b); }
ct_kernel *ct_kernel_scale(ct_kernel *k) { return combine(CT_COV_SCALE, k, NULL); }

ct_kernel *ct_kernel_ard(ct_kernel *k)
{
    if (!k) return NULL;
    for (int i = 0; i < k->nodes; i++) k->node[i].ard = k->node[i].n_length > 0;
    return ct__kernel_changed(k, k->status);
}

static ct_status set_dims(ct_kernel *k, const int *dims, int n)
{
    if (!dims || n < 1 || n > CT__KERNEL_MAX_ACTIVE)
        return ct__kernel_refuse(k, CT_EINVAL, "active dimensions: %d of them, must be 1 to %d", dims ? n : 0,
                                 CT__KERNEL_MAX_ACTIVE);
    for (int i = 0; i < n; i++) {
        if (dims[i] < 0 || dims[i] >= CT__KERNEL_MAX_DIMS)
            return ct__kernel_refuse(k, CT_EINVAL, "active dimensions: no column %d", dims[i]);
        for (int j = 0; j < i; j++)
            if (dims[j] == dims[i])
                return ct__kernel_refuse(k, CT_EINVAL, "active dimensions: column %d twice", dims[i]);
    }
    for (int i = 0; i < k->nodes; i++)
        if (ct__kernel_reads_inputs(&k->node[i]) && !ct__kernel_dims(&k->node[i], dims, n))
            return no_memory(k);
    return CT_OK;
}

/* Gives n the columns of its kind. `list` has space for d of them. */
static ct_status take_columns(ct_kernel *k, kernel_node *n, const ct_column *columns, int d, int *list)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const int most = n->code == CT_COV_INDEX ? 1 : CT__KERNEL_MAX_ACTIVE;
    int count = 0;
    for (int j = 0; j < d; j++)
        if ((columns[j].kind == CT_COLUMN_CATEGORY) == (kind->geometry == CT_DIFFER)) list[count++] = j;
    if (!count || count > most)
        return ct__kernel_refuse(k, CT_EINVAL, "%s without dims=: %d columns of its kind, must be 1 to %d",
                                 kind->text, count, most);
    return ct__kernel_dims(n, list, count) ? CT_OK : no_memory(k);
}

/* Gives n the levels of its column. */
static ct_status take_levels(ct_kernel *k, kernel_node *n, const ct_column *c)
{
    if (c->kind != CT_COLUMN_CATEGORY || c->n_levels == n->levels) return CT_OK;
    if (n->levels)
        return ct__kernel_refuse(k, CT_EINVAL, "index has levels=%d, its column \"%.100s\" has %lld",
                                 n->levels, c->name, (long long)c->n_levels);
    const char *fault = ct__kernel_levels_fault(c->n_levels, n->degree);
    if (fault)
        return ct__kernel_refuse(k, CT_EINVAL, "index of \"%.100s\", of %lld levels: %s", c->name,
                                 (long long)c->n_levels, fault);
    return ct__kernel_levels(n, (int)c->n_levels) ? CT_OK : no_memory(k);
}

ct_status ct__kernel_choose_columns(ct_kernel *k, const ct_column *columns, int64_t d)
{
    ct_status s = ct_kernel_status(k);
    if (s || !columns || k->program || d > CT__KERNEL_MAX_DIMS) return s;
    bool categories = false;
    int *list = malloc((size_t)(d + 1) * sizeof *list);
    if (!list) return no_memory(k);
    for (int64_t j = 0; j < d; j++) categories = categories || columns[j].kind == CT_COLUMN_CATEGORY;
    for (kernel_node *n = k->node, *end = n + k->nodes; n < end && !s; n++) {
        if (categories && ct__kernel_reads_inputs(n) && !n->dims)
            s = take_columns(k, n, columns, (int)d, list);
        if (!s && n->code == CT_COV_INDEX && n->dims && n->dims[0] < d)
            s = take_levels(k, n, &columns[n->dims[0]]);
    }
    free(list);
    return s;
}

ct_kernel *ct_kernel_active(ct_kernel *k, const int *dims, int n)
{
    return !k || k->status ? k : ct__kernel_changed(k, set_dims(k, dims, n));
}
