/* gp_nlml_mixed:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = k(X, X) + diag(noise) = L (I + E) Lᵀ,  α = C⁻¹r
 * adjoint:        as in dense.c, with (L Lᵀ)⁻¹ for C⁻¹
 *
 * L is the factor of C rounded to f32; mixed_value.c computes the value with it.
 *
 * By the Cauchy-Schwarz inequality the error of the gradient is at most ½ ρ |L⁻¹ ∂C L⁻ᵀ|_F plus the rounding
 * of the inversion, with ρ = |E|_F. [Rasmussen & Williams 2006, eq. 5.9] */
#include "mixed.h"

#include <math.h>
#include <stdio.h>

#include <cotangent/gp/likelihood.h>

#include "dense.h"
#include "gp/model/graph.h"
#include "mixed_value.h"

/* Inputs and outputs are those of density.h, then the signs V (n, CT__MIXED_PROBES) as last input and the
 * report as last output. */
enum { SIGNS = CT__DENSITY_INPUTS, INPUTS };

static const ct_gp_mixed unknown = { .error = INFINITY, .deviation = NAN, .residual = NAN };

/* The memory of a likelihood in f32, of the value, and of a GPU's libraries. */
uint64_t ct__gp_mixed_bytes(const ct_device *device, int64_t n, int64_t d)
{
    uint64_t narrow = ct_gp_bytes_needed(device, n, d, CT_F32, true);
    if (narrow > UINT64_MAX / 2) return UINT64_MAX;
    return narrow + ct__mixed_value_bytes(n) + (1u << 20);
}

/* -- the op ---------------------------------------------------------------------------------------------- */

static ct_shape shape(ct_call *c)
{
    ct_shape value = ct__density_shape(c, false, ct__nlml_wants_inverse(c));
    ct_require(c, value.ndim == 0, CT_ESHAPE, "takes no batch: use ct_gp_nlml, or one call for each member");
    ct_save_for_vjp(c, ct_outs(c), CT_F64, ct_shape1(4));
    return value;
}

/* Computes the gradient for v̄ = 1; overwrites L. */
static void slopes(ct_call *c, const ct__mixed *m, const ct__mixed_value *v)
{
    ct_view r_bar = ct_result_at(c, ct__bar(CT__RESIDUAL)), alpha = ct_view_reshape(r_bar, ct_shape1(m->n));
    ct_prim_map1(c, CT_MAP_scale, (double[]){ v->size, 0 }, v->alpha, alpha);
    if (!ct__nlml_wants_inverse(c)) return;
    ct_view noise_bar = ct_result_at(c, ct__bar(CT__NOISE));
    ct__mixed_slopes(m, alpha, noise_bar, ct_result_at(c, ct__bar(CT__THETA)), ct__density_X_bar(c));
    ct__nlml_noise_bar(c, 0.5, alpha, v->workspace, noise_bar);
}

static void forward(ct_call *c)
{
    const ct__mixed m = ct__mixed_of(c, ct_attr(c), ct_arg(c, CT__THETA), ct_arg(c, CT__POINTS),
                                     ct_arg(c, CT__NOISE), CT__MIXED_PROBES);
    ct__mixed_value v = { .report = unknown };
    if (ct__mixed_evaluate(&m, ct_arg(c, CT__RESIDUAL), ct_arg(c, SIGNS), &v)) {
        ct_prim_fill(c, ct_result(c), v.value);
        ct__density_flag(c);
        if (ct_call_recorded(c)) slopes(c, &m, &v);
    } else {
        ct__density_fail(c);
    }
    const double report[] = { v.report.error, v.report.deviation, v.report.residual, v.report.steps };
    ct_view out = ct_result_at(c, ct_outs(c) - 1);
    for (int i = 0; i < 4; i++) ct_prim_fill(c, ct__rows(out, i, i + 1), report[i]);
}

static void vjp(ct_rule *g) { ct__density_vjp(g, ct__nlml_composed); }

static const ct_op mixed_op = {
    .name = "gp_nlml_mixed", .n_in = INPUTS, .shape = shape, .forward = forward, .vjp = vjp
};

/* -- the call -------------------------------------------------------------------------------------------- */

static ct_var signs(ct_tape *tape, int64_t n, uint64_t draw)
{
    ct_tensor *uniform =
        ct_rand_uniform(ct_tape_device(tape), CT_F64, ct_shape2(n, CT__MIXED_PROBES), 0, draw);
    return ct_sign(ct_shift(ct__gp_input(tape, uniform, false), -0.5));
}

/* Waits for the device. */
static ct_gp_mixed report_of(ct_var value)
{
    double x[4];
    int last = ct_var_needs_grad(value) ? ct__bar(CT__DENSITY_INPUTS) : 1; /* without a rule no slopes */
    ct_tensor *t = ct_value(ct_output(value, last));
    if (!t || ct_read(t, x, sizeof x)) return unknown;
    return (ct_gp_mixed){ .error = x[0], .deviation = x[1], .residual = x[2], .steps = (int)x[3] };
}

/* Refuses a value without a factor, or with a factor whose error is too large. */
static void judge(ct_tape *tape, const ct_gp_mixed *report)
{
    static const char remedy[] = "compute in f64, raise the noise, or drop rows that are alike";
    char why[256];
    ct_status status = ct_tape_status(tape);
    snprintf(why, sizeof why, "%s", ct_tape_reason(tape));
    if (status == CT_ENUMERIC && isnan(report->deviation))
        ct_tape_fail(tape, CT_ENUMERIC, "gp_nlml_mixed: no factor in f32 (%s): %s", why, remedy);
    if (!status && !(report->deviation <= CT__MIXED_DEVIATION))
        ct_tape_fail(tape, CT_ENUMERIC, "gp_nlml_mixed: a factor in f32 is off by %.2g, more than %.2g: %s",
                     report->deviation, CT__MIXED_DEVIATION, remedy);
}

/* ct_gp_nlml_mixed with the random signs of `draw`: each draw gives an independent estimate. */
static ct_var nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                         uint64_t draw, ct_gp_mixed *report)
{
    if (report) *report = unknown;
    ct_tape *tape = theta.tape;
    if (tape && ct_var_dtype(theta) != CT_F64)
        ct_tape_fail(tape, CT_EDTYPE, "gp_nlml_mixed: takes f64: use ct_gp_nlml for f32");
    if (ct_tape_status(tape)) return (ct_var){ tape, UINT32_MAX, 0 };
    ct_var in[] = { theta, X, r, noise, signs(tape, ct_shape_count(ct_var_shape(r)), draw) };
    ct_var value = ct__cov_apply(&mixed_op, kernel, in, INPUTS);
    const ct_gp_mixed reported = report_of(value);
    judge(tape, &reported);
    if (report) *report = reported;
    return value;
}

ct_var ct_gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                        ct_gp_mixed *report)
{
    return nlml_mixed(kernel, theta, X, r, noise, 0, report);
}

/* -- the row --------------------------------------------------------------------------------------------- */

static uint64_t bytes(const ct_gp *gp, int64_t d, bool fitting)
{
    (void)d;
    return fitting ? ct__gp_mixed_bytes(gp->device, gp->rows.n, gp->rows.d) : 0;
}

static ct_var objective(ct_gp *gp, const ct__graph *g)
{
    ct_gp_mixed report;
    ct_var v = nlml_mixed(gp->kernel, g->theta, g->X, g->residual, g->variance, g->draw, &report);
    gp->likelihood.error = report.error;
    return v;
}

const ct__likelihood ct__mixed_precision = {
    .name = "mixed precision",
    .is = CT__IN_MIXED_PRECISION,
    .refusal = { { CT__IN_F32 | CT__BY_LEAVE_ONE_OUT,
                   "mixed precision is for the likelihood of models in f64" } },
    .noisy = true,
    .bytes = bytes,
    .objective = objective
};
