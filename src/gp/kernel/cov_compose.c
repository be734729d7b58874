/* Covariance matrices as compositions of public ops: slower than the fused primitives, and differentiable to
 * any order. */
#include "cov.h"
#include "kernel_tree.h"

/* -- pieces ---------------------------------------------------------------------------------------------- */

static ct_var number(ct_var like, double value) { return ct_scalar(like.tape, ct_var_dtype(like), value); }

ct_var ct__cov_extra(ct_var theta, int32_t at) { return ct_slice(theta, 0, at, at + 1, 1); }

/* The active columns of X: slices of neighbouring ones, side by side. */
static ct_var columns(const ct_cov_program *program, const ct_cov_node *n, ct_var X)
{
    const int32_t *dims = ct_cov_dims(program) + n->dims;
    ct_var all = { NULL, 0, 0 };
    for (int32_t k = 0; k < n->n_dims;) {
        int32_t end = k + 1;
        while (end < n->n_dims && dims[end] == dims[end - 1] + 1) end++;
        if (end - k == program->input_dims) return X;
        ct_var run = ct_slice(X, 1, dims[k], dims[end - 1] + 1, 1);
        all = k ? ct_concat((ct_var[]){ all, run }, 2, 1) : run;
        k = end;
    }
    return all;
}

ct_var ct__cov_scaled(const ct_cov_program *program, const ct_cov_node *n, ct_var theta, ct_var X)
{
    ct_var active = columns(program, n, X);
    if (n->lengthscale < 0) return active;
    int32_t lengths = n->ard ? n->n_dims : 1;
    return ct_div(active, ct_slice(theta, 0, n->lengthscale, n->lengthscale + lengths, 1));
}

/* s of CT_SINE: Σ_d sin²(π (x_d - z_d)/p) / l_d² */
static ct_var sines(const ct_cov_program *program, const ct_cov_node *n, ct_var theta, ct_var X, ct_var Z)
{
    const int32_t *dims = ct_cov_dims(program) + n->dims;
    ct_var s = { NULL, 0, 0 }, period = ct__cov_extra(theta, n->extra);
    for (int32_t k = 0; k < n->n_dims; k++) {
        ct_var x = ct_slice(X, 1, dims[k], dims[k] + 1, 1), z = ct_slice(Z, 1, dims[k], dims[k] + 1, 1);
        ct_var angle = ct_div(ct_scale(ct_sub(x, ct_t(z)), CT__PI), period);
        ct_var length = ct__cov_extra(theta, n->lengthscale + (n->ard ? k : 0));
        ct_var part = ct_square(ct_div(ct_sin(angle), length));
        s = k ? ct_add(s, part) : part;
    }
    return s;
}

/* The words of profiles.h in ops. POSITIVE's x divides by r1, which is 1 where s is 0, and r = r1 where s > 0
 * has slope 0 there: no gradient is NaN. What the rule for r leaves out at s = 0 is multiplied by ∂s/∂x = 0,
 * so second derivatives are right, too. */
#define ADD(x, y)      ct_add(x, y)
#define SUB(x, y)      ct_sub(x, y)
#define MUL(x, y)      ct_mul(x, y)
#define DIV(x, y)      ct_div(x, y)
#define NEG(x)         ct_neg(x)
#define EXP(x)         ct_exp(x)
#define LOG1P(x)       ct_log1p(x)
#define SCALE(c, x)    ct_scale(x, c)
#define SHIFT(x, c)    ct_shift(x, c)
#define NUMBER(c)      number(s, c)
#define POWI(x, i)     ct_pow(x, i)
#define SIN2PI(t)      ct_sin(ct_scale(t, 2 * CT__PI))
#define COS2PI(t)      ct_cos(ct_scale(t, 2 * CT__PI))
#define POSITIVE(x, y) ct_where(some, x, y)
#define NONE           none

ct__cov_leaf ct__cov_profile(const ct_cov_node *n, ct_var theta, ct_var s, bool slopes)
{
    const int degree = n->degree;
    const ct_var none = { NULL, 0, 0 };
    ct_var a = n->extra < 0 ? none : ct__cov_extra(theta, n->extra), some = none, r1 = none, r = none;
    ct__cov_leaf out = { .s = s };
    if (n->geometry == CT_DISTANCE) {
        some = ct_less(number(s, 0), s);
        r1 = ct_sqrt(ct_where(some, s, number(s, 1)));
        r = ct_mul(some, r1);
    }
    switch (n->code) {
#define RULE(CODE, name, text, lengthscales, extra, unit, geometry, tail, first, value, by_s, by_a) \
    case CT_COV_##CODE: {                                                                           \
        ct_var u = first, y = value;                                                                \
        (void)degree, (void)r1, (void)a;                                                            \
        out.y = y;                                                                                  \
        out.ds = slopes ? by_s : none;                                                              \
        out.da = slopes ? by_a : none;                                                              \
        break;                                                                                      \
    }
        CT_PROFILES(RULE)
#undef RULE
    default: break;
    }
    return out;
}

/* s of all pairs */
static ct_var pairs(const ct_cov_program *program, const ct_cov_node *n, ct_var theta, ct_var X, ct_var Z)
{
    if (n->geometry == CT_SINE) return sines(program, n, theta, X, Z);
    ct_var x = ct__cov_scaled(program, n, theta, X), z = ct__cov_scaled(program, n, theta, Z);
    return n->geometry == CT_DOT ? ct_matmul(x, ct_t(z)) : ct_sqdist(x, z);
}

/* -- values ---------------------------------------------------------------------------------------------- */

ct_var ct__cov_combine(const ct_cov_node *n, ct_var theta, const ct_var *value)
{
    switch (n->code) {
    case CT_COV_CONSTANT: return ct__cov_extra(theta, n->extra);
    case CT_COV_SCALE: return ct_mul(ct__cov_extra(theta, n->extra), value[n->right]);
    case CT_COV_SUM: return ct_add(value[n->left], value[n->right]);
    default: return ct_mul(value[n->left], value[n->right]);
    }
}

/* All nodes' values; scalars where a node is constant. In leaves[k], where not NULL, what the profiles' rules
 * need. */
static void values(const ct_cov_program *program, ct_var theta, ct_var X, ct_var Z, ct_var *value,
                   ct__cov_leaf *leaves)
{
    const ct_cov_node *nodes = ct_cov_nodes(program);
    bool symmetric = !Z.tape;
    for (int k = 0; k < program->n_nodes; k++) {
        const ct_cov_node *n = &nodes[k];
        if (n->code < CT_COV_PROFILES) {
            ct_var s = pairs(program, n, theta, X, symmetric ? X : Z);
            ct__cov_leaf l = ct__cov_profile(n, theta, s, leaves != NULL);
            value[k] = l.y;
            if (leaves) leaves[k] = l;
        } else if (n->code == CT_COV_WHITE) {
            ct_shape rows = ct_shape1(ct_var_shape(X).dim[0]);
            value[k] = symmetric ? ct_diag_embed(ct_broadcast_to(ct__cov_extra(theta, n->extra), rows))
                                 : number(theta, 0);
        } else {
            value[k] = ct__cov_combine(n, theta, value);
        }
    }
}

ct_var ct__cov_compose(const ct_cov_program *program, ct_var theta, ct_var X, ct_var Z)
{
    ct_var value[CT__KERNEL_MAX_NODES];
    values(program, theta, X, Z, value, NULL);
    ct_shape shape = ct_shape2(ct_var_shape(X).dim[0], ct_var_shape(Z.tape ? Z : X).dim[0]);
    return ct_broadcast_to(value[program->n_nodes - 1], shape);
}

/* -- the rule -------------------------------------------------------------------------------------------- */

/* theta_bar[at] is Σ terms. */
static void give_extra(ct_vjp *g, const ct_cov_program *program, int32_t at, ct_var terms)
{
    ct_in_bar(
        g, 0,
        ct_unslice(ct_reshape(ct_sum(terms, CT_ALL, false), ct_shape1(1)), 0, program->n_params, at, 1));
}

/* The cotangent of s on to theta, X and Z, of which `own` are the rule's own copies. */
static void give_s(ct_vjp *g, const ct_var *own, ct_var s, ct_var s_bar)
{
    ct_var x[3], x_bar[3];
    int input[3], n = 0;
    for (int i = 0; i < ct_vjp_args(g); i++) {
        if (!ct_wants(g, i)) continue;
        x[n] = own[i];
        input[n++] = i;
    }
    if (!n || ct_grad(s, s_bar, x, x_bar, n, CT_GRAD_RECORD)) return;
    for (int i = 0; i < n; i++) ct_give_in_bar(g, input[i], x_bar[i]);
}

void ct__cov_vjp_recorded(ct_vjp *g, const ct_cov_program *program)
{
    ct_var value[CT__KERNEL_MAX_NODES], bar[CT__KERNEL_MAX_NODES], none = { NULL, 0, 0 };
    ct__cov_leaf leaves[CT__KERNEL_MAX_NODES];
    const ct_cov_node *nodes = ct_cov_nodes(program);
    bool symmetric = ct_vjp_args(g) == 2;
    /* Of inputs of its own, so that the inner sweeps end there: Z may be made of X. */
    ct_var own[3] = { none, none, none };
    for (int i = 0; i < ct_vjp_args(g); i++) own[i] = ct_scale(ct_in(g, i), 1);
    ct_var theta = own[0], X = own[1], Z = own[2];
    values(program, theta, X, Z, value, leaves);
    bar[program->n_nodes - 1] = ct_out_bar(g);
    for (int k = program->n_nodes - 1; k >= 0; k--) {
        const ct_cov_node *n = &nodes[k];
        ct_var y_bar = bar[k];
        if (n->code < CT_COV_PROFILES) {
            give_s(g, own, leaves[k].s, ct_mul(y_bar, leaves[k].ds));
            if (leaves[k].da.tape) give_extra(g, program, n->extra, ct_mul(y_bar, leaves[k].da));
        } else if (n->code == CT_COV_CONSTANT) {
            give_extra(g, program, n->extra, y_bar);
        } else if (n->code == CT_COV_WHITE) {
            if (symmetric) give_extra(g, program, n->extra, ct_diag(y_bar));
        } else if (n->code == CT_COV_SCALE) {
            give_extra(g, program, n->extra, ct_mul(y_bar, value[n->right]));
            bar[n->right] = ct_mul(ct__cov_extra(theta, n->extra), y_bar);
        } else if (n->code == CT_COV_SUM) {
            bar[n->left] = bar[n->right] = y_bar;
        } else {
            bar[n->left] = ct_mul(y_bar, value[n->right]);
            bar[n->right] = ct_mul(y_bar, value[n->left]);
        }
    }
}
