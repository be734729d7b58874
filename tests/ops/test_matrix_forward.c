/* Forward mode over the whole matrix: ⟨c, Jẋ⟩ = ⟨Jᵀc, ẋ⟩; a forward rule against the transposed backward
 * rule; two tangents at a time, of the op and of its gradient; the second derivative by reverse over forward
 * and by forward over reverse against reverse over reverse. */
#include "matrix.h"

#include "autograd/rule.h"

enum { X = CT_MAX_INPUTS, Y = CT_MAX_OUTPUTS };

/* The op at the point, its floating inputs with tangents, and its differentiable outputs with cotangents. */
typedef struct call {
    int n, m;
    ct_var in[X], x[X], x_dot[X], y[Y], c[Y];
} call;

static ct_var draw(const point *p, ct_var like, uint64_t stream)
{
    ct_tensor *t = ct_rand_normal(p->device, ct_var_dtype(like), ct_var_shape(like), 5, stream);
    ct_var v = ct_constant(p->tape, t);
    ct_release(t);
    return v;
}

static void outputs_of(call *k, const point *p, const ct_op *op)
{
    const ct_var first = ct_apply(op, k->in, p->s.n_in, p->s.attr_size ? p->s.attr : NULL, p->s.attr_size);
    const ct_node *node = ct__node(first);
    const int n_out = node && !op->compose ? node->n_out : 1;
    k->m = 0;
    for (int o = 0; node && o < n_out; o++) {
        const ct_var y = o ? ct_output(first, o) : first;
        if (ct_var_needs_grad(y) && !(p->tape->node[y.index].flags & NODE_RULE)) k->y[k->m++] = y;
    }
}

static void open_call(call *k, const point *p)
{
    ct_tape_reset(p->tape);
    k->n = 0;
    for (int i = 0; i < p->s.n_in; i++) {
        const bool floating = p->s.kind[i] != CT__SAMPLE_INDEX;
        k->in[i] = floating ? ct_leaf(p->tape, p->s.in[i]) : ct_constant(p->tape, p->s.in[i]);
        if (!floating) continue;
        k->x[k->n] = k->in[i];
        k->x_dot[k->n++] = draw(p, k->in[i], (uint64_t)i);
    }
    outputs_of(k, p, p->op);
    for (int o = 0; o < k->m; o++) k->c[o] = draw(p, k->y[o], (uint64_t)(X + o));
}

/* Σ_i a_i b_i, and in *size that of the magnitudes */
static double dot(const ct_var *a, const ct_var *b, int n, double *size)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double *u = matrix_read(ct_value(a[i])), *v = matrix_read(ct_value(b[i]));
        for (int64_t e = 0; u && v && e < ct_tensor_count(ct_value(a[i])); e++)
            sum += u[e] * v[e], *size += fabs(u[e] * v[e]);
        free(u);
        free(v);
    }
    return sum;
}

static void check_same(const point *p, const char *what, const ct_var *a, const ct_var *b, int n,
                       double tolerance)
{
    for (int i = 0; i < n; i++) {
        double *u = matrix_read(ct_value(a[i])), *v = matrix_read(ct_value(b[i]));
        int64_t at = 0;
        const bool ok = u && v && matrix_agree(u, v, ct_tensor_count(ct_value(a[i])), tolerance, &at);
        matrix_check(p, ok, "%s: %d[%lld] is %.17g, not %.17g: %s", what, i, (long long)at,
                     u && !ok ? u[at] : 0, v && !ok ? v[at] : 0, ct_tape_message(p->tape));
        free(u);
        free(v);
    }
}

/* Σ_o ⟨y_o, c_o⟩ */
static ct_var contracted(const ct_var *y, const ct_var *c, int m)
{
    ct_var sum = ct_sum(ct_mul(y[0], c[0]), CT_ALL, false);
    for (int o = 1; o < m; o++) sum = ct_add(sum, ct_sum(ct_mul(y[o], c[o]), CT_ALL, false));
    return sum;
}

static double rounding(const point *p)
{
    const double f32 = p->s.dtype == CT_F32 ? fmax(1, p->ref->f32_rounding) : 1;
    return 4 * f32 * matrix_tolerance(p->s.dtype);
}

/* The forward rule of `planted` with a fault: its tangents are 1 % too long. */
static const ct_op *planted;

static void faulty(ct_rule *g)
{
    planted->jvp(g);
    for (int k = 0; k < ct_rule_outs(g); k++)
        if (ct__has_bar(g->s, g->index + (uint32_t)k))
            ct_give_out_dot(g, k, ct_scale(ct__bar_of(g->s, g->index + (uint32_t)k), 0.01));
}

/* The fault shows in ⟨c, Jẋ⟩, unless that cancels. */
static void check_planted(const point *p, call *k, double forward, double backward, double size)
{
    if (fabs(forward) < 1e4 * rounding(p) * size) return;
    ct_var y_dot[Y];
    ct_op wrong = *p->op;
    planted = p->op;
    wrong.jvp = faulty;
    outputs_of(k, p, &wrong);
    ct_jvp(k->y, y_dot, k->m, k->x, k->x_dot, k->n, CT_GRAD_FREE);
    const double found = dot(k->c, y_dot, k->m, &size);
    matrix_check(p, fabs(found - backward) > rounding(p) * size, "a planted fault is not seen: %.17g, %.17g",
                 found, backward);
    ct_tape_reset(p->tape);
}

static void check_transposed(const point *p, call *k)
{
    ct_var y_dot[Y], plain_dot[Y], x_bar[X], none = { NULL, 0, 0 };
    ct_status s = ct_jvp(k->y, y_dot, k->m, k->x, k->x_dot, k->n, CT_GRAD_FREE);
    if (!matrix_check(p, s == CT_OK, "forward: %s", ct_tape_message(p->tape))) return;
    ct_grad(contracted(k->y, k->c, k->m), none, k->x, x_bar, k->n, CT_GRAD_KEEP);
    double size = 1;
    const double forward = dot(k->c, y_dot, k->m, &size), backward = dot(x_bar, k->x_dot, k->n, &size);
    matrix_check(p, fabs(forward - backward) <= rounding(p) * size,
                 "<c, J x_dot> is %.17g, <J' c, x_dot> %.17g: %s", forward, backward,
                 ct_tape_message(p->tape));
    if (!p->op->jvp) return;
    ct_op plain = *p->op;
    plain.jvp = NULL;
    outputs_of(k, p, &plain);
    ct_jvp(k->y, plain_dot, k->m, k->x, k->x_dot, k->n, CT_GRAD_FREE);
    check_same(p, "the forward rule against the backward rule", y_dot, plain_dot, k->m, 10 * rounding(p));
    ct_tape_reset(p->tape); /* before its op goes */
    open_call(k, p);
    check_planted(p, k, forward, backward, size);
}

/* Two tangents of y[0..m) at a time give what each gives alone. */
static void check_stacked(const point *p, call *k, const char *what, const ct_var *y, int m)
{
    enum { T = 2 };
    ct_var dots[T][X], stacked[X], y_dot[X], one[X], row[X];
    for (int i = 0; i < k->n; i++) {
        dots[0][i] = k->x_dot[i];
        dots[1][i] = draw(p, k->x[i], (uint64_t)(2 * X + i));
        stacked[i] = ct_stack((ct_var[]){ dots[0][i], dots[1][i] }, T, 0);
    }
    ct_status s = ct_jvp(y, y_dot, m, k->x, stacked, k->n, CT_GRAD_FREE);
    if (!matrix_check(p, s == CT_OK, "two tangents of %s: %s", what, ct_tape_message(p->tape))) return;
    for (int t = 0; t < T; t++) {
        ct_jvp(y, one, m, k->x, dots[t], k->n, CT_GRAD_FREE);
        for (int o = 0; o < m; o++) row[o] = ct_row(y_dot[o], t);
        check_same(p, what, row, one, m, rounding(p));
    }
}

static void check_second(const point *p, call *k)
{
    ct_var y_dot[Y], x_bar[X], by[3][X], none = { NULL, 0, 0 };
    if (ct_jvp(k->y, y_dot, k->m, k->x, k->x_dot, k->n, CT_GRAD_RECORD) == CT_OK)
        ct_grad(contracted(y_dot, k->c, k->m), none, k->x, by[0], k->n, CT_GRAD_KEEP);
    ct_grad(contracted(k->y, k->c, k->m), none, k->x, x_bar, k->n, CT_GRAD_RECORD);
    ct_grad(contracted(x_bar, k->x_dot, k->n), none, k->x, by[1], k->n, CT_GRAD_KEEP);
    ct_jvp(x_bar, by[2], k->n, k->x, k->x_dot, k->n, CT_GRAD_FREE);
    if (!matrix_check(p, !ct_tape_status(p->tape), "second order: %s", ct_tape_message(p->tape))) return;
    check_same(p, "reverse over forward", by[0], by[1], k->n, 1e3 * rounding(p));
    check_same(p, "forward over reverse", by[2], by[1], k->n, 1e3 * rounding(p));
}

static void visit(point *p)
{
    ct_var x_bar[X];
    call k;
    open_call(&k, p);
    if (!k.m) return;
    matrix_check(p, !p->op->jvp || p->op->jvp_stacked, "its forward rule takes one tangent at a time");
    check_transposed(p, &k);
    open_call(&k, p);
    check_stacked(p, &k, "the outputs, together or alone", k.y, k.m);
    if (p->s.size > 3) return;
    open_call(&k, p);
    ct_grad(contracted(k.y, k.c, k.m), ct_none(), k.x, x_bar, k.n, CT_GRAD_RECORD);
    check_stacked(p, &k, "the gradient, together or alone", x_bar, k.n);
    if (p->s.kinks) return;
    open_call(&k, p);
    check_second(p, &k);
}

int main(void) { return matrix_run("op matrix: forward mode", visit, &matrix_all); }
