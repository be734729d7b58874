/* The factors of a ridge solve, and the choice between its two forms. */
#include "ridge.h"

#include <float.h>
#include <math.h>

/* Declares output k with its shape and returns it. */
static ct_view keep(ct_call *c, int k, ct_dtype dtype, ct_shape shape)
{
    ct_view v = ct_scratch(c, dtype, shape);
    ct_set_result(c, k, v);
    return v;
}

/* Computes V and L of the push-through form. Returns L. */
static ct_view push_factor(ct_call *c, const ct__ridge *s)
{
    ct_view V = keep(c, CT__RIDGE_V, s->dtype, ct_view_shape(s->B)),
            L = keep(c, CT__RIDGE_L, s->dtype, ct__ridge_shape(s, s->r, s->r));
    ct__ridge_push_factor(c, s, V, L);
    return L;
}

/* 1/κ of L Lᵀ for the worst member of L, lower with n rows. κ₁(L) is about √n times κ₂(L). */
static double rcond_of_square(ct_call *c, ct_view L, int64_t n)
{
    const double rcond = ct__ridge_rcond(c, ct_view_transpose(L));
    return (double)n * rcond * rcond;
}

/* Chooses the form that loses fewer digits. The push-through form amplifies round-off by max(κ(S), κ(D)). The
 * primal form amplifies it by κ(G) or, after refinement, by max(κ(G)² ε, √κ(G)). κ(G) is known only after
 * factorising an n×n matrix for every sample, so it is not computed if κ(S) and κ(D) are small enough. On an
 * asynchronous device the conditions are not read, because that would wait; it flags samples that have lost
 * too many digits. */
static void push_or_primal(ct_call *c, const ct__ridge *s)
{
    const double eps = s->dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON,
                 enough = s->dtype == CT_F32 ? 1e-2 : 1e-4;
    const bool asynchronous = ct_device_is_asynchronous(ct_call_device(c));
    const double rcond_D = asynchronous ? 1 : ct__ridge_rcond(c, s->R);
    ct_failure *failure = ct__call_failure(c), before = *failure;
    double rcond = 0;
    const bool pushes = rcond_D > ct__rounding(s->dtype);
    if (pushes) {
        ct_view L = push_factor(c, s);
        if (asynchronous) {
            ct__ridge_flag(c, L, sqrt(CT__RIDGE_LEAST / (double)s->r));
            return;
        }
        const double rcond_S = rcond_of_square(c, L, s->r);
        if (!ct_call_ok(c) || (rcond_D >= sqrt(eps) && rcond_S >= enough)) return;
        rcond = fmin(rcond_D, rcond_S);
    }
    const ct_failure pushed = *failure;
    ct_view L = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->n, s->n));
    *failure = before;
    ct__ridge_primal_factor(c, s, L);
    const double rcond_G = rcond_of_square(c, L, s->n),
                 refined = fmin(rcond_G * rcond_G / eps, sqrt(rcond_G));
    if (pushes && !(fmax(rcond_G, refined) > rcond)) {
        *failure = pushed;
        return;
    }
    ct_set_result(c, CT__RIDGE_L, L);
    keep(c, CT__RIDGE_R, s->dtype, ct_shape2(0, 0));
    keep(c, CT__RIDGE_V, s->dtype, ct_shape2(0, 0));
}

bool ct__ridge_fits_push(const ct__ridge *s) { return s->shared && s->r < s->n && s->n <= s->m; }

/* A copy of lambda in which a value that is not positive is flagged and becomes NaN, which makes its results
 * NaN. */
static ct_view positive(ct_call *c, ct_view lambda)
{
    ct_view copy = ct_scratch(c, lambda.dtype, ct_view_shape(lambda));
    ct_prim_copy(c, lambda, copy);
    ct_prim_flag(c, CT_POSITIVE, ct__with_ones(lambda, 2), "lambda",
                 "is not positive and finite: choose another", ct__with_ones(copy, 2));
    return copy;
}

static void factor_in_form(ct_call *c, ct__ridge s, ct_ridge_form form)
{
    if (form == CT_RIDGE_PRIMAL || (form == CT_RIDGE_AUTO && !ct__ridge_fits_push(&s))) {
        ct__ridge_primal_factor(c, &s, keep(c, CT__RIDGE_L, s.dtype, ct__ridge_shape(&s, s.n, s.n)));
        return;
    }
    s.R = keep(c, CT__RIDGE_R, s.dtype, ct_shape2(s.n, s.n));
    ct__ridge_triangle(c, &s, form == CT_RIDGE_AUTO, s.R);
    if (form == CT_RIDGE_AUTO)
        push_or_primal(c, &s);
    else
        push_factor(c, &s);
}

void ct__ridge_factor(ct_call *c, ct__ridge s, ct_ridge_form form)
{
    static const char why[] = "is not positive: there is NaN, or B and D share a null space to working "
                              "precision; choose a larger lambda, or another D";
    static const char why_late[] =
        "is not positive: there is NaN, B and D share a null space to working "
        "precision, or D's columns depend on one another, or are weak where B is "
        "not, and a GPU does not try the primal form then; choose a larger lambda, "
        "another D, one for each sample, or compute on the CPU";
    ct_tape *tape = c->tape;
    s.lambda = positive(c, s.lambda);
    ct__ridge_scale(c, &s);
    ct_failure *failure = ct__call_failure(c);
    const bool failed_before = failure->set;
    const uint32_t first = tape->n_suspects;
    factor_in_form(c, s, form);
    if (failure->set && !failed_before) failure->why = why;
    ct__call_failure(c); /* notes the last suspect */
    for (uint32_t i = first; i < tape->n_suspects; i++) tape->suspect[i].why = why_late;
}
