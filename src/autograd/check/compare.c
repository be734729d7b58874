/* All floating inputs together are one vector x in R^N, all outputs one vector y in R^M, c a random
 * cotangent:
 *   first order   <x_bar, d> = d/dt <c, y(x + t d)>             x_bar = ct_grad of y with cotangent c
 *   forward       <c, J v> = <x_bar, v>             J v by the op's forward rule, if it has one
 *   Jacobian      the rows ct_grad(y, e_o) against the columns d/dt y(x + t e_j)
 *   second order  <h_x, d> + <h_c, e> = d/dt <v, x_bar(x + t d, c + t e)>   (h_x, h_c) = ct_grad of x_bar
 *   symmetry      <h_x(v), d> = <h_x(d), v>: detects a rule that is not the gradient of a function, although
 *                 it is right at x
 * Differences are central, extrapolated to step 0 (difference.c). */
#include "compare.h"
#include "direction.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The rounding error of a ladder's difference of numbers of this size. */
static double noise(const ct__check *k, double size) { return 2048 * k->eps * size; }

/* Checks one number, a sum of terms. `terms` is the sum of their magnitudes; `size` is the magnitude of the
 * numbers that were differenced. */
static void check_one(ct__check *k, ct__report *r, double tolerance, const char *what, double analytic,
                      double numeric, double terms, double size)
{
    ct__worst w = ct__nothing_compared();
    ct__compare(&w, analytic, numeric, fmax(terms, fabs(numeric)), tolerance, noise(k, size), 0);
    ct__conclude(r, &w, tolerance, what, "");
}

/* Checks every entry of input i's cotangent against the reference or, if that is NULL, against its own
 * transpose. */
static void check_entries(ct__check *k, ct__report *r, double tolerance, const char *what, int i,
                          const double *bar, const double *reference, double floor)
{
    const double *a = bar + k->offset[i], *b = reference ? reference + k->offset[i] : a;
    const int64_t n = ct_tensor_dim(k->in[i], -1);
    double largest = 0;
    for (int64_t at = 0; at < k->count[i]; at++) largest = fmax(largest, fabs(b[at]));
    ct__worst w = ct__nothing_compared();
    for (int64_t at = 0; at < k->count[i]; at++)
        ct__compare(&w, a[at], b[reference ? at : ct__mirror_of(at, n)], largest, tolerance, floor, at);
    char where[96];
    ct__conclude(r, &w, tolerance, what, ct__place(k->shape[i], w.at, where, sizeof where));
}

/* -- curves ---------------------------------------------------------------------------------------------- */

static void step_along(const double *base, const double *direction, double t, double *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = base[i] + t * direction[i];
}

static bool outputs(ct__check *k, double t, double *value, void *context)
{
    ct__point *p = context;
    step_along(k->x, p->along, t, p->moved_x, k->N);
    return ct__check_evaluate(k, p->moved_x, value);
}

static bool objective(ct__check *k, double t, double *value, void *context)
{
    ct__point *p = context;
    if (!outputs(k, t, p->moved_y, p)) return false;
    *value = ct__dot_of(p->c, p->moved_y, k->M);
    return true;
}

static bool gradient_objective(ct__check *k, double t, double *value, void *context)
{
    ct__point *p = context;
    step_along(k->x, p->along, t, p->moved_x, k->N);
    step_along(p->c, p->cotangent_along, t, p->moved_c, k->M);
    if (!ct__check_gradient(k, p->moved_x, p->moved_c, p->bar)) return false;
    *value = ct__dot_of(p->v, p->bar, k->N);
    return true;
}

/* -- first order ----------------------------------------------------------------------------------------- */

/* Checks <bar, along>, the rule's derivative along n numbers, against the slope of a curve. `size` is the
 * magnitude of the curve's values. */
static bool check_slope(ct__check *k, ct__report *r, double tolerance, const char *what, ct__curve *curve,
                        ct__point *p, const double *bar, const double *along, int64_t n, double size)
{
    ct__ladder steps = ct__ladder_new(k, 1);
    if (k->status || !ct__differentiate(k, curve, p, 1, &steps, 1e-3 * tolerance)) return false;
    check_one(k, r, tolerance, what, ct__dot_of(bar, along, n), *steps.slope, ct__dot_abs(bar, along, n),
              size);
    return true;
}

static bool check_directions(ct__check *k, ct__report *r, double tolerance, ct__point *p)
{
    double *d = ct__check_numbers(k, k->N), size = ct__dot_abs(p->c, k->y, k->M);
    if (!d) return false;
    p->along = d;
    for (int i = 0; i <= k->n; i++) { /* each alone, then all */
        if (i < k->n ? k->count[i] == 0 : k->n_leaves < 2) continue;
        ct__direction(k, i < k->n ? i : -1, (uint64_t)i, d);
        char what[64] = "direction of all inputs";
        if (i < k->n) snprintf(what, sizeof what, "direction of in%d", i);
        if (!check_slope(k, r, tolerance, what, objective, p, p->x_bar, d, k->N, size)) return false;
    }
    return true;
}

/* Checks the op's own forward rule against the backward rule, which differences have been compared with. */
static bool check_forward(ct__check *k, ct__report *r, double tolerance, ct__point *p)
{
    double *y_dot = ct__check_numbers(k, k->M);
    if (!y_dot || !ct__check_forward(k, k->x, p->v, y_dot)) return false;
    const double terms = fmax(ct__dot_abs(p->c, y_dot, k->M), ct__dot_abs(p->x_bar, p->v, k->N));
    check_one(k, r, tolerance, "forward rule", ct__dot_of(p->c, y_dot, k->M),
              ct__dot_of(p->x_bar, p->v, k->N), terms, ct__dot_abs(p->c, k->y, k->M));
    return true;
}

/* Checks that the cotangents of symmetric inputs are symmetric, up to rounding. */
static void check_symmetry(ct__check *k, ct__report *r, double tolerance, const double *x_bar)
{
    for (int i = 0; i < k->n; i++) {
        if (!(k->symmetric >> i & 1) || k->count[i] == 0) continue;
        char what[64];
        snprintf(what, sizeof what, "symmetry of in%d's cotangent", i);
        check_entries(k, r, tolerance, what, i, x_bar, NULL, 0);
    }
}

/* "d out0[1] / d in2[3,4]", for element `at` of (M, count of input i) */
static void name_entry(const ct__check *k, int i, int64_t at, char *where, size_t size)
{
    char in_at[96], out_at[96];
    const int64_t o = at / k->count[i];
    int out = 0;
    while (out + 1 < k->n_out && o >= k->out_offset[out + 1]) out++;
    snprintf(where, size, "d out%d%s / d in%d%s", out,
             ct__place(k->out_shape[out], o - k->out_offset[out], out_at, sizeof out_at), i,
             ct__place(k->shape[i], at % k->count[i], in_at, sizeof in_at));
}

/* Checks the Jacobian's columns of input i. If the input is symmetric, an entry also stands for its mirror
 * image. */
static bool check_columns(ct__check *k, ct__report *r, double tolerance, ct__point *p, ct__ladder *steps,
                          double *along, double *J, int i)
{
    const int64_t N = k->N, M = k->M, n = ct_tensor_dim(k->in[i], -1);
    const double s = k->scale[i];
    ct__worst w = ct__nothing_compared();
    for (int64_t j = 0; j < k->count[i]; j++) {
        const int64_t here = k->offset[i] + j;
        const int64_t mirror = k->symmetric >> i & 1 ? k->offset[i] + ct__mirror_of(j, n) : here;
        if (mirror > here) continue;
        along[here] = along[mirror] = s;
        if (!ct__differentiate(k, outputs, p, M, steps, 1e-3 * tolerance)) return false;
        along[here] = along[mirror] = 0;
        double scale = 0, size = 0;
        for (int64_t o = 0; o < M; o++) {
            if (mirror != here) J[o * N + here] += J[o * N + mirror];
            scale = fmax(scale, fmax(fabs(J[o * N + here]), fabs(steps->slope[o] / s)));
            size = fmax(size, fabs(k->y[o]));
        }
        for (int64_t o = 0; o < M; o++)
            ct__compare(&w, J[o * N + here], steps->slope[o] / s, scale, tolerance, noise(k, size) / s,
                        o * k->count[i] + j);
    }
    char what[64], where[224] = "";
    snprintf(what, sizeof what, "jacobian of in%d", i);
    if (w.at >= 0) name_entry(k, i, w.at, where, sizeof where);
    ct__conclude(r, &w, tolerance, what, where);
    return true;
}

/* Checks every entry of the Jacobian: rows by sweeps from unit cotangents, columns by differences. */
static bool check_jacobian(ct__check *k, ct__report *r, double tolerance, ct__point *p)
{
    double *J = ct__check_numbers(k, k->N * k->M), *unit = ct__check_numbers(k, k->M);
    double *along = ct__check_numbers(k, k->N);
    ct__ladder steps = ct__ladder_new(k, k->M);
    if (k->status) return false;
    p->along = along;
    for (int64_t o = 0; o < k->M; o++) {
        unit[o] = 1;
        if (!ct__check_gradient(k, k->x, unit, J + o * k->N)) return false;
        unit[o] = 0;
    }
    for (int i = 0; i < k->n; i++)
        if (k->count[i] && !check_columns(k, r, tolerance, p, &steps, along, J, i)) return false;
    return true;
}

/* -- second order ---------------------------------------------------------------------------------------- */

static bool check_second_order(ct__check *k, ct__report *r, double tolerance, ct__point *p)
{
    const int64_t N = k->N, M = k->M;
    double *d = ct__check_numbers(k, N), *e = ct__check_numbers(k, M);
    double *other_x = ct__check_numbers(k, N), *other_c = ct__check_numbers(k, M); /* along d in place of v */
    const double *no_d = ct__check_numbers(k, N), *no_e = ct__check_numbers(k, M);
    if (k->status) return false;
    ct__direction(k, -1, 101, d);
    ct__normal(k, 102, e, M);
    if (!ct__check_second(k, k->x, p->c, p->v, p->h_x, p->h_c)) return false;
    if (!ct__check_second(k, k->x, p->c, d, other_x, other_c)) return false;
    const double size = ct__dot_abs(p->v, p->x_bar, N);
    p->along = d;
    p->cotangent_along = no_e;
    if (!check_slope(k, r, tolerance, "second order, inputs", gradient_objective, p, p->h_x, d, N, size))
        return false;
    p->along = no_d;
    p->cotangent_along = e;
    if (!check_slope(k, r, tolerance, "second order, cotangent", gradient_objective, p, p->h_c, e, M, size))
        return false;
    check_one(k, r, tolerance, "second order, symmetry", ct__dot_of(p->h_x, d, N),
              ct__dot_of(other_x, p->v, N), fmax(ct__dot_abs(p->h_x, d, N), ct__dot_abs(other_x, p->v, N)),
              size);
    return true;
}

/* -- the whole ------------------------------------------------------------------------------------------- */

bool ct__point_take(ct__check *k, ct__point *p)
{
    const int64_t N = k->N, M = k->M;
    *p = (ct__point){ .c = ct__check_numbers(k, M),
                      .v = ct__check_numbers(k, N),
                      .x_bar = ct__check_numbers(k, N),
                      .h_x = ct__check_numbers(k, N),
                      .h_c = ct__check_numbers(k, M),
                      .moved_x = ct__check_numbers(k, N),
                      .moved_y = ct__check_numbers(k, M),
                      .moved_c = ct__check_numbers(k, M),
                      .bar = ct__check_numbers(k, N) };
    if (k->status) return false;
    ct__normal(k, 100, p->c, M);
    ct__direction(k, -1, 103, p->v);
    return ct__check_gradient(k, k->x, p->c, p->x_bar);
}

bool ct__compare_all(ct__check *k, ct__report *r, double tolerance, ct__point *p)
{
    int64_t limit = k->options.jacobian > 0 ? k->options.jacobian : 4096;
    check_symmetry(k, r, tolerance, p->x_bar);
    return check_directions(k, r, tolerance, p) && (!k->op->jvp || check_forward(k, r, tolerance, p)) &&
           (k->N == 0 || k->M > limit / k->N || check_jacobian(k, r, tolerance, p)) &&
           (k->options.first_only || check_second_order(k, r, tolerance, p));
}

static void check_f32(ct__check *k, ct__report *r, double tolerance, const char *what, const double *single,
                      const double *reference, double size)
{
    for (int i = 0; i < k->n; i++) {
        char title[64];
        snprintf(title, sizeof title, "f32 %s of in%d", what, i);
        const double floor = 256 * (double)FLT_EPSILON * size / k->scale[i];
        if (k->count[i]) check_entries(k, r, tolerance, title, i, single, reference, floor);
    }
}

bool ct__compare_f32(ct__check *k, ct__report *r, double tolerance, const ct__point *reference)
{
    ct__point p;
    if (!ct__point_take(k, &p)) return false;
    check_symmetry(k, r, tolerance, p.x_bar);
    check_f32(k, r, tolerance, "gradient", p.x_bar, reference->x_bar, ct__dot_abs(p.c, k->y, k->M));
    if (k->options.first_only) return true;
    if (!ct__check_second(k, k->x, p.c, p.v, p.h_x, p.h_c)) return false;
    check_f32(k, r, tolerance, "second order", p.h_x, reference->h_x, ct__dot_abs(p.v, p.x_bar, k->N));
    return true;
}
