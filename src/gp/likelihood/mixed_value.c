/* The value of the likelihood in mixed precision. L is the factor of C rounded to f32, and C = L (I + E) Lᵀ.
 *
 * Conjugate gradients refine α with C in f64; they are preconditioned by L Lᵀ. The eigenvalues of the
 * preconditioned matrix are within |E| of 1, so each step gains as many digits as the factor has. For any α
 *     2 rᵀα - αᵀCα = rᵀC⁻¹r - |C⁻¹r - α|²_C
 * so the error of the quadratic form is the square of α's error.
 *
 *     log det C = 2 Σ log L_ii + tr E - ½ tr E² + O(tr E³),    |tr Eᵏ| <= ρᵏ for k >= 2,  ρ = |E|_F
 * With m columns of random signs V,  E V = L⁻¹ (C - L Lᵀ) L⁻ᵀ V,  where C - L Lᵀ is applied in f64,
 *     t = avg vᵀEv = tr E, with a variance of at most 2ρ²/m;    avg |Ev|² = ρ² = tr E²
 * The correction shrinks noise in t: it is t max(0, 1 - 2ρ²/(m t²)). The reported error is half of three
 * deviations, plus half of the series' remainder ρ³/3(1 - ρ). From ρ = ½ on the value is refused.
 * [Hutchinson 1990; Higham 2002, ch. 12] */
#include "mixed_value.h"

#include <math.h>

#include "gp/kernel/prior.h"

enum { PROBES = CT__MIXED_PROBES, MOST_STEPS = 20 };

/* The relative error of α in the norm of C at which refinement ends. */
static const double solved = 1e-11;

/* A strip, vectors, and ten sets of probes. */
uint64_t ct__mixed_value_bytes(int64_t n)
{
    return ct__mixed_bytes(n) + (uint64_t)n * (10 * PROBES + 16) * sizeof(double);
}

/* -- vectors --------------------------------------------------------------------------------------------- */

typedef struct problem {
    ct_call *c;
    const ct__mixed *mixed;
    ct_view r, alpha, left, z, direction, image; /* (n, 1); r is scaled by its largest element */
    ct_view V, U, E, half;                       /* (n, PROBES); E overlays `both`; Lᵀ U */
    ct_view both, images;                        /* (n, 1 + PROBES): α and U; their products with C */
    ct_view number, one;                         /* (1, 1): a sum; 1 */
    double logs, quadratic, shift;               /* Σ log L_ii; rᵀC⁻¹r; log det (I + E) */
    ct__mixed_value *out;
} problem;

/* Called after the factorisation, which has scratch memory of its own. */
static void allocate(problem *p)
{
    int64_t n = p->mixed->n, all = n * PROBES;
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
    ct__mixed_solve_in_place(p->mixed, kind, out);
    scale(p, out, size, out);
}

/* -- the value ------------------------------------------------------------------------------------------- */

/* Scales r, so that products of two vectors do not overflow before the value does. */
static void measure(problem *p, ct_view residual)
{
    ct_view given = ct_view_reshape(residual, ct_shape2(p->mixed->n, 1)), size = p->number;
    ct_prim_map1(p->c, CT_MAP_abs, NULL, given, p->r);
    p->out->size = reduce(p, CT_REDUCE_MAX, p->r);
    if (!ct__positive(p->out->size)) p->out->size = 1;
    ct_prim_fill(p->c, size, p->out->size);
    ct_prim_map2(p->c, CT_MAP_div, given, size, p->r);
}

/* Computes log det (I + E) from C U, where U = L⁻ᵀ V. */
static void correct(problem *p, ct_view CU)
{
    ct__mixed_gram(p->mixed, p->U, p->half, p->E);
    ct_prim_map2(p->c, CT_MAP_sub, CU, p->E, p->E);
    solve(p, CT__SOLVE_FACTOR, p->E, p->E);
    double square = dot(p, p->E, p->E) / PROBES, trace = dot(p, p->V, p->E) / PROBES;
    double variance = 2 * square / PROBES, rho = sqrt(square);
    double share = trace * trace > variance ? 1 - variance / (trace * trace) : 0;
    p->shift = share * trace - square / 2;
    p->out->report.deviation = rho;
    p->out->report.error = rho < 1 ? (3 * sqrt(variance) + rho * square / (3 * (1 - rho))) / 2 : INFINITY;
}

/* Refines α by conjugate gradients, starting from α and Cα. */
static void refine(problem *p, ct_view C_alpha)
{
    ct_prim_map2(p->c, CT_MAP_sub, p->r, C_alpha, p->left);
    solve(p, CT__SOLVE_BOTH, p->left, p->z);
    ct_prim_copy(p->c, p->z, p->direction);
    double gap = dot(p, p->left, p->z), enough = solved * solved * dot(p, p->r, p->alpha), before;
    for (; p->out->report.steps < MOST_STEPS && gap > enough; p->out->report.steps++) {
        ct__mixed_product(p->mixed, p->direction, p->image);
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
    p->out->report.residual = whole > 0 ? sqrt(rest / whole) : 0;
    ct_prim_map2(p->c, CT_MAP_add, p->r, p->left, p->left);
    p->quadratic = dot(p, p->left, p->alpha);
}

bool ct__mixed_evaluate(const ct__mixed *m, ct_view r, ct_view V, ct__mixed_value *out)
{
    ct_call *c = m->c;
    problem p = { .c = c, .mixed = m, .V = V, .number = ct_scratch(c, CT_F64, ct_shape2(1, 1)), .out = out };
    ct_view diagonal = ct_scratch(c, CT_F64, ct_shape2(m->n, 1));
    ct__mixed_factor(m, ct_view_squeeze(diagonal, 1));
    ct_prim_map1(c, CT_MAP_log, NULL, diagonal, diagonal);
    p.logs = reduce(&p, CT_REDUCE_SUM, diagonal);
    if (!isfinite(p.logs)) return false;
    allocate(&p);
    measure(&p, r);
    solve(&p, CT__SOLVE_FACTOR_TRANS, V, p.U);
    solve(&p, CT__SOLVE_BOTH, p.r, p.alpha);
    ct_prim_copy(c, p.alpha, ct__cols(p.both, 0, 1));
    ct_prim_copy(c, p.U, ct__cols(p.both, 1, 1 + PROBES));
    ct__mixed_product(m, p.both, p.images);
    correct(&p, ct__cols(p.images, 1, 1 + PROBES));
    if (!(out->report.deviation <= CT__MIXED_DEVIATION)) return false;
    refine(&p, ct__cols(p.images, 0, 1));
    double fit = p.quadratic * out->size * out->size / 2;
    out->value = fit + p.logs + p.shift / 2 + 0.5 * CT__LOG_2PI * (double)m->n;
    out->alpha = ct_view_squeeze(p.alpha, 1);
    out->workspace = ct_view_squeeze(p.left, 1);
    return true;
}
