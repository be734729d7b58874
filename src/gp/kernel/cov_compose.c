/* Covariance matrices and their diagonals as compositions of public ops: slower than the fused primitives,
 * but differentiable to any order.
 *
 * cov_diag: k(x_i, x_i)                            theta (..., P), X (..., n, d) -> (..., n)
 * Profiles of a distance or of sines are 1 there; those of a dot product have s_i = Σ_d x_id²/l_d². */
#include "cov_compose.h"

#include "cov_call.h"
#include "kernel_tree.h"

/* The matrix to compose: k of all pairs of X and Z, of X and X if Z has no tape, or the diagonal of the
 * latter. */
typedef struct request {
    const ct_cov_program *program;
    ct_var theta, X, Z;
    bool diagonal, slopes;
    ct_shape rows; /* the batch, then the rows of X */
} request;

/* -- pieces ---------------------------------------------------------------------------------------------- */

static ct_var number(const request *q, double value)
{
    return ct_scalar(q->theta.tape, ct_var_dtype(q->theta), value);
}

/* theta[at], (..., 1). */
static ct_var theta_at(const request *q, int32_t at) { return ct_slice(q->theta, -1, at, at + 1, 1); }

/* The same with the shape that broadcasts to matrices, (..., 1, 1), or to diagonals, (..., 1). */
static ct_var parameter(const request *q, int32_t at)
{
    return q->diagonal ? theta_at(q, at) : ct_unsqueeze(theta_at(q, at), -1);
}

/* The active columns of X, concatenated from slices of adjacent ones. */
static ct_var columns(const request *q, const ct_cov_node *n, ct_var X)
{
    const int32_t *dims = ct_cov_dims(q->program) + n->dims;
    ct_var all = X;
    for (int32_t k = 0, end; k < n->n_dims; k = end) {
        end = k + 1;
        while (end < n->n_dims && dims[end] == dims[end - 1] + 1) end++;
        if (end - k == q->program->input_dims) return X;
        ct_var run = ct_slice(X, -1, dims[k], dims[end - 1] + 1, 1);
        all = k ? ct_concat((ct_var[]){ all, run }, 2, -1) : run;
    }
    return all;
}

/* The active columns of X, divided by the lengthscales: (rows, n->n_dims). */
static ct_var scaled(const request *q, const ct_cov_node *n, ct_var X)
{
    ct_var active = columns(q, n, X);
    if (n->lengthscale < 0) return active;
    int32_t lengths = n->ard ? n->n_dims : 1;
    ct_var lengthscale = ct_slice(q->theta, -1, n->lengthscale, n->lengthscale + lengths, 1);
    return ct_div(active, ct_unsqueeze(lengthscale, -2));
}

/* Column x of CT_SINE: sin²(π (x_d - z_d)/p) / l_d², and of CT_DIFFER: [x_d ≠ z_d] / l_d, for z a row. */
static ct_var column_part(const request *q, const ct_cov_node *n, ct_var x, ct_var z, ct_var lengthscale)
{
    if (n->geometry == CT_DIFFER) return ct_div(ct_add(ct_less(x, z), ct_less(z, x)), lengthscale);
    ct_var angle = ct_div(ct_scale(ct_sub(x, z), CT__PI), parameter(q, n->extra));
    return ct_square(ct_div(ct_sin(angle), lengthscale));
}

/* s of CT_SINE and CT_DIFFER, a sum over the columns. */
static ct_var sum_of_columns(const request *q, const ct_cov_node *n, ct_var Z)
{
    const int32_t *dims = ct_cov_dims(q->program) + n->dims;
    ct_var s = ct_none();
    for (int32_t k = 0; k < n->n_dims; k++) {
        ct_var x = ct_slice(q->X, -1, dims[k], dims[k] + 1, 1), z = ct_slice(Z, -1, dims[k], dims[k] + 1, 1),
               part = column_part(q, n, x, ct_t(z), parameter(q, n->lengthscale + (n->ard ? k : 0)));
        s = k ? ct_add(s, part) : part;
    }
    return s;
}

/* -- index ----------------------------------------------------------------------------------------------- */

/* One-hot rows (rows, levels) of the codes of X; a code that is no level gives a row of zeros. */
static ct_var one_hot(const request *q, const ct_cov_node *n, ct_var X)
{
    const ct_shape square = ct_shape2(n->levels, n->levels);
    ct_var levels = ct_sum(ct_tril(ct_broadcast_to(number(q, 1), square), -1), -1, false), /* 0, 1, ... */
        code = columns(q, n, X), differ = ct_add(ct_less(code, levels), ct_less(levels, code));
    return ct_add(ct_shift(ct_neg(differ), 1), ct_sub(code, code)); /* NaN if the code is not finite */
}

/* u = 1 - Σ_l e_l: 1 for the rows of a code that is no level. */
static ct_var no_level(ct_var E) { return ct_shift(ct_neg(ct_sum(E, -1, true)), 1); }

/* B[c, c'] = E B Eᵀ for one-hot rows E, B = W Wᵀ + diag κ. Codes that are no level add u uᵀ tr(B)/levels. */
static ct_var index_value(const request *q, const ct_cov_node *n)
{
    const int32_t of_W = n->levels * n->degree, kappa_at = n->extra + of_W;
    ct_shape of_theta = ct_var_shape(q->theta);
    of_theta.ndim -= of_theta.ndim > 0;
    const ct_shape shape = ct__in_batch(of_theta, ct_shape2(n->levels, n->degree));
    ct_var W = ct_reshape(ct_slice(q->theta, -1, n->extra, kappa_at, 1), shape),
           kappa = ct_slice(q->theta, -1, kappa_at, kappa_at + n->levels, 1),
           variance = ct_add(ct_sum(ct_square(W), -1, false), kappa), average = ct_mean(variance, -1, true);
    ct_var E = one_hot(q, n, q->X), u = no_level(E);
    if (q->diagonal)
        return ct_add(ct_sum(ct_mul(E, ct_unsqueeze(variance, -2)), -1, false),
                      ct_mul(ct_squeeze(ct_square(u), -1), average));
    ct_var F = q->Z.tape ? one_hot(q, n, q->Z) : E, v = q->Z.tape ? no_level(F) : u,
           B = ct_add_diag(ct_matmul(W, ct_t(W)), kappa);
    return ct_add(ct_matmul(ct_matmul(E, B), ct_t(F)),
                  ct_mul(ct_matmul(u, ct_t(v)), ct_unsqueeze(average, -1)));
}

/* -- slopes: y = k(s, a), given with its derivatives ------------------------------------------------------
 * adjoint:   s̄ = ȳ ∂k/∂s,  ā = ȳ ∂k/∂a            inputs y, s, ∂k/∂s and, if k depends on a, a and ∂k/∂a
 * tangent:   ẏ = ṡ ∂k/∂s + ȧ ∂k/∂a */

static ct_shape slopes_shape(ct_call *c) { return ct_arg_shape(c, 0); }
static void slopes_forward(ct_call *c) { ct_set_result(c, 0, ct_arg(c, 0)); }

static void slopes_vjp(ct_rule *g)
{
    for (int i = 1; i < ct_rule_args(g); i += 2) ct_in_bar(g, i, ct_mul(ct_out_bar(g), ct_in(g, i + 1)));
}

static void slopes_jvp(ct_rule *g)
{
    for (int i = 1; i < ct_rule_args(g); i += 2)
        if (ct_has_in_dot(g, i)) ct_give_out_dot(g, 0, ct_mul(ct_in_dot(g, i), ct_in(g, i + 1)));
}

static const ct_op slopes_op = { .name = "slopes",
                                 .n_in = -1,
                                 .shape = slopes_shape,
                                 .forward = slopes_forward,
                                 .vjp = slopes_vjp,
                                 .jvp = slopes_jvp,
                                 .jvp_stacked = true };

/* -- profiles -------------------------------------------------------------------------------------------- */

/* The macros of profiles.h as ops. In POSITIVE x divides by r1, which is r for s > 0 and 1 for s = 0, where r
 * has slope 0: no gradient is NaN. The term that the rule for r omits at s = 0 is multiplied by ∂s/∂x = 0, so
 * second derivatives are right, too. */
#define ADD(x, y)      ct_add(x, y)
#define SUB(x, y)      ct_sub(x, y)
#define MUL(x, y)      ct_mul(x, y)
#define DIV(x, y)      ct_div(x, y)
#define NEG(x)         ct_neg(x)
#define EXP(x)         ct_exp(x)
#define LOG1P(x)       ct_log1p(x)
#define SCALE(c, x)    ct_scale(x, c)
#define SHIFT(x, c)    ct_shift(x, c)
#define NUMBER(c)      number(q, c)
#define POWI(x, i)     ct_pow(x, i)
#define SIN2PI(t)      ct_sin(ct_scale(t, 2 * CT__PI))
#define COS2PI(t)      ct_cos(ct_scale(t, 2 * CT__PI))
#define POSITIVE(x, y) ct_where(some, x, y)
#define NONE           none

/* The profile of node n at s, of any shape. */
static ct_var profile_at(const request *q, const ct_cov_node *n, ct_var s)
{
    const int degree = n->degree;
    const bool root = n->geometry == CT_DISTANCE;
    const ct_var none = ct_none(), a = n->extra < 0 ? none : parameter(q, n->extra);
    const ct_var some = root ? ct_less(number(q, 0), s) : none;
    const ct_var r1 = root ? ct_sqrt(ct_where(some, s, number(q, 1))) : none,
                 r = root ? ct_mul(some, r1) : none;
    switch (n->code) {
#define RULE(CODE, name, text, lengthscales, extra, unit, geometry, tail, first, value, by_s, by_a) \
    case CT_COV_##CODE: {                                                                           \
        ct_var u = first, y = value;                                                                \
        (void)degree, (void)r, (void)r1, (void)a;                                                   \
        if (!q->slopes || !root) return y;                                                          \
        ct_var in[] = { y, s, by_s, a, by_a };                                                      \
        return ct_apply(&slopes_op, in, in[4].tape ? 5 : 3, NULL, 0);                               \
    }
        CT_PROFILES(RULE)
#undef RULE
    default: return none;
    }
}

static ct_var profile(const request *q, const ct_cov_node *n)
{
    const ct_var Z = q->Z.tape ? q->Z : q->X;
    if (q->diagonal && n->geometry != CT_DOT) return number(q, 1);
    if (q->diagonal) return profile_at(q, n, ct_sum(ct_square(scaled(q, n, q->X)), -1, false));
    if (n->geometry == CT_SINE || n->geometry == CT_DIFFER) return profile_at(q, n, sum_of_columns(q, n, Z));
    ct_var x = scaled(q, n, q->X), z = scaled(q, n, Z);
    return profile_at(q, n, n->geometry == CT_DOT ? ct_matmul(x, ct_t(z)) : ct_sqdist(x, z));
}

/* -- trees ----------------------------------------------------------------------------------------------- */

/* The value of node n, given those of the nodes before it; one element if it is constant. */
static ct_var node_value(const request *q, const ct_cov_node *n, const ct_var *value)
{
    switch (n->code) {
    case CT_COV_CONSTANT: return parameter(q, n->extra);
    case CT_COV_WHITE:
        if (q->Z.tape) return number(q, 0);
        if (q->diagonal) return parameter(q, n->extra);
        return ct_diag_embed(ct_broadcast_to(theta_at(q, n->extra), q->rows));
    case CT_COV_INDEX: return index_value(q, n);
    case CT_COV_SCALE: return ct_mul(parameter(q, n->extra), value[n->right]);
    case CT_COV_SUM: return ct_add(value[n->left], value[n->right]);
    case CT_COV_PRODUCT: return ct_mul(value[n->left], value[n->right]);
    default: return profile(q, n);
    }
}

static ct_shape batch_of(ct_var v, int own)
{
    const ct_shape s = ct_var_shape(v);
    return ct_shape_of(s.ndim - own, s.dim);
}

static ct_var composed(request *q)
{
    const ct_var Z = q->Z.tape ? q->Z : q->X;
    const ct_shape n = ct_shape1(ct_tensor_dim(ct_value(q->X), -2)),
                   m = ct_shape1(ct_tensor_dim(ct_value(Z), -2));
    const ct_shape one = ct_shape_broadcast(batch_of(q->theta, 1), batch_of(q->X, 2));
    q->rows = ct__in_batch(ct_shape_broadcast(one, batch_of(Z, 2)), n);
    ct_var value[CT__KERNEL_MAX_NODES];
    const int32_t last = q->program->n_nodes - 1;
    for (int32_t k = 0; k <= last; k++) value[k] = node_value(q, &ct_cov_nodes(q->program)[k], value);
    return ct_broadcast_to(value[last], q->diagonal ? q->rows : ct__in_batch(q->rows, m));
}

ct_var ct__cov_compose(const ct_cov_program *program, ct_var theta, ct_var X, ct_var Z, bool slopes)
{
    return composed(&(request){ .program = program, .theta = theta, .X = X, .Z = Z, .slopes = slopes });
}

/* -- the diagonal ---------------------------------------------------------------------------------------- */

static ct_var compose_diagonal(ct_call *c)
{
    if (!ct__cov_accepts(c, 1)) return ct_arg_var(c, 0);
    ct_batch_shape(c, (int[]){ 1, 2 });
    return composed(&(request){
        .program = ct_attr(c), .theta = ct_arg_var(c, 0), .X = ct_arg_var(c, 1), .diagonal = true });
}

static void sample(ct_sample *s) { ct__cov_sample(s, false); }

const ct_op ct_op_cov_diag = { .name = "cov_diag", .n_in = 2, .compose = compose_diagonal, .sample = sample };

ct_var ct_cov_diag(const ct_kernel *k, ct_var theta, ct_var X)
{
    return ct__cov_apply(&ct_op_cov_diag, k, (ct_var[]){ theta, X }, 2);
}
