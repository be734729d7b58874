/* gp_nlml_mixed:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = k(X, X) + diag(noise) = L (I + E) Lᵀ,  α = C⁻¹r
 * adjoint:        as in nlml.c, with (L Lᵀ)⁻¹ for C⁻¹
 *
 * L is the factor of C rounded to f32. Conjugate gradients refine α with C in f64; they are preconditioned
 * by L Lᵀ. The eigenvalues of the preconditioned matrix are within |E| of 1, so each step gains as many
 * digits as the factor has. For any α
 *     2 rᵀα - αᵀCα = rᵀC⁻¹r - |C⁻¹r - α|²_C
 * so the error of the quadratic form is the square of α's error.
 *
 *     log det C = 2 Σ log L_ii + tr E - ½ tr E² + O(tr E³),    |tr Eᵏ| <= ρᵏ for k >= 2,  ρ = |E|_F
 * With m columns of random signs V,  E V = L⁻¹ (C - L Lᵀ) L⁻ᵀ V,  where C - L Lᵀ is applied in f64,
 *     t = avg vᵀEv = tr E, with a variance of at most 2ρ²/m;    avg |Ev|² = ρ² = tr E²
 * The correction shrinks noise in t: it is t max(0, 1 - 2ρ²/(m t²)). The reported error is half of three
 * deviations, plus half of the series' remainder ρ³/3(1 - ρ). From ρ = ½ on the value is refused.
 *
 * By the Cauchy-Schwarz inequality the error of the gradient is at most ½ ρ |L⁻¹ ∂C L⁻ᵀ|_F plus the rounding
 * of the inversion. [Hutchinson 1990; Higham 2002, ch. 12; Rasmussen & Williams 2006, eq. 5.9] */
#include "mixed.h"

#include <math.h>
#include <stdio.h>

#include <cotangent/gp/likelihood.h>

#include "dense.h"
#include "gp/kernel/prior.h"
#include "gp/model/graph.h"
#include "mixed_strips.h"

/* Inputs and outputs are those of density.h, then the signs V (n, PROBES) as last input and the report as
 * last output. */
enum { SIGNS = CT__DENSITY_INPUTS, INPUTS };
enum { PROBES = 16, MOST_STEPS = 20 };

/* `solved`: the relative error of α in the norm of C at which refinement ends. */
static const double solved = 1e-11;
static const double largest_deviation = 0.5;
static const ct_gp_mixed unknown = { .error = INFINITY, .deviation = NAN, .residual = NAN };

/* The memory of a likelihood in f32, a strip, vectors, ten sets of probes, and a GPU's libraries. */
uint64_t ct__gp_mixed_bytes(const ct_device *device, int64_t n, int64_t d)
{
    uint64_t narrow = ct_gp_bytes_needed(device, n, d, CT_F32, true);
    if (narrow > UINT64_MAX / 2) return UINT64_MAX;
    return narrow + ct__mixed_bytes(n) + (uint64_t)n * (10 * PROBES + 16) * sizeof(double) + (1u << 20);
}

/* -- vectors --------------------------------------------------------------------------------------------- */

typedef struct problem {
    ct_call *c;
    ct__mixed mixed;
    ct_view r, alpha, left, z, direction, image; /* (n, 1); r is scaled by its largest element */
    ct_view V, U, E, half;                       /* (n, PROBES); E overlays `both`; Lᵀ U */
    ct_view both, images;                        /* (n, 1 + PROBES): α and U; their products with C */
    ct_view number, one;                         /* (1, 1): a sum; 1 */
    double size, logs;                           /* r's largest element; Σ log L_ii */
    double quadratic, shift;                     /* rᵀC⁻¹r; log det (I + E) */
    ct_gp_mixed report;
} problem;

/* Called after the factorisation, which has scratch memory of its own. */
static void allocate(problem *p)
{
    int64_t n = p->mixed.n, all = n * PROBES;
    ct_view columns = ct_scratch(p->c, CT_F64, ct_shape2(6 * n, 1));
    ct_view *column[] = { &p->r, &p->alpha, &p->left, &p->z, &p->direction, &p->image };
    for (int i = 0; i < 6; i++) *column[i] = ct__rows(columns, i * n, (i + 1) * n);
    ct_view wide = ct_scratch(p->c, CT_F64, ct_shape1(all + n));
    p->both = ct_view_reshape(wide, ct_shape2(n, 1 + PROBES));
    p->E = ct_view_reshape(ct__rows(wide, 0, all), ct_shape2(n, PROBES));
    p->images = ct_scratch(p->c, CT_F64, ct_shape2(n, 1 + PROBES));
    p->U = ct_scratch(p->c, CT_F64, ct_shape2(n, PROBES));
    p->half = ct_scratch(p->c, CT_F64, ct_shape2(n, PROBES));
    p->one = ct_scratch(p->c, CT_F64, ct_shape2(1, 1));
    ct_prim_fill(p->c, p->one, 1);
}

/* Σ or max of a column. */
static double reduce(const problem *p, ct_reduction f, ct_view x)
{
    ct_prim_reduce(p->c, f, x, p->number);
    return ct_call_item(p->c, p->number);
}

static double dot(const problem *p, ct_view a, ct_view b)
{
    const int64_t n = ct_view_count(a);
    ct_prim_gemm(p->c, 1, ct_view_reshape(a, ct_shape2(1, n)), ct_view_reshape(b, ct_shape2(n, 1)), 0,
                 p->number);
    return ct_call_item(p->c, p->number);
}

static void scale(const problem *p, ct_view x, double by, ct_view out)
{
    ct_prim_map1(p->c, CT_MAP_scale, (double[]){ by, 0 }, x, out);
}

/* y = a x + b y, for columns */
static void add_scaled(const problem *p, double a, ct_view x, double b, ct_view y)
{
    ct_prim_gemm(p->c, a, x, p->one, b, y);
}

/* Scales V, so that f32 can hold it whatever its size. */
static void solve(const problem *p, ct__mixed_solve kind, ct_view V, ct_view out)
{
    double size = sqrt(dot(p, V, V));
    bool plain = !ct__positive(size);
    scale(p, V, plain ? 1 : 1 / size, out);
    if (plain) return;
    ct__mixed_solve_in_place(&p->mixed, kind, out);
    scale(p, out, size, out);
}

/* -- the value ------------------------------------------------------------------------------------------- */

/* Scales r, so that products of two vectors do not overflow before the value does. */
static void measure(problem *p)
{
    ct_view given = ct_view_reshape(ct_arg(p->c, CT__RESIDUAL), ct_shape2(p->mixed.n, 1)), size = p->number;
    ct_prim_map1(p->c, CT_MAP_abs, NULL, given, p->r);
    p->size = reduce(p, CT_REDUCE_MAX, p->r);
    if (!ct__positive(p->size)) p->size = 1;
    ct_prim_fill(p->c, size, p->size);
    ct_prim_map2(p->c, CT_MAP_div, given, size, p->r);
}

/* Computes log det (I + E) from C U, where U = L⁻ᵀ V. */
static void correct(problem *p, ct_view CU)
{
    ct__mixed_gram(&p->mixed, p->U, p->half, p->E);
    ct_prim_map2(p->c, CT_MAP_sub, CU, p->E, p->E);
    solve(p, CT__SOLVE_FACTOR, p->E, p->E);
    double square = dot(p, p->E, p->E) / PROBES, trace = dot(p, p->V, p->E) / PROBES;
    double variance = 2 * square / PROBES, rho = sqrt(square);
    double share = trace * trace > variance ? 1 - variance / (trace * trace) : 0;
    p->shift = share * trace - square / 2;
    p->report.deviation = rho;
    p->report.error = rho < 1 ? (3 * sqrt(variance) + rho * square / (3 * (1 - rho))) / 2 : INFINITY;
}

/* Refines α by conjugate gradients, starting from α and Cα. */
static void refine(problem *p, ct_view C_alpha)
{
    ct_prim_map2(p->c, CT_MAP_sub, p->r, C_alpha, p->left);
    solve(p, CT__SOLVE_BOTH, p->left, p->z);
    ct_prim_copy(p->c, p->z, p->direction);
    double gap = dot(p, p->left, p->z), enough = solved * solved * dot(p, p->r, p->alpha), before;
    for (; p->report.steps < MOST_STEPS && gap > enough; p->report.steps++) {
        ct__mixed_product(&p->mixed, p->direction, p->image);
        double length = gap / dot(p, p->direction, p->image);
        add_scaled(p, length, p->direction, 1, p->alpha);
        add_scaled(p, -length, p->image, 1, p->left);
        solve(p, CT__SOLVE_BOTH, p->left, p->z);
        before = gap;
        gap = dot(p, p->left, p->z);
        if (!(gap < before / 2)) break;
        add_scaled(p, 1, p->z, gap / before, p->direction);
    }
    double whole = dot(p, p->r, p->r), rest = dot(p, p->left, p->left);
    p->report.residual = whole > 0 ? sqrt(rest / whole) : 0;
    ct_prim_map2(p->c, CT_MAP_add, p->r, p->left, p->left);
    p->quadratic = dot(p, p->left, p->alpha);
}

/* Computes the parts of the value, and α. False if f32 has no factor, or one with too large an error. */
static bool evaluate(problem *p)
{
    ct_view diagonal = ct_scratch(p->c, CT_F64, ct_shape2(p->mixed.n, 1));
    ct__mixed_factor(&p->mixed, ct_view_squeeze(diagonal, 1));
    ct_prim_map1(p->c, CT_MAP_log, NULL, diagonal, diagonal);
    p->logs = reduce(p, CT_REDUCE_SUM, diagonal);
    if (!isfinite(p->logs)) return false;
    allocate(p);
    measure(p);
    solve(p, CT__SOLVE_FACTOR_TRANS, p->V, p->U);
    solve(p, CT__SOLVE_BOTH, p->r, p->alpha);
    ct_prim_copy(p->c, p->alpha, ct__cols(p->both, 0, 1));
    ct_prim_copy(p->c, p->U, ct__cols(p->both, 1, 1 + PROBES));
    ct__mixed_product(&p->mixed, p->both, p->images);
    correct(p, ct__cols(p->images, 1, 1 + PROBES));
    if (!(p->report.deviation <= largest_deviation)) return false;
    refine(p, ct__cols(p->images, 0, 1));
    return true;
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
static void slopes(const problem *p)
{
    ct_call *c = p->c;
    ct_view r_bar = ct_result_at(c, ct__bar(CT__RESIDUAL)),
            alpha = ct_view_reshape(r_bar, ct_shape1(p->mixed.n));
    scale(p, ct_view_squeeze(p->alpha, 1), p->size, alpha);
    if (!ct__nlml_wants_inverse(c)) return;
    ct_view noise_bar = ct_result_at(c, ct__bar(CT__NOISE));
    ct__mixed_slopes(&p->mixed, alpha, noise_bar, ct_result_at(c, ct__bar(CT__THETA)), ct__density_X_bar(c));
    ct__nlml_noise_bar(c, 0.5, alpha, ct_view_squeeze(p->left, 1), noise_bar);
}

static void forward(ct_call *c)
{
    problem p = { .c = c,
                  .mixed = ct__mixed_of(c, ct_attr(c), ct_arg(c, CT__THETA), ct_arg(c, CT__POINTS),
                                        ct_arg(c, CT__NOISE), PROBES),
                  .V = ct_arg(c, SIGNS),
                  .number = ct_scratch(c, CT_F64, ct_shape2(1, 1)),
                  .report = unknown };
    if (evaluate(&p)) {
        double fit = p.quadratic * p.size * p.size / 2;
        ct_prim_fill(c, ct_result(c), fit + p.logs + p.shift / 2 + 0.5 * CT__LOG_2PI * (double)p.mixed.n);
        ct__density_flag(c);
        if (ct_call_recorded(c)) slopes(&p);
    } else {
        ct__density_fail(c);
    }
    const double report[] = { p.report.error, p.report.deviation, p.report.residual, p.report.steps };
    ct_view out = ct_result_at(c, ct_outs(c) - 1);
    for (int i = 0; i < 4; i++) ct_prim_fill(c, ct__rows(out, i, i + 1), report[i]);
}

static void vjp(ct_vjp *g) { ct__density_vjp(g, ct__nlml_composed); }

static const ct_op mixed_op = {
    .name = "gp_nlml_mixed", .n_in = INPUTS, .shape = shape, .forward = forward, .vjp = vjp
};

/* -- the call -------------------------------------------------------------------------------------------- */

static ct_var signs(ct_tape *tape, int64_t n, uint64_t draw)
{
    ct_tensor *uniform = ct_rand_uniform(ct_tape_device(tape), CT_F64, ct_shape2(n, PROBES), 0, draw);
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
    if (!status && !(report->deviation <= largest_deviation))
        ct_tape_fail(tape, CT_ENUMERIC, "gp_nlml_mixed: a factor in f32 is off by %.2g, more than %.2g: %s",
                     report->deviation, largest_deviation, remedy);
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
