/* Values and gradients over the whole matrix: every layout against a naive reference; the gradient against
 * differences (f64) and f32 against f64; f(x, x); one input at a time; the second order. */
#include "matrix.h"

static int lowest(const point *p, const pass *r)
{
    return p->s.dtype == CT_F32 || r->dtype == CT_F32 ? CT_F32 : CT_F64;
}

static void release_all(ct_tensor **in, int n)
{
    for (int i = 0; i < n; i++) ct_release(in[i]);
}

/* Puts the point's inputs into one layout; an input that cannot have it stays contiguous. False where all of
 * them stay so. */
static bool lay_out(const point *p, layout l, ct_tensor **in)
{
    bool any = l == CONTIGUOUS;
    for (int i = 0; i < p->s.n_in; i++) {
        in[i] = matrix_layout(p, i, l);
        any = any || (in[i] && in[i] != p->s.in[i]);
        if (!in[i]) in[i] = ct_retain(p->s.in[i]);
    }
    return any;
}

static void check_value(const point *p, layout l, ct_tensor *const *in, const pass *r)
{
    ref_array wanted = matrix_reference(p, in);
    bool same_shape = ct_shape_equal(r->shape, wanted.shape);
    if (matrix_check(p, same_shape, "%s: the shape of the value differs from the reference's",
                     layout_names[l])) {
        double *y = malloc((size_t)(wanted.n + 1) * sizeof *y);
        for (int64_t i = 0; y && i < wanted.n; i++) y[i] = (double)wanted.x[i];
        int64_t at;
        bool ok = y && matrix_agree(r->y, y, wanted.n, matrix_tolerance(lowest(p, r)), &at);
        matrix_check(p, ok, "%s: y[%lld] = %.17g, the reference has %.17g", layout_names[l],
                     ok ? 0LL : (long long)at, ok ? 0 : r->y[at], ok ? 0 : y[at]);
        free(y);
    }
    free(wanted.x);
}

/* Two passes of the same inputs have the same cotangents. */
static void check_same_bars(const point *p, const char *what, const pass *a, const pass *b, double tolerance)
{
    for (int i = 0; i < a->n_in; i++) {
        int64_t at;
        if (!matrix_check(p, !a->bar[i] == !b->bar[i], "%s: input %d has a cotangent in one of two passes",
                          what, i) ||
            !a->bar[i])
            continue;
        bool ok = matrix_agree(a->bar[i], b->bar[i], a->count[i], tolerance, &at);
        matrix_check(p, ok, "%s: cotangent %lld of input %d is %.17g, not %.17g", what,
                     ok ? 0LL : (long long)at, i, ok ? 0 : a->bar[i][at], ok ? 0 : b->bar[i][at]);
    }
}

static void check_layout(const point *p, layout l)
{
    ct_tensor *in[CT_MAX_INPUTS], *dense[CT_MAX_INPUTS];
    int n = p->s.n_in;
    if (lay_out(p, l, in)) {
        pass r, plain;
        pass_run(&r, p, in, n, UINT64_MAX, NULL, 0);
        if (matrix_check(p, r.status == CT_OK && r.y, "%s: %s", layout_names[l], r.message)) {
            check_value(p, l, in, &r);
            if (l != CONTIGUOUS) {
                for (int i = 0; i < n; i++) dense[i] = ct_tensor_clone(in[i]);
                pass_run(&plain, p, dense, n, UINT64_MAX, NULL, 0);
                check_same_bars(p, layout_names[l], &r, &plain, matrix_tolerance(lowest(p, &r)));
                pass_free(&plain);
                release_all(dense, n);
            }
        }
        pass_free(&r);
    }
    release_all(in, n);
}

/* f64: the public gradcheck; the whole Jacobian and the second order where that is cheap. */
static void check_gradient(const point *p)
{
    static char report[1 << 16];
    const bool small = p->s.size <= 3;
    if (check_quick() > 1 && !small) return;
    ct_gradcheck_options options = { .jacobian = small ? 1024 : 1, .first_only = p->s.size > 17 };
    ct_status status = ct_gradcheck(p->op, p->s.in, p->s.n_in, p->s.attr_size ? p->s.attr : NULL,
                                    p->s.attr_size, p->s.symmetric, &options, report, sizeof report);
    matrix_check(p, status == CT_OK, "gradcheck: %s: %s", ct_status_name(status), ct_message(p->device));
    if (status != CT_OK && getenv("CT_TEST_VERBOSE")) print_error("%s", report);
}

/* At kinks the recorded rule gives what the plain one does. */
static void check_recorded(const point *p)
{
    ct_var x[CT_MAX_INPUTS], bar[2][CT_MAX_INPUTS], none = { NULL, 0, 0 };
    int m = 0;
    ct_tape_reset(p->tape);
    for (int i = 0; i < p->s.n_in; i++) x[i] = ct_leaf(p->tape, p->s.in[i]);
    ct_var y = ct_sum(ct_apply(p->op, x, p->s.n_in, p->s.attr_size ? p->s.attr : NULL, p->s.attr_size),
                      CT_ALL, false);
    if (!ct_var_needs_grad(y)) return;
    for (int record = 0; record < 2; record++)
        m += ct_grad(y, none, x, bar[record], p->s.n_in, record ? CT_GRAD_RECORD : CT_GRAD_KEEP) == CT_OK;
    matrix_check(p, m == 2, "recorded: %s", ct_tape_message(p->tape));
    for (int i = 0; i < p->s.n_in && m == 2; i++) {
        double *a = matrix_read(ct_value(bar[0][i])), *b = matrix_read(ct_value(bar[1][i]));
        int64_t at;
        bool ok = matrix_agree(b, a, ct_tensor_count(p->s.in[i]), matrix_tolerance(p->s.dtype), &at);
        matrix_check(p, ok, "recorded: cotangent %lld of input %d is %.17g, not %.17g",
                     ok ? 0LL : (long long)at, i, ok ? 0 : b[at], ok ? 0 : a[at]);
        free(a);
        free(b);
    }
}

/* f32: gradients of the same numbers in f64. */
static void check_f32(const point *p, const pass *narrow)
{
    ct_tensor *in[CT_MAX_INPUTS];
    int n = p->s.n_in;
    for (int i = 0; i < n; i++)
        in[i] = p->s.kind[i] == CT__SAMPLE_INDEX ? ct_retain(p->s.in[i]) : ct_tensor_cast(p->s.in[i], CT_F64);
    pass wide;
    pass_run(&wide, p, in, n, UINT64_MAX, NULL, 0);
    check_same_bars(p, "f32 against f64", narrow, &wide, 10 * matrix_tolerance(CT_F32));
    pass_free(&wide);
    release_all(in, n);
}

/* Where input i is the only leaf its cotangent is the same, up to the order of summation, and the others have
 * none. */
static void check_only_one(const point *p, const pass *all)
{
    for (int i = 0; i < p->s.n_in; i++) {
        if (p->s.kind[i] == CT__SAMPLE_INDEX) continue;
        pass r;
        pass_run(&r, p, p->s.in, p->s.n_in, (uint64_t)1 << i, NULL, 0);
        matrix_check(p, r.status == CT_OK, "only input %d is a leaf: %s", i, r.message);
        for (int k = 0; k < p->s.n_in; k++)
            if (k != i) matrix_check(p, !r.bar[k], "only input %d is a leaf: input %d has a cotangent", i, k);
        int64_t at;
        double tolerance = matrix_tolerance(lowest(p, &r));
        if (lowest(p, &r) == CT_F32) tolerance *= fmax(1, p->ref->f32_rounding);
        if (matrix_check(p, !r.bar[i] == !all->bar[i], "only input %d is a leaf: its cotangent is %s", i,
                         r.bar[i] ? "there" : "missing") &&
            r.bar[i] && !matrix_agree(r.bar[i], all->bar[i], r.count[i], tolerance, &at))
            matrix_check(p, false, "only input %d is a leaf: its cotangent differs: %.9g is not %.9g", i,
                         r.bar[i][at], all->bar[i][at]);
        pass_free(&r);
    }
}

/* f(x, x): the cotangent of x is the sum of those of f(a, b) at a = b = x. */
static void check_fan_out(const point *p)
{
    int n = p->s.n_in;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            if (p->s.kind[i] != p->s.kind[j] || p->s.kind[i] == CT__SAMPLE_INDEX ||
                !ct_shape_equal(ct_tensor_shape(p->s.in[i]), ct_tensor_shape(p->s.in[j])))
                continue;
            ct_tensor *in[CT_MAX_INPUTS];
            int use[CT_MAX_INPUTS];
            for (int k = 0; k < n; k++) in[k] = p->s.in[k], use[k] = k;
            in[j] = p->s.in[i];
            use[j] = i;
            pass apart, same;
            pass_run(&apart, p, in, n, UINT64_MAX, NULL, 0);
            pass_run(&same, p, in, n, UINT64_MAX, use, n);
            matrix_check(p, apart.status == same.status, "f(x, x) for inputs %d and %d: %s", i, j,
                         same.message);
            int64_t at;
            if (apart.bar[i] && apart.bar[j] && apart.status == CT_OK &&
                matrix_check(p, same.bar[i] != NULL, "f(x, x) for inputs %d and %d: no cotangent", i, j)) {
                for (int64_t e = 0; e < apart.count[i]; e++) apart.bar[i][e] += apart.bar[j][e];
                matrix_check(p,
                             matrix_agree(same.bar[i], apart.bar[i], apart.count[i],
                                          matrix_tolerance(lowest(p, &same)), &at),
                             "f(x, x) for inputs %d and %d: the cotangent is not the sum of the two", i, j);
            }
            pass_free(&apart);
            pass_free(&same);
        }
}

static void visit_layouts(point *p)
{
    for (layout l = CONTIGUOUS; l < LAYOUTS; l++) check_layout(p, l);
}

static void visit(point *p)
{
    visit_layouts(p);
    pass all;
    pass_run(&all, p, p->s.in, p->s.n_in, UINT64_MAX, NULL, 0);
    if (all.status == CT_OK) {
        if (p->s.kinks) check_recorded(p);
        if (p->s.dtype == CT_F64 && !p->s.kinks)
            check_gradient(p);
        else if (p->s.dtype == CT_F32)
            check_f32(p, &all);
        check_only_one(p, &all);
        check_fan_out(p);
    }
    pass_free(&all);
}

int main(void) { return matrix_run("op matrix: values and gradients", visit, &matrix_all); }
