#include "cov_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "kernel_tree.h"

/* -- calls ----------------------------------------------------------------------------------------------- */

/* The program of the kernel; NULL, with the tape's error set, if the kernel cannot be used. */
static const ct_cov_program *usable(const ct_kernel *k, ct_tape *tape, const char *who)
{
    const ct_cov_program *p = ct_kernel_program(k);
    if (!p && ct_kernel_status(k))
        ct_tape_fail(tape, ct_kernel_status(k), "%s: %s", who, ct_kernel_message(k));
    else if (!p)
        ct_tape_fail(tape, CT_EINVAL,
                     "%s: the kernel does not know its inputs' columns: ct_kernel_bind it first", who);
    return p;
}

/* The result on a tape that has failed. */
static ct_var poisoned(ct_tape *tape) { return (ct_var){ tape, UINT32_MAX, 0 }; }

ct_var ct__cov_apply(const ct_op *op, const ct_kernel *k, const ct_var *in, int n)
{
    const ct_cov_program *p = in[0].tape ? usable(k, in[0].tape, op->name) : NULL;
    return p ? ct_apply(op, in, n, p, (size_t)p->bytes) : poisoned(in[0].tape);
}

ct_var ct__cov_apply_with(const ct_op *op, const ct_cov_program *p, const void *extra, size_t bytes,
                          const ct_var *in, int n)
{
    const size_t own = (size_t)p->bytes;
    char *both = malloc(own + bytes);
    if (!both) {
        ct_device *device = ct_tape_device(in[0].tape);
        ct_device_fail(device, CT_ENOMEM, "%s: no memory for the kernel", op->name);
        ct_tape_fail(in[0].tape, CT_ENOMEM, "%s", ct_message(device));
        return poisoned(in[0].tape);
    }
    memcpy(both, p, own);
    memcpy(both + own, extra, bytes);
    ct_var result = ct_apply(op, in, n, both, own + bytes);
    free(both);
    return result;
}

ct_var ct_kernel_theta(const ct_kernel *k, ct_tape *tape, ct_dtype dtype)
{
    const ct_cov_program *p = tape ? usable(k, tape, "kernel_theta") : NULL;
    if (!p) return poisoned(tape);
    ct_device *device = ct_tape_device(tape);
    double *values = ct__gp_alloc(device, (uint64_t)p->n_params, sizeof *values);
    for (int32_t i = 0; values && i < p->n_params; i++) values[i] = ct_kernel_param(k, i)->value;
    ct_tensor *theta = ct__gp_tensor(device, dtype, ct_shape1(p->n_params), values);
    if (!theta) ct_tape_fail(tape, ct_last_status(device), "kernel_theta: %s", ct_message(device));
    ct_var leaf = ct_leaf(tape, theta);
    ct_release(theta);
    free(values);
    return leaf;
}

/* -- inside an op ---------------------------------------------------------------------------------------- */

bool ct__cov_accepts(ct_call *c, int sets)
{
    const ct_cov_program *p = ct_attr(c);
    if (!ct_require(c, p && p->n_nodes <= CT__KERNEL_MAX_NODES, CT_EINVAL,
                    "needs a kernel's program as its attribute"))
        return false;
    ct_require(c, ct_arg_ndim(c, 0) >= 1 && ct_arg_dim(c, 0, -1) == p->n_params, CT_ESHAPE,
               "theta must be a vector of the kernel's %d parameters, or a batch of them", (int)p->n_params);
    for (int i = 1; i <= sets; i++)
        ct_require(c, ct_arg_ndim(c, i) >= 2 && ct_arg_dim(c, i, -1) == p->input_dims, CT_ESHAPE,
                   "the points must be a matrix of %d columns, as the kernel is bound to, or a batch of them",
                   (int)p->input_dims);
    return ct_call_ok(c);
}

ct_shape ct__in_batch(ct_shape batch, ct_shape member)
{
    for (int d = 0; d < member.ndim && batch.ndim >= 0; d++) batch.dim[batch.ndim++] = member.dim[d];
    return batch;
}

enum { MOST = 8 };

bool ct__recorded_bars(ct_rule *g, ct__composition *compose, ct_var *bar)
{
    ct_var in[MOST] = { { NULL, 0, 0 } }, at[MOST], at_bar[MOST];
    int input[MOST], n = 0;
    for (int i = 0; i < ct_rule_args(g); i++) {
        in[i] = ct_scale(ct_in(g, i), 1);
        if (ct_wants(g, i)) input[n++] = i;
    }
    for (int k = 0; k < n; k++) at[k] = in[input[k]];
    if (ct_grad(compose(ct_rule_attr(g), in), ct_out_bar(g), at, at_bar, n, CT_GRAD_RECORD)) return false;
    for (int k = 0; k < n; k++) bar[input[k]] = at_bar[k];
    return true;
}

/* The tangents of x as ct_jvp takes them: if there are several, (T, own dimensions). */
static ct_var own_dots(ct_var dot, ct_var x)
{
    ct_shape shape = ct_var_shape(x), of_dot = ct_var_shape(dot);
    if (of_dot.ndim <= shape.ndim) return dot;
    memmove(shape.dim + 1, shape.dim, (size_t)shape.ndim * sizeof *shape.dim);
    shape.dim[0] = of_dot.dim[0];
    shape.ndim++;
    return ct_reshape(dot, shape);
}

ct_var ct__composed_dot(ct_rule *g, ct__composition *compose)
{
    ct_tape *tape = ct_rule_tape(g);
    ct_var in[MOST] = { { NULL, 0, 0 } }, at[MOST], dot[MOST], y_dot;
    const bool recorded = ct_recording(g);
    int n = 0;
    while (!ct_grad_enabled(tape)) ct_no_grad_end(tape); /* until the rule returns */
    for (int i = 0; i < ct_rule_args(g); i++) {
        const ct_var x = ct_in(g, i);
        in[i] = recorded ? ct_scale(x, 1) : ct_leaf(tape, ct_value(x));
        if (ct_has_in_dot(g, i)) at[n] = in[i], dot[n++] = own_dots(ct_in_dot(g, i), x);
    }
    const ct_var y = compose(ct_rule_attr(g), in);
    ct_jvp(&y, &y_dot, 1, at, dot, n, recorded ? CT_GRAD_RECORD : CT_GRAD_FREE);
    return y_dot;
}

/* -- samples --------------------------------------------------------------------------------------------- */

/* `codes`: the columns hold levels and codes that are none. The matrix is discontinuous at a code. */
static const struct {
    const char *text;
    bool codes;
} sampled[] = {
    { "rbf(ard)", false },
    { "linear(ard) + constant", false },
    { "poly(degree=3)", false },
    { "scale * rbf(ard) + scale * periodic * matern52 + white", false },
    { "scale * index(rank=2, levels=3, dims=1) * rbf + index(levels=2, dims=0)", false },
    { "scale * index(rank=2, levels=3, dims=1) * category(dims=2:0) + index(levels=2, dims=0)", true },
    { "(scale * rq + linear) * (constant + cosine(dims=1)) * rbf", false },
};

static void sample_points(ct_sample *s, int i, ct_shape shape, bool codes)
{
    if (codes)
        ct_sample_among(s, i, shape, (const double[]){ 0, 1, 2, -1, 0.5 }, 5), ct_sample_kinks(s);
    else
        ct_sample_uniform(s, i, shape, -0.8, 0.8);
}

/* Every profile alone, in one of these ways (without lengthscales always on one column, because a cosine of
 * several columns is indefinite); then the kernels above. */
static ct_kernel *sampled_kernel(int i)
{
    static const char *const ways[] = { "", "(ard)", "(dims=2:0)", "(ard, dims=0:2)" };
    if (i >= CT_COV_PROFILES) return ct_kernel_parse(sampled[i - CT_COV_PROFILES].text);
    const kernel_kind *kind = &ct__kernel_kinds[i];
    char text[64];
    snprintf(text, sizeof text, "%s%s", kind->text, kind->lengthscales ? ways[i % 4] : "(dims=2)");
    return ct_kernel_parse(text);
}

/* Each kernel without a batch, then one of them with batches of all inputs, of theta, and of theta and X. */
void ct__cov_sample(ct_sample *s, bool pairs)
{
    enum { KERNELS = CT_COV_PROFILES + sizeof sampled / sizeof *sampled, BATCHES = 3, COLUMNS = 3 };
    const int ways = 1 + pairs, variant = ct_sample_variant(s, ways * (KERNELS + BATCHES));
    const int batch = variant / ways - KERNELS, which = batch < 0 ? variant / ways : KERNELS - 1;
    const bool codes = which >= CT_COV_PROFILES && sampled[which - CT_COV_PROFILES].codes;
    const int64_t n = ct_sample_size(s);
    ct_kernel *k = sampled_kernel(which);
    ct_status bound = ct_kernel_bind(k, COLUMNS);
    if (bound == CT_OK) {
        const ct_cov_program *p = ct_kernel_program(k);
        ct_sample_attr(s, p, (size_t)p->bytes);
        if (batch < 0) ct_sample_unbatched(s);
        ct_sample_uniform(s, 0, ct_shape1(p->n_params), 0.5, 2);
        if (batch == 1) ct_sample_unbatched(s);
        sample_points(s, 1, ct_shape2(n, COLUMNS), codes);
        if (batch == 2) ct_sample_unbatched(s);
        if (variant % ways) sample_points(s, 2, ct_shape2(n + 1, COLUMNS), codes);
    } else {
        ct_sample_fail(s, bound, ct_kernel_message(k));
    }
    ct_kernel_free(k);
}
