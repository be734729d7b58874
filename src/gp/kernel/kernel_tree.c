/* Kernel trees and their object: nodes, names of parameters, errors. */
#include "kernel_tree.h"
#include "prior.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define PLAIN(CODE, name, text, lengthscales, extra, unit, geometry, tail, ...) \
    [CT_COV_##CODE] = { text, lengthscales, extra, unit, geometry, tail, 0, 0 },
#define OF_DEGREE(CODE, name, text, lengthscales, extra, unit, geometry, tail, ...) \
    [CT_COV_##CODE] = { text, lengthscales, extra, unit, geometry, tail, 2, 0 },
const kernel_kind ct__kernel_kinds[CT_COV_CODES] = {
    CT_PLAIN_PROFILES(PLAIN)
    CT_PROFILES_OF_DEGREE(OF_DEGREE)
    [CT_COV_CONSTANT] = { .text = "constant", .extra = "variance", .unit = CT_UNIT_VARIANCE },
    [CT_COV_WHITE] = { .text = "white", .extra = "variance", .unit = CT_UNIT_VARIANCE },
    [CT_COV_INDEX] = { .text = "index", .geometry = CT_DIFFER, .degree = 1 },
    [CT_COV_SCALE] = { .text = "scale", .extra = "variance", .unit = CT_UNIT_VARIANCE, .operands = 1 },
    [CT_COV_SUM] = { .text = "+", .operands = 2 },
    [CT_COV_PRODUCT] = { .text = "*", .operands = 2 },
};
#undef PLAIN
#undef OF_DEGREE
/* clang-format on */

/* -- nodes ----------------------------------------------------------------------------------------------- */

kernel_node *ct__kernel_room(ct_kernel *k, int at, int count)
{
    kernel_node *node = realloc(k->node, (size_t)(k->nodes + count) * sizeof *node);
    if (!node) return NULL;
    memmove(node + at + count, node + at, (size_t)(k->nodes - at) * sizeof *node);
    k->node = node;
    k->nodes += count;
    return node + at;
}

/* Gives n `count` parameters; new ones have no values yet. */
static bool resize(kernel_node *n, int count)
{
    ct_param *param = realloc(n->param, ((size_t)count + 1) * sizeof *param);
    if (!param) return false;
    n->param = param;
    n->n_param = count;
    return true;
}

kernel_node *ct__kernel_insert(ct_kernel *k, int at, ct_cov_code code)
{
    const kernel_kind *kind = &ct__kernel_kinds[code];
    kernel_node *n = ct__kernel_room(k, at, 1);
    if (!n) return NULL;
    *n = (kernel_node){ .code = code, .degree = kind->degree, .n_length = kind->lengthscales };
    if (!resize(n, n->n_length + (kind->extra != NULL))) return NULL;
    for (int i = 0; i < n->n_param; i++) n->param[i] = ct__param_default(1, false);
    return n;
}

bool ct__kernel_lengthscales(kernel_node *n, int count)
{
    const int extra = n->n_param - n->n_length;
    const ct_param last = n->param[n->n_param - 1];
    if (!resize(n, count + extra)) return false;
    for (int i = n->n_length; i < count; i++) n->param[i] = n->param[0];
    if (extra) n->param[count] = last;
    n->n_length = count;
    return true;
}

const char *ct__kernel_levels_fault(int64_t levels, int rank)
{
    return rank < 1 || rank > CT_COV_MOST_RANK         ? "the rank must be 1 to 16"
           : levels < 0 || levels > CT_COV_MOST_LEVELS ? "the levels must be 1 to 512"
           : levels && rank > levels                   ? "the rank is at most the levels"
                                                       : NULL;
}

/* w_lk = 0.7 cos(π k (2l + 1) / (2 levels)) and κ = 0.5. The columns of W differ; variances are about 1 and
 * correlations about a half. */
bool ct__kernel_levels(kernel_node *n, int levels)
{
    const int of_W = levels * n->degree;
    if (!resize(n, of_W + levels)) return false;
    n->levels = levels;
    for (int i = 0; i < of_W; i++) {
        const int l = i / n->degree, k = i % n->degree;
        const double start = 0.7 * cos(CT__PI * k * (2 * l + 1) / (2. * levels));
        n->param[i] = ct__param_default(start, true);
    }
    for (int i = of_W; i < n->n_param; i++) n->param[i] = ct__param_default(0.5, false);
    return true;
}

bool ct__kernel_dims(kernel_node *n, const int *dims, int count)
{
    int *copy = malloc((size_t)count * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, dims, (size_t)count * sizeof *copy);
    free(n->dims);
    n->dims = copy;
    n->n_dims = count;
    return true;
}

const kernel_node *ct__kernel_right(const kernel_node *n)
{
    int operands = ct__kernel_kinds[n->code].operands; /* operands still to skip, from the node after n on */
    for (n++; operands > 1; n++) operands += ct__kernel_kinds[n->code].operands - 1;
    return n;
}

/* -- names ----------------------------------------------------------------------------------------------- */

static void name_parameters(kernel_node *n)
{
    const kernel_kind *kind = &ct__kernel_kinds[n->code];
    char prefix[32];
    snprintf(prefix, sizeof prefix, n->number > 1 ? "%s#%d" : "%s", kind->text, n->number);
    for (int i = 0; i < n->n_param; i++) {
        ct_param *p = &n->param[i];
        if (n->code == CT_COV_INDEX && p->any_sign)
            snprintf(p->name, sizeof p->name, "%s.w[%d,%d]", prefix, i / n->degree, i % n->degree);
        else if (n->code == CT_COV_INDEX)
            snprintf(p->name, sizeof p->name, "%s.kappa[%d]", prefix, i - n->levels * n->degree);
        else if (n->ard && i < n->n_length)
            snprintf(p->name, sizeof p->name, "%s.lengthscale[%d]", prefix, i < n->n_dims ? n->dims[i] : i);
        else
            snprintf(p->name, sizeof p->name, "%s.%s", prefix, i < n->n_length ? "lengthscale" : kind->extra);
    }
}

/* -- objects --------------------------------------------------------------------------------------------- */

ct_status ct__kernel_refuse(ct_kernel *k, ct_status status, const char *format, ...)
{
    /* numbers with a point in every locale */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), callers = uselocale(plain);
    va_list args;
    va_start(args, format);
    vsnprintf(k->message, sizeof k->message, format, args);
    va_end(args);
    uselocale(callers);
    if (plain) freelocale(plain);
    return status;
}

static void drop_nodes(ct_kernel *k)
{
    for (int i = 0; k->node && i < k->nodes; i++) {
        free(k->node[i].dims);
        free(k->node[i].param);
    }
    free(k->node);
    k->node = NULL;
    k->nodes = 0;
}

ct_kernel *ct__kernel_changed(ct_kernel *k, ct_status status)
{
    int seen[CT_COV_CODES] = { 0 };
    free(k->program);
    k->program = NULL;
    k->status = status;
    if (status) drop_nodes(k);
    for (int i = 0; i < k->nodes; i++) {
        k->node[i].number = ++seen[k->node[i].code];
        name_parameters(&k->node[i]);
    }
    return k;
}

void ct_kernel_free(ct_kernel *k)
{
    if (!k) return;
    drop_nodes(k);
    free(k->program);
    free(k);
}

ct_status ct_kernel_status(const ct_kernel *k) { return k ? k->status : CT_ENOMEM; }

const char *ct_kernel_message(const ct_kernel *k)
{
    return k ? k->message : "the kernel is NULL: memory was exhausted while building it, or none was given";
}
