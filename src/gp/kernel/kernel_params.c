/* Parameters of a kernel: values, bounds and units; binding to the inputs, which makes the program. */
#include "kernel_tree.h"
#include "prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- values ---------------------------------------------------------------------------------------------- */

typedef struct finder {
    int64_t index; /* of the parameter wanted, counted down; -1: none */
    const char *name;
    int64_t count;
    ct_param *found;
} finder;

static void find_param(kernel_node *n, void *context)
{
    finder *f = context;
    for (int i = 0; i < n->n_param; i++, f->count++) {
        bool match = f->name ? !strcmp(n->param[i].name, f->name) : f->count == f->index;
        if (!match || f->found) continue;
        f->found = &n->param[i];
        f->index = f->count;
    }
}

static ct_param *param_at(const ct_kernel *k, int64_t i)
{
    finder f = { .index = i };
    if (k) ct__kernel_walk(k->root, find_param, &f);
    return f.found;
}

int64_t ct_kernel_params(const ct_kernel *k)
{
    finder f = { .index = -1 };
    if (k) ct__kernel_walk(k->root, find_param, &f);
    return f.count;
}

const ct_param *ct_kernel_param(const ct_kernel *k, int64_t i) { return param_at(k, i); }

int64_t ct_kernel_find(const ct_kernel *k, const char *name)
{
    finder f = { .index = -1, .name = name };
    if (k && name) ct__kernel_walk(k->root, find_param, &f);
    return f.found ? f.index : -1;
}

static bool positive(double x) { return x > 0 && isfinite(x); }

ct_status ct_kernel_set(ct_kernel *k, int64_t i, const ct_param *param)
{
    if (ct_kernel_status(k)) return ct_kernel_status(k);
    ct_param *p = param_at(k, i);
    if (!p || !param)
        return ct__kernel_refuse(k, CT_EINVAL, "kernel parameter %lld: there are %lld", (long long)i,
                                 (long long)ct_kernel_params(k));
    if (!positive(param->value))
        return ct__kernel_refuse(k, CT_EINVAL, "%s = %g: a parameter is positive and finite", p->name,
                                 param->value);
    if (!(param->lower >= 0) || !(param->lower <= param->value) || !(param->value <= param->upper))
        return ct__kernel_refuse(k, CT_EINVAL,
                                 "%s = %g: its bounds [%g, %g] must hold it, the lower at least 0", p->name,
                                 param->value, param->lower, param->upper);
    if (!ct__prior_valid(&param->prior, true))
        return ct__kernel_refuse(k, CT_EINVAL, "%s: prior of kind %d with a = %g, b = %g is none", p->name,
                                 (int)param->prior.kind, param->prior.a, param->prior.b);
    ct__param_set(p, param);
    return CT_OK;
}

/* -- binding --------------------------------------------------------------------------------------------- */

typedef struct binder {
    ct_kernel *kernel;
    int input_dims;
    ct_status status;
    int64_t nodes, dims;
} binder;

/* Checks the active columns; gives an ARD profile its lengthscales. */
static void bind_node(kernel_node *n, void *context)
{
    binder *b = context;
    b->nodes++;
    if (b->status || !ct__kernel_looks(n)) return;
    int active = n->dims ? n->n_dims : b->input_dims;
    b->dims += active;
    for (int i = 0; i < n->n_dims; i++) {
        if (n->dims[i] >= b->input_dims) {
            b->status = ct__kernel_refuse(b->kernel, CT_EINVAL, "%s looks at column %d, the inputs have %d",
                                          ct__kernel_kinds[n->code].text, n->dims[i], b->input_dims);
            return;
        }
    }
    if (!n->ard || n->n_length == active) return;
    if (n->n_length != 1)
        b->status = ct__kernel_refuse(b->kernel, CT_EINVAL, "%s has %d lengthscales for %d columns",
                                      ct__kernel_kinds[n->code].text, n->n_length, active);
    else if (!ct__kernel_lengthscales(n, active))
        b->status = ct__kernel_refuse(b->kernel, CT_ENOMEM, "%d lengthscales: memory is exhausted", active);
}

/* -- units ----------------------------------------------------------------------------------------------- */

/* Whether every term of n has a variance of its own. */
static bool has_variance(const kernel_node *n)
{
    if (n->code == CT_COV_SUM) return has_variance(n->left) && has_variance(n->right);
    if (n->code == CT_COV_PRODUCT) return has_variance(n->left) || has_variance(n->right);
    return n->code == CT_COV_SCALE || n->code == CT_COV_CONSTANT || n->code == CT_COV_WHITE;
}

/* `taken`: another factor has the product's variance already. */
static void set_units(kernel_node *n, int input_dims, bool taken)
{
    if (!n) return;
    if (n->code == CT_COV_SUM || n->code == CT_COV_PRODUCT) {
        bool product = n->code == CT_COV_PRODUCT, left = has_variance(n->left);
        set_units(n->left, input_dims, taken || (product && !left));
        set_units(n->right, input_dims, taken || (product && left));
        return;
    }
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const int active = n->dims ? n->n_dims : input_dims;
    for (int i = 0; i < n->n_param; i++) {
        ct_param *p = &n->param[i];
        const bool length = i < n->n_length;
        p->unit = !length ? kind->unit : kind->geometry == CT_SINE ? CT_UNIT_NONE : CT_UNIT_INPUT;
        if (taken && p->unit == CT_UNIT_VARIANCE) p->unit = CT_UNIT_NONE;
        p->column = -1;
        if (p->unit == CT_UNIT_INPUT && (active == 1 || (length && n->ard))) {
            int k = active == 1 ? 0 : i;
            p->column = n->dims ? n->dims[k] : k;
        }
    }
    if (n->code == CT_COV_SCALE) set_units(n->right, input_dims, true);
}

/* -- the program ----------------------------------------------------------------------------------------- */

typedef struct emitter {
    ct_cov_program *program;
    ct_cov_node *nodes;
    int32_t *dims;
    int32_t n_nodes, n_dims, n_params;
} emitter;

/* Appends the tree at n; returns its position. */
static int32_t emit(emitter *e, const kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    ct_cov_node out = { .code = (int32_t)n->code,
                        .geometry = (int32_t)kind->geometry,
                        .tail = kind->tail,
                        .left = -1,
                        .right = -1,
                        .lengthscale = n->n_length ? e->n_params : -1,
                        .ard = n->ard,
                        .extra = n->n_param > n->n_length ? e->n_params + n->n_length : -1,
                        .degree = n->degree };
    if (ct__kernel_looks(n) && kind->geometry == CT_DISTANCE && !kind->lengthscales)
        out.lengthscale = out.extra, out.extra = -1;
    e->n_params += n->n_param;
    if (n->left) out.left = emit(e, n->left);
    if (n->right) out.right = emit(e, n->right);
    if (ct__kernel_looks(n)) {
        out.dims = e->n_dims;
        out.n_dims = n->dims ? n->n_dims : e->program->input_dims;
        for (int32_t i = 0; i < out.n_dims; i++) e->dims[e->n_dims++] = n->dims ? n->dims[i] : i;
    }
    e->nodes[e->n_nodes] = out;
    return e->n_nodes++;
}

ct_status ct_kernel_bind(ct_kernel *k, int64_t input_dims)
{
    if (ct_kernel_status(k)) return ct_kernel_status(k);
    if (k->program && k->program->input_dims == input_dims) return CT_OK;
    if (k->program)
        return ct__kernel_refuse(k, CT_EINVAL, "kernel is bound to %d input columns, not %lld",
                                 (int)k->program->input_dims, (long long)input_dims);
    if (input_dims < 1 || input_dims > CT__KERNEL_MAX_DIMS)
        return ct__kernel_refuse(k, CT_EINVAL, "kernel: %lld input columns, must be 1 to %d",
                                 (long long)input_dims, CT__KERNEL_MAX_DIMS);
    binder b = { .kernel = k, .input_dims = (int)input_dims };
    ct__kernel_walk(k->root, bind_node, &b);
    ct__kernel_changed(k);
    if (b.status) return b.status;
    set_units(k->root, (int)input_dims, false);

    size_t bytes =
        sizeof(ct_cov_program) + (size_t)b.nodes * sizeof(ct_cov_node) + (size_t)b.dims * sizeof(int32_t);
    ct_cov_program *p = calloc(1, bytes);
    if (!p) return ct__kernel_refuse(k, CT_ENOMEM, "kernel: %zu bytes, memory is exhausted", bytes);
    p->bytes = (int64_t)bytes;
    p->input_dims = (int32_t)input_dims;
    p->n_nodes = (int32_t)b.nodes;
    p->n_dims = (int32_t)b.dims;
    emitter e = { .program = p,
                  .nodes = (ct_cov_node *)(void *)(p + 1),
                  .dims = (int32_t *)(void *)((ct_cov_node *)(void *)(p + 1) + b.nodes) };
    emit(&e, k->root);
    p->n_params = e.n_params;
    k->program = p;
    return CT_OK;
}

int64_t ct_kernel_input_dims(const ct_kernel *k) { return k && k->program ? k->program->input_dims : 0; }

const ct_cov_program *ct_kernel_program(const ct_kernel *k) { return k ? k->program : NULL; }
