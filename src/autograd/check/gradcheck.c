/* Checking a backward rule against finite differences of the forward.
 *
 * All floating inputs together are one vector x in R^N, all outputs one vector y in R^M, c a random
 * cotangent:
 *   first order   <x_bar, d> = d/dt <c, y(x + t d)>             x_bar = ct_grad of y with cotangent c
 *   Jacobian      the rows ct_grad(y, e_o) against the columns d/dt y(x + t e_j)
 *   second order  <h_x, d> + <h_c, e> = d/dt <v, x_bar(x + t d, c + t e)>   (h_x, h_c) = ct_grad of x_bar, recorded
 *   symmetry      <h_x(v), d> = <h_x(d), v>: a rule that is right at x alone is no gradient around it
 * Differences are central, extrapolated to step 0 (difference.c).
 *
 * f32 inputs are checked so in f64, where differences are exact enough to tell; then the f32 gradients are
 * compared with the f64 ones entry by entry. An op that refuses f64 is checked by differences in f32. */
#include <cotangent/gradcheck.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "sample.h"

/* One comparison of many entries: the worst of them, in units of what is allowed. */
typedef struct worst {
    double analytic, numeric, error, ratio; /* error is relative to the size of the terms */
    int64_t at;
} worst;

typedef struct report {
    char *text;
    size_t size, used;
    int checks, failures;
    char first[200]; /* the first failure */
} report;

CT_PRINTF(2, 3) static void print(report *r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t room = r->used < r->size ? r->size - r->used : 0;
    int n = vsnprintf(room ? r->text + r->used : NULL, room, format, list);
    va_end(list);
    if (n > 0) r->used += (size_t)n;
}

static worst nothing_compared(void) { return (worst){ .ratio = -1, .at = -1 }; }

/* Allowed: |a - b| <= tolerance * scale + floor, where floor is what rounding explains. */
static void compare(worst *w, double analytic, double numeric, double scale, double tolerance, double floor,
                    int64_t at)
{
    double difference = fabs(analytic - numeric), allowed = tolerance * scale + floor;
    double ratio = analytic == numeric ? 0 : !(allowed >= 0) ? INFINITY : difference / allowed;
    if (isnan(ratio)) ratio = difference == 0 ? 0 : INFINITY;
    if (ratio <= w->ratio) return;
    *w = (worst){ .analytic = analytic,
                  .numeric = numeric,
                  .error = scale > 0 ? difference / scale : difference,
                  .ratio = ratio,
                  .at = at };
}

static void conclude(report *r, const worst *w, double tolerance, const char *what, const char *where)
{
    bool ok = w->ratio <= 1;
    char line[200];
    snprintf(line, sizeof line, "%s%s%s: rule %.10g, reference %.10g, error %.2g (tolerance %.1g)", what,
             *where ? ", worst at " : "", where, w->analytic, w->numeric, w->error, tolerance);
    print(r, "  %s  %s\n", ok ? "ok  " : "FAIL", line);
    r->checks++;
    if (ok) return;
    if (r->failures++ == 0) memcpy(r->first, line, sizeof line);
}

/* -- first order ----------------------------------------------------------------------------------------- */

typedef struct line_context {
    const double *direction, *cotangent_direction; /* N, M */
    const double *c, *v;                           /* M, N */
    double *x, *y, *shifted_c, *bar;               /* work: N, M, M, N */
} line_context;

static void step_along(const double *base, const double *direction, double t, double *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = base[i] + t * direction[i];
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0, correction = 0; /* Kahan */
    for (int64_t i = 0; i < n; i++) {
        double term = a[i] * b[i] - correction, next = sum + term;
        correction = (next - sum) - term;
        sum = next;
    }
    return sum;
}

static double dot_abs(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(a[i] * b[i]);
    return sum;
}

static bool objective(ct__check *k, double t, double *value, void *context)
{
    line_context *l = context;
    step_along(k->x, l->direction, t, l->x, k->N);
    if (!ct__check_evaluate(k, l->x, l->y)) return false;
    *value = dot(l->c, l->y, k->M);
    return true;
}

static bool all_outputs(ct__check *k, double t, double *value, void *context)
{
    line_context *l = context;
    step_along(k->x, l->direction, t, l->x, k->N);
    return ct__check_evaluate(k, l->x, value);
}

static bool gradient_objective(ct__check *k, double t, double *value, void *context)
{
    line_context *l = context;
    step_along(k->x, l->direction, t, l->x, k->N);
    step_along(l->c, l->cotangent_direction, t, l->shifted_c, k->M);
    if (!ct__check_gradient(k, l->x, l->shifted_c, l->bar)) return false;
    *value = dot(l->v, l->bar, k->N);
    return true;
}

/* What rounding of numbers of this size costs a difference with the steps of a ladder. */
static double noise(const ct__check *k, double size) { return 2048 * k->eps * size; }

static bool check_directions(ct__check *k, report *r, double tolerance, line_context *l, const double *x_bar)
{
    double *direction = ct__check_numbers(k, k->N);
    ct__ladder steps = ct__ladder_new(k, 1, k->options.step);
    if (!direction || !steps.table) return false;
    l->direction = direction;
    int floating = 0;
    for (int i = 0; i < k->n; i++) floating += k->floating[i];
    for (int i = 0; i <= k->n; i++) { /* each alone, then all */
        if (i < k->n ? !k->floating[i] || k->count[i] == 0 : floating < 2) continue;
        ct__check_direction(k, i < k->n ? i : -1, (uint64_t)i, direction);
        if (!ct__differentiate(k, objective, l, 1, &steps, 1e-3 * tolerance)) return false;
        double scale = fmax(dot_abs(x_bar, direction, k->N), fabs(*steps.slope));
        double size = dot_abs(l->c, k->y, k->M);
        worst w = nothing_compared();
        compare(&w, dot(x_bar, direction, k->N), *steps.slope, scale, tolerance, noise(k, size), 0);
        char what[64];
        if (i < k->n)
            snprintf(what, sizeof what, "direction of in%d", i);
        else
            snprintf(what, sizeof what, "direction of all inputs");
        conclude(r, &w, tolerance, what, "");
    }
    return true;
}

/* Symmetric inputs: the cotangent is symmetric [to rounding]. */
static void check_symmetry(ct__check *k, report *r, double tolerance, const double *x_bar)
{
    for (int i = 0; i < k->n; i++) {
        if (!(k->symmetric >> i & 1) || k->count[i] == 0) continue;
        int64_t n = k->shape[i].dim[k->shape[i].ndim - 1];
        const double *S = x_bar + k->offset[i];
        double largest = 0;
        for (int64_t at = 0; at < k->count[i]; at++) largest = fmax(largest, fabs(S[at]));
        worst w = nothing_compared();
        for (int64_t at = 0; at < k->count[i]; at++) {
            int64_t row = at / n % n, col = at % n, mirror = at + (col - row) * n + row - col;
            compare(&w, S[at], S[mirror], largest, tolerance, 0, at);
        }
        char what[64], where[96];
        snprintf(what, sizeof what, "symmetry of in%d's cotangent", i);
        conclude(r, &w, tolerance, what, ct__check_place(k->shape[i], w.at, where, sizeof where));
    }
}

/* Every entry of the Jacobian: rows by sweeps from unit cotangents, columns by differences. */
static bool check_jacobian(ct__check *k, report *r, double tolerance)
{
    int64_t N = k->N, M = k->M;
    double *J = ct__check_numbers(k, N * M), *unit = ct__check_numbers(k, M);
    double *direction = ct__check_numbers(k, N);
    line_context l = { .direction = direction, .x = ct__check_numbers(k, N) };
    ct__ladder steps = ct__ladder_new(k, M, k->options.step);
    if (!J || !unit || !direction || !l.x || !steps.table) return false;
    for (int64_t o = 0; o < M; o++) {
        unit[o] = 1;
        bool ok = ct__check_gradient(k, k->x, unit, J + o * N);
        unit[o] = 0;
        if (!ok) return false;
    }
    for (int i = 0; i < k->n; i++) {
        if (!k->floating[i] || k->count[i] == 0) continue;
        bool symmetric = k->symmetric >> i & 1;
        worst w = nothing_compared();
        int64_t n = k->shape[i].ndim > 0 ? k->shape[i].dim[k->shape[i].ndim - 1] : 1;
        for (int64_t j = 0; j < k->count[i]; j++) {
            int64_t row = j / n % n, col = j % n;
            if (symmetric && col > row) continue;
            int64_t here = k->offset[i] + j, mirror = here + (col - row) * n + row - col;
            bool pair = symmetric && mirror != here;
            double s = k->scale[i];
            direction[here] = s;
            if (pair) direction[mirror] = s;
            bool ok = ct__differentiate(k, all_outputs, &l, M, &steps, 1e-3 * tolerance);
            direction[here] = 0;
            if (pair) direction[mirror] = 0;
            if (!ok) return false;
            double scale = 0, size = 0;
            for (int64_t o = 0; o < M; o++) {
                double rule = s * (J[o * N + here] + (pair ? J[o * N + mirror] : 0));
                scale = fmax(scale, fmax(fabs(rule), fabs(steps.slope[o])));
                size = fmax(size, fabs(k->y[o]));
            }
            for (int64_t o = 0; o < M; o++) {
                double rule = s * (J[o * N + here] + (pair ? J[o * N + mirror] : 0));
                compare(&w, rule / s, steps.slope[o] / s, scale / s, tolerance, noise(k, size) / s,
                        o * k->count[i] + j);
            }
        }
        char what[64], in_at[96], out_at[96], where[224] = "";
        snprintf(what, sizeof what, "jacobian of in%d", i);
        if (w.at >= 0) {
            int out = 0;
            int64_t o = w.at / k->count[i];
            while (out + 1 < k->n_out && o >= k->out_offset[out + 1]) out++;
            snprintf(where, sizeof where, "d out%d%s / d in%d%s", out,
                     ct__check_place(k->out_shape[out], o - k->out_offset[out], out_at, sizeof out_at), i,
                     ct__check_place(k->shape[i], w.at % k->count[i], in_at, sizeof in_at));
        }
        conclude(r, &w, tolerance, what, where);
    }
    return true;
}

/* -- second order ---------------------------------------------------------------------------------------- */

static bool check_second_order(ct__check *k, report *r, double tolerance, line_context *l, double *h_x,
                               double *h_c)
{
    double *d = ct__check_numbers(k, k->N), *e = ct__check_numbers(k, k->M),
           *zero = ct__check_numbers(k, k->M);
    double *bar = ct__check_numbers(k, k->N);
    ct__ladder steps = ct__ladder_new(k, 1, k->options.step);
    if (!d || !e || !zero || !bar || !steps.table) return false;
    if (!ct__check_second(k, k->x, l->c, l->v, h_x, h_c)) return false;
    if (!ct__check_gradient(k, k->x, l->c, bar)) return false;
    double size = dot_abs(l->v, bar, k->N);
    double *swapped_x = ct__check_numbers(k, k->N), *swapped_c = ct__check_numbers(k, k->M);
    ct__check_direction(k, -1, 101, d);
    if (!swapped_x || !swapped_c || !ct__check_second(k, k->x, l->c, d, swapped_x, swapped_c)) return false;
    worst symmetry = nothing_compared();
    compare(&symmetry, dot(h_x, d, k->N), dot(swapped_x, l->v, k->N),
            fmax(dot_abs(h_x, d, k->N), dot_abs(swapped_x, l->v, k->N)), tolerance, noise(k, size), 0);
    for (int part = 0; part < 2; part++) { /* along x; along the cotangent */
        if (part == 1) {
            memset(d, 0, (size_t)k->N * sizeof *d);
            ct__check_normal(k, 102, e, k->M);
        }
        l->direction = d;
        l->cotangent_direction = part == 0 ? zero : e;
        if (!ct__differentiate(k, gradient_objective, l, 1, &steps, 1e-3 * tolerance)) return false;
        double rule = part == 0 ? dot(h_x, d, k->N) : dot(h_c, e, k->M);
        double terms = part == 0 ? dot_abs(h_x, d, k->N) : dot_abs(h_c, e, k->M);
        worst w = nothing_compared();
        compare(&w, rule, *steps.slope, fmax(terms, fabs(*steps.slope)), tolerance, noise(k, size), 0);
        conclude(r, &w, tolerance, part == 0 ? "second order, inputs" : "second order, cotangent", "");
    }
    conclude(r, &symmetry, tolerance, "second order, symmetry", "");
    return true;
}

/* -- f32 against f64 ------------------------------------------------------------------------------------- */

static void compare_f32(ct__check *k, report *r, double tolerance, const double *single,
                        const double *reference, double size, const char *what)
{
    for (int i = 0; i < k->n; i++) {
        if (!k->floating[i] || k->count[i] == 0) continue;
        const double *a = single + k->offset[i], *b = reference + k->offset[i];
        double largest = 0;
        for (int64_t j = 0; j < k->count[i]; j++) largest = fmax(largest, fabs(b[j]));
        worst w = nothing_compared();
        for (int64_t j = 0; j < k->count[i]; j++)
            compare(&w, a[j], b[j], largest, tolerance, 256 * (double)FLT_EPSILON * size / k->scale[i], j);
        char title[64], where[96];
        snprintf(title, sizeof title, "f32 %s of in%d", what, i);
        conclude(r, &w, tolerance, title, ct__check_place(k->shape[i], w.at, where, sizeof where));
    }
}

/* -- the whole ------------------------------------------------------------------------------------------- */

typedef struct results {
    line_context l;
    double *x_bar, *h_x, *h_c;
} results;

/* Everything that is computed once at x: cotangent, directions, first gradient. */
static bool prepare(ct__check *k, results *p)
{
    *p = (results){ 0 };
    double *c = ct__check_numbers(k, k->M), *v = ct__check_numbers(k, k->N);
    p->x_bar = ct__check_numbers(k, k->N);
    p->h_x = ct__check_numbers(k, k->N);
    p->h_c = ct__check_numbers(k, k->M);
    p->l = (line_context){ .c = c,
                           .v = v,
                           .x = ct__check_numbers(k, k->N),
                           .y = ct__check_numbers(k, k->M),
                           .shifted_c = ct__check_numbers(k, k->M),
                           .bar = ct__check_numbers(k, k->N) };
    if (k->status != CT_OK) return false;
    ct__check_normal(k, 100, c, k->M);
    ct__check_direction(k, -1, 103, v);
    return ct__check_gradient(k, k->x, c, p->x_bar);
}

static bool check_all(ct__check *k, report *r, double tolerance, results *p)
{
    int64_t limit = k->options.jacobian > 0 ? k->options.jacobian : 4096;
    check_symmetry(k, r, tolerance, p->x_bar);
    return check_directions(k, r, tolerance, &p->l, p->x_bar) &&
           (k->N == 0 || k->M > limit / k->N || check_jacobian(k, r, tolerance)) &&
           (k->options.first_only || check_second_order(k, r, tolerance, &p->l, p->h_x, p->h_c));
}

/* The sweeps in f32, against those in f64 from the same numbers. */
static bool check_single(ct__check *k, report *r, double tolerance, const results *reference)
{
    results p;
    if (!prepare(k, &p)) return false;
    check_symmetry(k, r, tolerance, p.x_bar);
    compare_f32(k, r, tolerance, p.x_bar, reference->x_bar, dot_abs(p.l.c, k->y, k->M), "gradient");
    if (k->options.first_only) return true;
    if (!ct__check_second(k, k->x, p.l.c, p.l.v, p.h_x, p.h_c)) return false;
    compare_f32(k, r, tolerance, p.h_x, reference->h_x, dot_abs(p.l.v, p.x_bar, k->N), "second order");
    return true;
}

typedef struct job {
    const ct_op *op;
    ct_tensor *const *in;
    int n;
    const void *attr;
    size_t attr_size;
    uint64_t symmetric;
    const ct_gradcheck_options *options;
} job;

static ct_status open_job(ct__check *k, const job *j, ct_dtype dtype)
{
    return ct__check_open(k, j->op, j->in, j->n, j->attr, j->attr_size, j->symmetric, j->options, dtype);
}

static void title(report *r, const job *j)
{
    print(r, "%s(", j->op->name);
    for (int i = 0; i < j->n; i++) {
        char text[96];
        print(r, "%s%s %s", i ? ", " : "", ct__shape_text(ct_tensor_shape(j->in[i]), text, sizeof text),
              ct_dtype_name(ct_tensor_dtype(j->in[i])));
    }
    print(r, ")\n");
}

static ct_status run_job(const job *j, report *r)
{
    bool single = false;
    for (int i = 0; i < j->n; i++) single = single || ct_tensor_dtype(j->in[i]) == CT_F32;
    double wanted = j->options ? j->options->tolerance : 0, tolerance = single || wanted <= 0 ? 1e-6 : wanted;
    double tolerance32 = wanted > 0 ? wanted : 2e-2;
    title(r, j);

    ct__check wide, narrow;
    results at_wide, at_narrow;
    ct_status status = open_job(&wide, j, CT_F64);
    bool refused = status != CT_OK && single;
    if (status == CT_OK && !wide.differentiable) print(r, "  no gradient flows: nothing to check\n");
    bool checked = status == CT_OK && wide.differentiable && prepare(&wide, &at_wide) &&
                   check_all(&wide, r, wide.eps > DBL_EPSILON ? tolerance32 : tolerance, &at_wide);
    if (!refused) status = wide.status;
    if (single && (checked || refused)) {
        if (open_job(&narrow, j, CT_F32) == CT_OK && narrow.differentiable) {
            if (checked)
                check_single(&narrow, r, tolerance32, &at_wide);
            else if (prepare(&narrow, &at_narrow))
                check_all(&narrow, r, tolerance32, &at_narrow);
        }
        status = narrow.status;
        ct__check_close(&narrow);
    }
    ct__check_close(&wide);
    return status;
}

static ct_status summary(ct_device *device, const char *name, const report *r, ct_status status)
{
    if (status != CT_OK || r->failures == 0) return status;
    return ct__fail(device, CT_ENUMERIC, "gradcheck of %s: %d of %d checks failed; the first: %s", name,
                    r->failures, r->checks, r->first);
}

static report report_new(char *text, size_t size)
{
    if (text && size > 0) text[0] = 0;
    return (report){ .text = text, .size = text ? size : 0 };
}

ct_status ct_gradcheck(const ct_op *op, ct_tensor *const *in, int n, const void *attr, size_t attr_size,
                       uint64_t symmetric, const ct_gradcheck_options *options, char *text, size_t size)
{
    report r = report_new(text, size);
    ct_device *device = in && n > 0 ? ct_tensor_device(in[0]) : NULL;
    if (!op) return ct__fail(device, CT_EINVAL, "gradcheck: the op is NULL");
    if (!device || n > CT_MAX_INPUTS)
        return ct__fail(device, CT_EINVAL, "gradcheck: needs 1 to %d inputs, got %d", CT_MAX_INPUTS, n);
    for (int i = 0; i < n; i++)
        if (!in[i]) return ct__fail(device, CT_EINVAL, "gradcheck of %s: input %d is NULL", op->name, i);
    for (int i = 0; i < n; i++) {
        ct_shape s = ct_tensor_shape(in[i]);
        if ((symmetric >> i & 1) && (s.ndim < 2 || s.dim[s.ndim - 1] != s.dim[s.ndim - 2]))
            return ct__fail(device, CT_ESHAPE,
                            "gradcheck of %s: input %d is said to be symmetric, but is not square", op->name,
                            i);
    }
    job j = { op, in, n, attr, attr_size, symmetric, options };
    ct_status status = run_job(&j, &r);
    if (status == CT_OK)
        print(&r, "%d checks, %d failed\n", r.checks, r.failures);
    else
        print(&r, "  error: %s\n", ct_message(device));
    return summary(device, op->name, &r, status);
}

ct_status ct_gradcheck_op(ct_device *device, const ct_op *op, const ct_gradcheck_options *options, char *text,
                          size_t size)
{
    static const int64_t sizes[] = { 1, 3, 5 };
    report r = report_new(text, size);
    if (!device || !op || !op->sample)
        return ct__fail(device, CT_EINVAL, "gradcheck: %s",
                        !device ? "no device"
                        : !op   ? "the op is NULL"
                                : "the op has no sample function");
    ct_status status = ct_device_status(device);
    for (int variant = 0, n_variants = 1; variant < n_variants && status == CT_OK; variant++)
        for (size_t at = 0; at < 2 * (sizeof sizes / sizeof *sizes) && status == CT_OK; at++) {
            bool batched = at % 2;
            ct_sample s = { .device = device,
                            .dtype = CT_F64,
                            .size = sizes[at / 2],
                            .batch = batched ? ct_shape1(2) : ct_shape0(),
                            .seed = options ? options->seed : 0,
                            .variant = variant };
            status = ct__sample_draw(&s, op);
            n_variants = s.n_variants;
            if (status == CT_OK && s.n_in > 0 && batched == s.batched && !s.kinks) {
                job j = { op, s.in, s.n_in, s.attr_size ? s.attr : NULL, s.attr_size, s.symmetric, options };
                print(&r, "variant %d, size %lld%s: ", variant, (long long)s.size,
                      batched ? ", batch 2" : "");
                status = run_job(&j, &r);
            }
            ct__sample_clear(&s);
        }
    if (status == CT_OK)
        print(&r, "%d checks, %d failed\n", r.checks, r.failures);
    else
        print(&r, "  error: %s\n", ct_message(device));
    return summary(device, op->name, &r, status);
}
