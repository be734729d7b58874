/* gp_nlml_mixed:  v = ½ rᵀα + ½ log det C + n/2 log 2π with a factor in f32, C = L (I + E) Lᵀ, L Lᵀ the factor of C rounded
 *
 * α by conjugate gradients from the factor's solution, with the factor as preconditioner and C in f64: the
 * eigenvalues of the preconditioned matrix are within |E| of 1, so that each step wins as many digits as the
 * factor has. For any α
 *     2 rᵀα - αᵀCα = rᵀC⁻¹r - |C⁻¹r - α|²_C
 * which makes the quadratic form right to the square of what α is.
 *
 *     log det C = 2 Σ log L_ii + tr E - ½ tr E² + O(tr E³),    |tr Eᵏ| <= ρᵏ for k >= 2,  ρ = |E|_F
 * With m columns of random signs V,  E V = L⁻¹ (C - L Lᵀ) L⁻ᵀ V,  whose middle factor is computed in f64,
 *     tr E = avg vᵀEv, with a variance of at most 2ρ²/m;    tr E² = ρ² = avg |Ev|²
 * The mean's part beyond its own deviation is the correction: t max(0, 1 - 2ρ²/(m t²)). What remains is told
 * as the error, three deviations and the series' remainder ρ³/3(1 - ρ); from a ρ of ½ on the value is
 * refused.
 *
 * The gradient is that of nlml.c with (L Lᵀ)⁻¹ for C⁻¹: from Cauchy and Schwarz, off by at most ½ ρ |L⁻¹ ∂C
 * L⁻ᵀ|_F and the inversion's rounding. [Hutchinson 1990; Higham 2002, ch. 12; Rasmussen & Williams 2006, eq.
 * 5.9] */
#include "mixed.h"

#include <math.h>
#include <stdio.h>

#include "gp/factor/packed.h"
#include "gp/kernel/cov.h"

enum { PROBES = 16, MOST_STEPS = 20 };

/* α's error in the norm of C, relative. */
static const double solved = 1e-11;
static const double largest_deviation = 0.5;

typedef struct problem {
    ct_tape *tape;
    ct__mixed mixed;
    uint64_t draw; /* of the signs */
    ct_var theta, X, given, noise;
    ct_var r; /* the given residual over its size, its largest element */
    double size;
    double logs;      /* Σ log L_ii */
    double quadratic; /* rᵀC⁻¹r */
    double shift;     /* log det (I + E) */
    ct_gp_mixed report;
} problem;

static double dot(ct_var a, ct_var b) { return ct_item(ct_sum(ct_mul(a, b), CT_ALL, false)); }

static ct_var product(const problem *p, ct_var V)
{
    ct_var in[] = { p->theta, p->X, p->noise, V };
    return ct_apply(&ct__op_mixed_product, in, 4, &p->mixed, sizeof p->mixed);
}

/* V of any size: what f32 sees is of order 1. */
static ct_var solve(const problem *p, ct__mixed_solve kind, ct_var V)
{
    ct__mixed mixed = p->mixed;
    mixed.solve = kind;
    double size = sqrt(dot(V, V));
    if (!(size > 0) || isinf(size)) return V;
    return ct_scale(
        ct_apply(&ct__op_mixed_solve, (ct_var[]){ ct_scale(V, 1 / size) }, 1, &mixed, sizeof mixed), size);
}

/* Triangle and sweep as in f32, a strip, beside α and its kin a dozen sets of probes, and what a GPU's
 * libraries want. */
uint64_t ct__gp_mixed_bytes(int64_t n, int64_t d)
{
    uint64_t narrow = ct_gp_bytes_needed(n, d, CT_F32, true);
    if (narrow > UINT64_MAX / 2) return UINT64_MAX;
    return narrow + ct__mixed_room(n) + (uint64_t)n * (12 * PROBES + 16) * sizeof(double) + (1u << 20);
}

/* -- log det (I + E) ------------------------------------------------------------------------------------- */

static ct_var signs(const problem *p, int64_t n)
{
    ct_tensor *t = ct_rand_uniform(ct_tape_device(p->tape), CT_F64, ct_shape2(n, PROBES), 0, p->draw);
    if (!t) ct_tape_fail(p->tape, CT_ENOMEM, "gp_nlml_mixed: no memory for %d vectors", PROBES);
    ct_var V = t ? ct_sign(ct_shift(ct_constant(p->tape, t), -0.5)) : (ct_var){ NULL, 0, 0 };
    ct_release(t);
    return V;
}

/* U = L⁻ᵀ V and C U */
static void correct(problem *p, ct_var V, ct_var U, ct_var CU)
{
    ct_var LLU = ct_apply(&ct__op_mixed_gram, &U, 1, &p->mixed, sizeof p->mixed);
    ct_var EV = solve(p, CT__SOLVE_FACTOR, ct_sub(CU, LLU));
    double square = dot(EV, EV) / PROBES, trace = dot(V, EV) / PROBES, variance = 2 * square / PROBES;
    double rho = sqrt(square), share = trace * trace > variance ? 1 - variance / (trace * trace) : 0;
    p->shift = share * trace - square / 2;
    p->report.deviation = rho;
    p->report.error = rho < 1 ? (3 * sqrt(variance) + rho * square / (3 * (1 - rho))) / 2 : INFINITY;
}

/* -- the solution ---------------------------------------------------------------------------------------- */

/* From α and Cα. */
static ct_var refine(problem *p, ct_var alpha, ct_var product_of_alpha)
{
    ct_var left = ct_sub(p->r, product_of_alpha), z = solve(p, CT__SOLVE_BOTH, left), direction = z;
    double gap = dot(left, z), size = dot(p->r, alpha), before;
    for (p->report.steps = 0; p->report.steps < MOST_STEPS && gap > solved * solved * size;
         p->report.steps++) {
        ct_var image = product(p, direction);
        double length = gap / dot(direction, image);
        alpha = ct_add(alpha, ct_scale(direction, length));
        left = ct_sub(left, ct_scale(image, length));
        z = solve(p, CT__SOLVE_BOTH, left);
        before = gap;
        gap = dot(left, z);
        if (!(gap < before / 2)) break;
        direction = ct_add(z, ct_scale(direction, gap / before));
    }
    p->quadratic = dot(ct_add(p->r, left), alpha);
    double whole = dot(p->r, p->r);
    p->report.residual = whole > 0 ? sqrt(dot(left, left) / whole) : 0;
    return alpha;
}

/* -- the whole ------------------------------------------------------------------------------------------- */

static void refuse(const problem *p)
{
    ct_tape_fail(
        p->tape, CT_ENUMERIC,
        "gp_nlml_mixed: a factor in f32 is off by %.2g, more than %.2g: compute in f64, raise the noise, or "
        "drop rows that are alike",
        p->report.deviation, largest_deviation);
}

/* The factorisation's own failure, with a remedy. */
static void refuse_factor(const problem *p)
{
    char why[256];
    snprintf(why, sizeof why, "%s", ct_tape_reason(p->tape));
    ct_tape_fail(
        p->tape, CT_ENUMERIC,
        "gp_nlml_mixed: no factor in f32 (%s): compute in f64, raise the noise, or drop rows that are alike",
        why);
}

/* r of size 1, so that no product of two vectors leaves the range of f64 before the value does. */
static void measure(problem *p)
{
    p->size = ct_item(ct_max(ct_abs(p->given), CT_ALL, false));
    if (!(p->size > 0 && isfinite(p->size))) p->size = 1;
    p->r = ct_div(p->given, ct_scalar(p->tape, CT_F64, p->size));
}

/* α, with everything about the value known. */
static ct_var evaluate(problem *p)
{
    int64_t n = ct_var_shape(p->r).dim[0];
    ct_var in[] = { p->theta, p->X, p->r, p->noise };
    ct_var diagonal = ct_apply(&ct__op_mixed_factor, in, 4, &p->mixed, sizeof p->mixed);
    p->logs = ct_item(ct_sum(ct_log(diagonal), CT_ALL, false));
    if (ct_tape_status(p->tape) == CT_ENUMERIC) refuse_factor(p);
    if (ct_tape_status(p->tape)) return diagonal;
    ct_var V = signs(p, n), U = solve(p, CT__SOLVE_FACTOR_TRANS, V), alpha = solve(p, CT__SOLVE_BOTH, p->r);
    ct_var all = product(p, ct_concat((ct_var[]){ alpha, U }, 2, 1));
    correct(p, V, U, ct_slice(all, 1, 1, 1 + PROBES, 1));
    if (ct_tape_status(p->tape)) return alpha;
    if (!(p->report.deviation <= largest_deviation)) {
        refuse(p);
        return alpha;
    }
    return refine(p, alpha, ct_slice(all, 1, 0, 1, 1));
}

static ct_var with_rule(problem *p, ct_var alpha, bool slopes)
{
    int64_t n = ct_var_shape(p->r).dim[0];
    double v = p->quadratic * p->size * p->size / 2 + p->logs + p->shift / 2 + 0.5 * CT__LOG_2PI * (double)n;
    alpha = ct_scale(alpha, p->size);
    ct_var value = ct_scalar(p->tape, CT_F64, v), theta_bar = value, noise_bar = value, X_bar = value;
    if (slopes) {
        ct_var in[] = { p->theta, p->X, alpha };
        theta_bar = ct_apply(&ct__op_mixed_slopes, in, 3, &p->mixed, sizeof p->mixed);
        noise_bar = ct_scale(ct_sub(ct_output(theta_bar, 1), ct_square(ct_squeeze(alpha, 1))), 0.5);
        if (p->mixed.X_bar) X_bar = ct_output(theta_bar, 2);
    }
    ct_no_grad_end(p->tape);
    ct_var in[] = { value, theta_bar, X_bar, noise_bar, alpha, p->theta, p->X, p->given, p->noise };
    return ct__gp_value_with_rule(in, p->mixed.program);
}

ct_var ct__gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                         uint64_t draw, ct_gp_mixed *report)
{
    const ct_gp_mixed unknown = { .error = INFINITY, .deviation = NAN, .residual = NAN };
    if (report) *report = unknown;
    const ct_cov_program *program = theta.tape ? ct__cov_usable(kernel, theta.tape, "gp_nlml_mixed") : NULL;
    ct_var poisoned = { theta.tape, UINT32_MAX, 0 };
    if (!program || ct_tape_status(theta.tape)) return poisoned;
    ct_tape *tape = theta.tape;
    int64_t n = ct_shape_count(ct_var_shape(r));
    problem p = { .tape = tape,
                  .draw = draw,
                  .theta = theta,
                  .X = X,
                  .noise = noise,
                  .mixed = { .program = program },
                  .report = unknown };
    p.given = ct_reshape(r, ct_shape2(n, 1));
    if (!ct_tape_status(tape) && ct_var_dtype(theta) != CT_F64)
        ct_tape_fail(tape, CT_EDTYPE, "gp_nlml_mixed: takes f64; in f32 ct_gp_nlml does what it can");
    if (ct_tape_status(tape)) return poisoned;
    bool slopes = ct_grad_enabled(tape) &&
                  (ct_var_needs_grad(theta) || ct_var_needs_grad(X) || ct_var_needs_grad(noise));
    p.mixed.X_bar = slopes && ct_var_needs_grad(X);
    p.mixed.triangle = ct_empty(ct_tape_device(tape), CT_F32, ct__packed_shape(n));
    if (!p.mixed.triangle) {
        ct_tape_fail(tape, CT_ENOMEM, "gp_nlml_mixed: no memory for a triangle of %lld rows", (long long)n);
        return poisoned;
    }
    ct_no_grad_begin(tape);
    measure(&p);
    ct_var alpha = evaluate(&p), value = poisoned;
    if (ct_tape_status(tape))
        ct_no_grad_end(tape);
    else
        value = with_rule(&p, alpha, slopes);
    ct_release(p.mixed.triangle);
    if (report) *report = p.report;
    return value;
}

ct_var ct_gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                        ct_gp_mixed *report)
{
    return ct__gp_nlml_mixed(kernel, theta, X, r, noise, 0, report);
}
