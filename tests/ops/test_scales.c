/* Linear algebra at every scale: 10^k times a sample, all inputs or one, over the dtype's range. Values,
 * gradients and tangents of CT_OK are finite, and in f32 have the digits of the same in f64. */
#include "matrix.h"

#include "autograd/internal.h"

#include <float.h>

/* Besides the ops that flag what is not finite, compositions that end in such ones; and others, the
 * derivatives of which overflow as IEEE arithmetic does. */
static const char *const composed[] = { "cholesky_solve", "logdet", "solve", NULL };
static const char *const others[] = { "expm", "norm", "trace", NULL };

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

static bool flags_all(const ct_op *op)
{
    return (op->finite && !op->compose) || is_among(composed, op->name);
}

typedef enum mode { REVERSE, RECORDED, FORWARD, ALONG, MODES } mode;
static const char *const mode_names[MODES] = { "reverse", "recorded", "forward", "along" };

/* What is computed of an op: output `out`, and its derivatives in `mode`, where the inputs in `which` are
 * scaled by 10^k, and for ALONG their tangents, too. */
typedef struct task {
    mode mode;
    int out, k;
    uint64_t which;
} task;

typedef struct results {
    ct_status status;
    int n; /* the output, then its cotangents or its tangent */
    double *x[CT_MAX_INPUTS + 1];
    int64_t count[CT_MAX_INPUTS + 1];
} results;

/* Input i times 10^k, rounded to the point's dtype, in `dtype`. */
static ct_tensor *scaled(const point *p, int i, int k, ct_dtype dtype)
{
    const ct_tensor *t = p->s.in[i];
    double *x = matrix_read(t);
    for (int64_t e = 0; e < ct_tensor_count(t); e++) x[e] *= pow(10, k / 2) * pow(10, k - k / 2);
    ct_tensor *exact = ct_from(p->device, CT_F64, ct_tensor_shape(t), x);
    ct_tensor *rounded = ct_tensor_cast(exact, p->s.dtype), *out = ct_tensor_cast(rounded, dtype);
    free(x);
    ct_release(exact);
    ct_release(rounded);
    return out;
}

/* 10^k times random numbers. */
static ct_var draw(const point *p, ct_var like, uint64_t stream, int k)
{
    ct_tensor *wide = ct_rand_normal(p->device, CT_F64, ct_var_shape(like), 5, stream);
    ct_tensor *t = ct_tensor_cast(wide, ct_var_dtype(like));
    ct_var v = ct_scale(ct_scale(ct_constant(p->tape, t), pow(10, k / 2)), pow(10, k - k / 2));
    ct_release(wide);
    ct_release(t);
    return v;
}

static void keep(results *r, ct_var v)
{
    r->count[r->n] = ct_tensor_count(ct_value(v));
    r->x[r->n++] = matrix_read(ct_value(v));
}

static void clear(results *r)
{
    for (int i = 0; i < r->n; i++) free(r->x[i]);
}

/* The number of outputs that have gradients. */
static int outputs_of(ct_var first)
{
    const ct_node *node = ct__node(first);
    int n = node != NULL;
    while (node && n < node->n_out && ct_var_needs_grad(ct_output(first, n)) && !(node[n].flags & NODE_RULE))
        n++;
    return n;
}

/* Returns the number of outputs. */
static int compute(results *r, const point *p, const task *t, ct_dtype dtype)
{
    ct_var in[CT_MAX_INPUTS], x[CT_MAX_INPUTS], bar[CT_MAX_INPUTS], dot[CT_MAX_INPUTS], y_dot = ct_none();
    int n = 0;
    *r = (results){ 0 };
    ct_tape_reset(p->tape);
    for (int i = 0; i < p->s.n_in; i++) {
        const bool floating = p->s.kind[i] != CT__SAMPLE_INDEX;
        const int k = t->which >> i & 1 ? t->k : 0;
        ct_tensor *value = floating ? scaled(p, i, k, dtype) : p->s.in[i];
        in[i] = floating ? ct_leaf(p->tape, value) : ct_constant(p->tape, value);
        if (!floating) continue;
        dot[n] = draw(p, in[i], (uint64_t)i, t->mode == ALONG ? k : 0), x[n++] = in[i];
        ct_release(value);
    }
    ct_var first = ct_apply(p->op, in, p->s.n_in, p->s.attr_size ? p->s.attr : NULL, p->s.attr_size);
    const int outputs = outputs_of(first);
    ct_var y = t->out ? ct_output(first, t->out) : first;
    keep(r, y);
    if (t->mode >= FORWARD) {
        ct_jvp(&y, &y_dot, 1, x, dot, n, CT_GRAD_FREE);
        keep(r, y_dot);
    } else {
        ct_grad(y, draw(p, y, CT_MAX_INPUTS, 0), x, bar, n,
                t->mode == REVERSE ? CT_GRAD_KEEP : CT_GRAD_RECORD);
        for (int i = 0; i < n; i++) keep(r, bar[i]);
    }
    r->status = ct_tape_status(p->tape);
    return outputs;
}

/* Whether x is what `wide` rounds to. A `wide` beyond f32's range is anything that says so. */
static bool agrees(double x, double wide, double most)
{
    if (fabs(wide) > FLT_MAX) return !isfinite(x);
    return isfinite(x) && fabs(x - wide) <= 0.01 * fmin(most, FLT_MAX) + 1e-43;
}

static void check(const point *p, const task *t, const results *r, const results *wide)
{
    const bool flags = flags_all(p->op), digits = wide && !wide->status;
    for (int i = 0; i < r->n; i++) {
        double most = 0;
        int64_t bad = -1;
        for (int64_t e = 0; digits && e < wide->count[i]; e++) most = fmax(most, fabs(wide->x[i][e]));
        for (int64_t e = 0; e < r->count[i] && bad < 0; e++)
            if (digits ? !agrees(r->x[i][e], wide->x[i][e], most) || (flags && !isfinite(r->x[i][e]))
                       : flags && !isfinite(r->x[i][e]))
                bad = e;
        matrix_check(p, bad < 0, "%s, output %d, inputs %#llx times 1e%d: %d[%lld] is %g, in f64 %g",
                     mode_names[t->mode], t->out, (unsigned long long)t->which, t->k, i, (long long)bad,
                     bad < 0 ? 0 : r->x[i][bad], bad < 0 || !digits ? NAN : wide->x[i][bad]);
    }
}

static void visit(point *p)
{
    static const int f64[] = { -310, -300, -200, -155, -110, 0, 110, 155, 200, 300, 306 },
                     f32[] = { -42, -39, -30, -20, -15, -10, 0, 10, 15, 20, 30, 37 };
    enum { F64 = sizeof f64 / sizeof *f64, F32 = sizeof f32 / sizeof *f32 };
    const bool narrow = p->s.dtype == CT_F32;
    if (!p->op->finite && !flags_all(p->op) && !is_among(others, p->op->name)) return;
    int outputs = 1;
    for (int w = -1; w < (p->s.n_in > 1 ? p->s.n_in : 0); w++)
        for (task t = { .which = w < 0 ? UINT64_MAX : (uint64_t)1 << w }; t.mode < MODES; t.mode++)
            for (t.out = 0; t.out < outputs; t.out++)
                for (int i = 0; i < (narrow ? F32 : F64); i++) {
                    results r, wide;
                    t.k = narrow ? f32[i] : f64[i];
                    outputs = compute(&r, p, &t, p->s.dtype);
                    if (narrow) compute(&wide, p, &t, CT_F64);
                    if (!r.status) check(p, &t, &r, narrow ? &wide : NULL);
                    clear(&r);
                    if (narrow) clear(&wide);
                }
}

int main(void)
{
    const axes few = { .sizes = check_quick() ? (const int64_t[]){ 3, -1 } : (const int64_t[]){ 1, 3, 6, -1 },
                       .batches = check_quick() ? (const int[]){ -1, -2 } : (const int[]){ -1, 2, -2 },
                       .f32 = true };
    return matrix_run("op matrix: scales", visit, &few);
}
