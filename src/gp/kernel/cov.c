/* cov:      K_ij = k(x_i, z_j)                     theta (P), X (n, d), Z (m, d) -> (n, m)
 * adjoint:  theta_bar_p = Σ_ij K̄_ij ∂K_ij/∂theta_p,   x̄_i = Σ_j K̄_ij ∂k(x_i, z_j)/∂x_i,   z̄_j likewise
 *
 * One primitive each way computes entries and derivatives tile by tile and stores neither distances nor ∂K.
 * z̄ is the x̄ of the transposed problem, k being symmetric. With two inputs, theta and X, the matrix is the
 * symmetric one. */
#include "cov.h"

#include "kernel_tree.h"

#include <stdio.h>
#include <stdlib.h>

bool ct__cov_inputs_fit(ct_call *c)
{
    const ct_cov_program *p = ct_attr(c);
    if (!ct_require(c, ct_args(c) == 2 || ct_args(c) == 3, CT_EINVAL, "takes theta, X and perhaps Z") ||
        !ct_require(c, p && p->n_nodes <= CT__KERNEL_MAX_NODES, CT_EINVAL,
                    "needs a kernel's program as its attribute"))
        return false;
    if (!ct_require(c, ct_arg_ndim(c, 0) == 1 && ct_arg_dim(c, 0, 0) == p->n_params, CT_ESHAPE,
                    "theta must be a vector of the kernel's %d parameters", (int)p->n_params))
        return false;
    for (int i = 1; i < ct_args(c); i++)
        if (!ct_require(c, ct_arg_ndim(c, i) == 2 && ct_arg_dim(c, i, 1) == p->input_dims, CT_ESHAPE,
                        "the points must be a matrix of %d columns, as the kernel is bound to",
                        (int)p->input_dims))
            return false;
    return true;
}

/* Input i; no view in the symmetric case, which has no Z. */
static ct_view other(const ct_call *c, int i) { return i < ct_args(c) ? ct_arg(c, i) : ct_no_view(); }

/* -- backward: inputs K̄, theta, X [, Z] ----------------------------------------------------------------- */

typedef struct wanted {
    const ct_cov_program *program; /* the recorded call's */
    bool theta, x;                 /* output 0 is the first of them that is wanted */
} wanted;

static ct_shape bar_shape(ct_call *c)
{
    const wanted *w = ct_attr(c);
    if (w->theta && w->x) ct_more_out(c, 1, ct_arg(c, 2).dtype, ct_arg_shape(c, 2));
    return ct_arg_shape(c, w->theta ? 1 : 2);
}

static void bar_forward(ct_call *c)
{
    const wanted *w = ct_attr(c);
    ct_view theta_bar = w->theta ? ct_result(c) : ct_no_view();
    ct_view x_bar = w->x ? ct_result_at(c, w->theta) : ct_no_view();
    ct_prim_covariance_bar(c, w->program, ct_arg(c, 1), ct_arg(c, 2), other(c, 3), ct_arg(c, 0), theta_bar,
                           x_bar);
}

static const ct_op bar_op = { .name = "cov_bar", .n_in = -1, .shape = bar_shape, .forward = bar_forward };

/* Gives the wanted cotangents of theta (input 0) and of points (input x). */
static void give(ct_vjp *g, ct_var K_bar, int x, int z, wanted w)
{
    ct_var in[4] = { K_bar, ct_in(g, 0), ct_in(g, x), z < 0 ? K_bar : ct_in(g, z) };
    ct_var bar = ct_apply(&bar_op, in, z < 0 ? 3 : 4, &w, sizeof w);
    if (w.theta) ct_give_in_bar(g, 0, bar);
    if (w.x) ct_give_in_bar(g, x, ct_output(bar, w.theta));
}

/* -- the op ---------------------------------------------------------------------------------------------- */

static ct_shape shape(ct_call *c)
{
    if (!ct__cov_inputs_fit(c)) return ct_shape0();
    return ct_shape2(ct_arg_dim(c, 1, 0), ct_arg_dim(c, ct_args(c) - 1, 0));
}

static void forward(ct_call *c)
{
    ct_prim_covariance(c, ct_attr(c), ct_arg(c, 0), ct_arg(c, 1), other(c, 2), ct_result(c));
}

static void vjp(ct_vjp *g)
{
    const ct_cov_program *p = ct_vjp_attr(g);
    if (ct_recording(g)) {
        ct__cov_vjp_recorded(g, p);
        return;
    }
    const int z = ct_vjp_args(g) == 3 ? 2 : -1;
    const bool theta = ct_wants(g, 0), x = ct_wants(g, 1), at_z = z > 0 && ct_wants(g, z);
    ct_var K_bar = ct_out_bar(g);
    if (x || (theta && !at_z)) give(g, K_bar, 1, z, (wanted){ p, theta, x });
    if (at_z) give(g, ct_t(K_bar), z, 1, (wanted){ p, theta && !x, true });
}

/* -- samples --------------------------------------------------------------------------------------------- */

static const char *const sampled[] = {
    "rbf(ard)",
    "linear(ard) + constant",
    "poly(degree=3)",
    "scale * rbf(ard) + scale * periodic * matern52 + white",
    "(scale * rq + linear) * (constant + cosine(dims=1)) * rbf",
};

/* Every profile alone, in one of these ways: without lengthscales of one column, since a cosine of several
 * columns is indefinite; then the above. */
static ct_kernel *sampled_kernel(int i)
{
    static const char *const ways[] = { "", "(ard)", "(dims=2:0)", "(ard, dims=0:2)" };
    if (i >= CT_COV_PROFILES) return ct_kernel_parse(sampled[i - CT_COV_PROFILES]);
    const kernel_kind *kind = &ct__kernel_kinds[i];
    char text[64];
    snprintf(text, sizeof text, "%s%s", kind->text, kind->lengthscales ? ways[i % 4] : "(dims=2)");
    return ct_kernel_parse(text);
}

void ct__cov_sample(ct_sample *s, bool pairs)
{
    enum { KERNELS = CT_COV_PROFILES + sizeof sampled / sizeof *sampled, COLUMNS = 3 };
    int variant = ct_sample_variant(s, pairs ? 2 * KERNELS : KERNELS);
    int64_t n = ct_sample_size(s);
    ct_kernel *k = sampled_kernel(variant % KERNELS);
    ct_status bound = ct_kernel_bind(k, COLUMNS);
    if (bound == CT_OK) {
        const ct_cov_program *p = ct_kernel_program(k);
        ct_sample_attr(s, p, (size_t)p->bytes);
        ct_sample_unbatched(s);
        ct_sample_uniform(s, 0, ct_shape1(p->n_params), 0.5, 2);
        ct_sample_uniform(s, 1, ct_shape2(n, COLUMNS), -0.8, 0.8);
        if (variant >= KERNELS) ct_sample_uniform(s, 2, ct_shape2(n + 1, COLUMNS), -0.8, 0.8);
    } else {
        ct_sample_fail(s, bound, ct_kernel_message(k));
    }
    ct_kernel_free(k);
}

static void sample(ct_sample *s) { ct__cov_sample(s, true); }

const ct_op ct_op_cov = {
    .name = "cov", .n_in = -1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

/* -- calls ----------------------------------------------------------------------------------------------- */

const ct_cov_program *ct__cov_usable(const ct_kernel *k, ct_tape *tape, const char *who)
{
    const ct_cov_program *p = ct_kernel_program(k);
    if (!p && ct_kernel_status(k))
        ct_tape_fail(tape, ct_kernel_status(k), "%s: %s", who, ct_kernel_message(k));
    else if (!p)
        ct_tape_fail(tape, CT_EINVAL,
                     "%s: the kernel does not know its inputs' columns: ct_kernel_bind it first", who);
    return p;
}

/* What stands for a result once the tape has failed. */
static ct_var poisoned(ct_tape *tape) { return (ct_var){ tape, UINT32_MAX, 0 }; }

ct_var ct__cov_apply(const ct_op *op, const ct_kernel *k, const ct_var *in, int n)
{
    const ct_cov_program *p = in[0].tape ? ct__cov_usable(k, in[0].tape, op->name) : NULL;
    return p ? ct_apply(op, in, n, p, (size_t)p->bytes) : poisoned(in[0].tape);
}

ct_var ct_cov(const ct_kernel *k, ct_var theta, ct_var X, ct_var Z)
{
    bool same = X.tape == Z.tape && X.index == Z.index && X.epoch == Z.epoch;
    return ct__cov_apply(&ct_op_cov, k, (ct_var[]){ theta, X, Z }, same ? 2 : 3);
}

ct_var ct_kernel_theta(const ct_kernel *k, ct_tape *tape, ct_dtype dtype)
{
    const ct_cov_program *p = tape ? ct__cov_usable(k, tape, "kernel_theta") : NULL;
    if (!p) return poisoned(tape);
    double *values = malloc((size_t)p->n_params * sizeof *values + 1);
    if (!values) {
        ct_tape_fail(tape, CT_ENOMEM, "kernel_theta: no memory for %d parameters", (int)p->n_params);
        return poisoned(tape);
    }
    for (int32_t i = 0; i < p->n_params; i++) values[i] = ct_kernel_param(k, i)->value;
    ct_tensor *wide = ct_from(ct_tape_device(tape), CT_F64, ct_shape1(p->n_params), values);
    free(values);
    ct_tensor *theta = wide ? ct_tensor_cast(wide, dtype) : NULL;
    ct_device *device = ct_tape_device(tape);
    if (!theta) ct_tape_fail(tape, ct_last_status(device), "kernel_theta: %s", ct_message(device));
    ct_var leaf = ct_leaf(tape, theta);
    ct_release(theta);
    ct_release(wide);
    return leaf;
}
