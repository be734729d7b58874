/* Parameters of a kernel: values, bounds and units; binding to the inputs, which builds the program. */
#include "kernel_tree.h"
#include "prior.h"

#include <stdlib.h>
#include <string.h>

/* -- values ---------------------------------------------------------------------------------------------- */

const kernel_node *ct__kernel_node_of(const ct_kernel *k, int64_t *i)
{
    if (!k || *i < 0) return NULL;
    for (const kernel_node *n = k->node, *end = n + k->nodes; n < end; *i -= n++->n_param)
        if (*i < n->n_param) return n;
    return NULL;
}

static ct_param *param_at(const ct_kernel *k, int64_t i)
{
    const kernel_node *n = ct__kernel_node_of(k, &i);
    return n ? &n->param[i] : NULL;
}

int64_t ct_kernel_params(const ct_kernel *k)
{
    int64_t count = 0;
    for (int j = 0; k && j < k->nodes; j++) count += k->node[j].n_param;
    return count;
}

const ct_param *ct_kernel_param(const ct_kernel *k, int64_t i) { return param_at(k, i); }

int64_t ct_kernel_find(const ct_kernel *k, const char *name)
{
    const int64_t count = name ? ct_kernel_params(k) : 0;
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(param_at(k, i)->name, name)) return i;
    return -1;
}

ct_status ct_kernel_set(ct_kernel *k, int64_t i, const ct_param *param)
{
    if (ct_kernel_status(k)) return ct_kernel_status(k);
    ct_param *p = param_at(k, i);
    if (!p || !param)
        return ct__kernel_refuse(k, CT_EINVAL, "kernel parameter %lld: there are %lld", (long long)i,
                                 (long long)ct_kernel_params(k));
    const char *fault = ct__param_fault(p, param);
    if (fault) return ct__kernel_refuse(k, CT_EINVAL, CT__PARAM_MESSAGE(p, param, fault));
    ct__param_set(p, param);
    return CT_OK;
}

/* -- binding --------------------------------------------------------------------------------------------- */

/* The number of columns that n depends on. */
static int active(const kernel_node *n, int input_dims)
{
    return !ct__kernel_reads_inputs(n) ? 0 : n->dims ? n->n_dims : input_dims;
}

/* Checks the active columns; gives an ARD profile its lengthscales. */
static ct_status bind_node(ct_kernel *k, kernel_node *n, int input_dims)
{
    const char *name = ct__kernel_kinds[n->code].text;
    const int columns = active(n, input_dims);
    for (int i = 0; i < n->n_dims; i++)
        if (n->dims[i] >= input_dims)
            return ct__kernel_refuse(k, CT_EINVAL, "%s reads column %d, the inputs have %d", name, n->dims[i],
                                     input_dims);
    if (n->code == CT_COV_INDEX && columns != 1)
        return ct__kernel_refuse(k, CT_EINVAL, "index reads one column, not %d: name it by dims=", columns);
    if (n->code == CT_COV_INDEX && !n->levels)
        return ct__kernel_refuse(k, CT_EINVAL,
                                 "index does not know how many levels its column has: make the column a "
                                 "category, or give levels=");
    if (!n->ard || n->n_length == columns) return CT_OK;
    if (n->n_length != 1)
        return ct__kernel_refuse(k, CT_EINVAL, "%s has %d lengthscales for %d columns", name, n->n_length,
                                 columns);
    return ct__kernel_lengthscales(n, columns)
               ? CT_OK
               : ct__kernel_refuse(k, CT_ENOMEM, "%d lengthscales: memory is exhausted", columns);
}

/* -- units ----------------------------------------------------------------------------------------------- */

/* Whether every term of n has a variance parameter. */
static bool has_variance(const kernel_node *n)
{
    if (ct__kernel_kinds[n->code].operands < 2) return ct__kernel_kinds[n->code].unit == CT_UNIT_VARIANCE;
    const bool left = has_variance(n + 1), right = has_variance(ct__kernel_right(n));
    return n->code == CT_COV_SUM ? left && right : left || right;
}

/* `taken`: another factor already carries the product's variance. */
static void set_units(const kernel_node *n, int input_dims, bool taken)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    const int columns = active(n, input_dims);
    for (int i = 0; i < n->n_param; i++) {
        ct_param *p = &n->param[i];
        const bool length = i < n->n_length;
        const bool scaled = kind->geometry == CT_DISTANCE || kind->geometry == CT_DOT;
        p->unit = !length ? kind->unit : scaled ? CT_UNIT_INPUT : CT_UNIT_NONE;
        if (taken && p->unit == CT_UNIT_VARIANCE) p->unit = CT_UNIT_NONE;
        p->column = -1;
        if (p->unit == CT_UNIT_INPUT && (columns == 1 || (length && n->ard))) {
            int k = columns == 1 ? 0 : i;
            p->column = n->dims ? n->dims[k] : k;
        }
    }
    const bool product = n->code == CT_COV_PRODUCT, left = product && has_variance(n + 1);
    if (kind->operands > 1) set_units(n + 1, input_dims, taken || (product && !left));
    if (kind->operands) set_units(ct__kernel_right(n), input_dims, taken || left || n->code == CT_COV_SCALE);
}

/* -- the program ----------------------------------------------------------------------------------------- */

typedef struct emitter {
    const kernel_node *next;
    ct_cov_program *program; /* n_nodes, n_dims and n_params count what it has so far */
    int32_t *dims;           /* behind its nodes */
} emitter;

/* Appends the subtree at `next` to the program; returns its position. */
static int32_t emit(emitter *e)
{
    const kernel_node *n = e->next++;
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    ct_cov_program *p = e->program;
    const bool index = n->code == CT_COV_INDEX;
    const int32_t first = p->n_params, extra = kind->extra || index ? first + n->n_length : -1;
    /* a distance without lengthscales is measured in units of the other parameter */
    const bool in_extra = ct__kernel_reads_inputs(n) && kind->geometry == CT_DISTANCE && !kind->lengthscales;
    ct_cov_node out = { .code = (int32_t)n->code,
                        .geometry = (int32_t)kind->geometry,
                        .tail = kind->tail,
                        .dims = ct__kernel_reads_inputs(n) ? p->n_dims : 0,
                        .n_dims = active(n, p->input_dims),
                        .lengthscale = n->n_length ? first
                                       : in_extra  ? extra
                                                   : -1,
                        .ard = n->ard,
                        .extra = in_extra ? -1 : extra,
                        .degree = n->degree,
                        .levels = n->levels };
    p->n_params += n->n_param;
    for (int32_t i = 0; i < out.n_dims; i++) e->dims[p->n_dims++] = n->dims ? n->dims[i] : i;
    out.left = kind->operands > 1 ? emit(e) : -1;
    out.right = kind->operands ? emit(e) : -1;
    ((ct_cov_node *)(void *)(p + 1))[p->n_nodes] = out;
    return p->n_nodes++;
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
    const int columns = (int)input_dims;
    ct_status status = CT_OK;
    size_t dims = 0;
    for (int i = 0; i < k->nodes && !status; i++) {
        dims += (size_t)active(&k->node[i], columns);
        status = bind_node(k, &k->node[i], columns);
    }
    ct__kernel_changed(k, CT_OK);
    if (status) return status;
    set_units(k->node, columns, false);

    size_t nodes = (size_t)k->nodes;
    size_t bytes = sizeof(ct_cov_program) + nodes * sizeof(ct_cov_node) + dims * sizeof(int32_t);
    ct_cov_program *p = calloc(1, bytes);
    if (!p) return ct__kernel_refuse(k, CT_ENOMEM, "kernel: %zu bytes, memory is exhausted", bytes);
    *p = (ct_cov_program){ .bytes = (int64_t)bytes, .input_dims = columns };
    char *end = (char *)p + bytes;
    emit(&(emitter){ k->node, p, (int32_t *)(void *)(end - dims * sizeof(int32_t)) });
    k->program = p;
    return CT_OK;
}

int64_t ct_kernel_input_dims(const ct_kernel *k) { return k && k->program ? k->program->input_dims : 0; }

const ct_cov_program *ct_kernel_program(const ct_kernel *k) { return k ? k->program : NULL; }
