/* Covariance functions by the book, entry by entry [Rasmussen & Williams 2006, ch. 4], and the likelihood of
 * eq. 2.30, of one output and of several. */
#include <cotangent/cov_program.h>

#include "reference.h"

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846264338327950288L

typedef struct pair {
    const ct_cov_program *program;
    const long double *theta, *x, *z;
    bool same; /* one point with itself, where white noise counts */
} pair;

static long double lengthscale(const pair *p, const ct_cov_node *node, int k)
{
    return node->lengthscale < 0 ? 1 : p->theta[node->lengthscale + (node->ard ? k : 0)];
}

static long double power(long double x, int n) { return n > 0 ? x * power(x, n - 1) : 1; }

/* As profiles.h has it. */
#define ADD(x, y)   ((x) + (y))
#define SUB(x, y)   ((x) - (y))
#define MUL(x, y)   ((x) * (y))
#define DIV(x, y)   ((x) / (y))
#define NEG(x)      (-(x))
#define EXP(x)      expl(x)
#define LOG1P(x)    log1pl(x)
#define SCALE(c, x) ((c) * (x))
#define SHIFT(x, c) ((x) + (c))
#define NUMBER(c)   (c)
#define POWI(x, i)  power(x, i)
#define COS2PI(t)   cosl(2 * PI * (t))

static long double by_row(const ct_cov_node *node, long double a, long double s)
{
    const long double r = sqrtl(s);
    const int degree = node->degree;
    (void)r, (void)degree;
    switch (node->code) {
#define ROW(CODE, name, text, lengthscales, extra, unit, geometry, tail, first, value, by_s, by_a) \
    case CT_COV_##CODE: {                                                                          \
        const long double u = first;                                                               \
        return value;                                                                              \
    }
        CT_PROFILES(ROW)
    default: abort();
    }
}

static long double profile(const pair *p, const ct_cov_node *node)
{
    const int32_t *dims = ct_cov_dims(p->program) + node->dims;
    long double a = node->extra < 0 ? 0 : p->theta[node->extra], distance = 0, sines = 0, dot = 0, differ = 0;
    for (int k = 0; k < node->n_dims; k++) {
        long double l = lengthscale(p, node, k), x = p->x[dims[k]], z = p->z[dims[k]], d = x - z;
        distance += d * d / (l * l);
        sines += node->geometry == CT_SINE ? powl(sinl(PI * d / a) / l, 2) : 0;
        dot += x * z / (l * l);
        differ += isunordered(x, z) ? NAN : (x != z) / l;
    }
    if (p->same && node->geometry != CT_DOT) return 1; /* whatever the point and the lengthscales are */
    long double r = sqrtl(distance), r3 = sqrtl(3) * r, r5 = sqrtl(5) * r;
    switch (node->code) {
    case CT_COV_RBF: return expl(-distance / 2);
    case CT_COV_MATERN12: return expl(-r);
    case CT_COV_MATERN32: return (1 + r3) * expl(-r3);
    case CT_COV_MATERN52: return (1 + r5 + r5 * r5 / 3) * expl(-r5);
    case CT_COV_RATIONAL_QUADRATIC: return powl(1 + distance / (2 * a), -a);
    case CT_COV_PERIODIC: return expl(-2 * sines);
    case CT_COV_COSINE: return cosl(2 * PI * sqrtl(distance));
    case CT_COV_LINEAR: return dot;
    case CT_COV_POLYNOMIAL: return powl(a + dot, node->degree);
    case CT_COV_CATEGORY: return expl(-differ);
    default: /* not in the book */
        return by_row(node, a, node->geometry == CT_SINE ? sines : node->geometry == CT_DOT ? dot : distance);
    }
}

static long double index_of(const pair *p, const ct_cov_node *node)
{
    const int rank = node->degree, levels = node->levels;
    const long double *W = p->theta + node->extra, *kappa = W + levels * rank,
                      x = p->x[ct_cov_dims(p->program)[node->dims]],
                      z = p->z[ct_cov_dims(p->program)[node->dims]];
    long double B = 0, trace = 0;
    int a = levels, b = levels;
    for (int l = 0; l < levels; l++) {
        a = x == l ? l : a;
        b = z == l ? l : b;
        trace += kappa[l];
        for (int k = 0; k < rank; k++) trace += W[l * rank + k] * W[l * rank + k];
    }
    if (!isfinite(x) || !isfinite(z)) return NAN;
    if (a == levels || b == levels) return a == b ? trace / levels : 0;
    for (int k = 0; k < rank; k++) B += W[a * rank + k] * W[b * rank + k];
    return a == b ? B + kappa[a] : B;
}

static long double value_of(const pair *p, int at)
{
    const ct_cov_node *node = &ct_cov_nodes(p->program)[at];
    switch (node->code) {
    case CT_COV_CONSTANT: return p->theta[node->extra];
    case CT_COV_WHITE: return p->same ? p->theta[node->extra] : 0;
    case CT_COV_INDEX: return index_of(p, node);
    case CT_COV_SCALE: return p->theta[node->extra] * value_of(p, node->right);
    case CT_COV_SUM: return value_of(p, node->left) + value_of(p, node->right);
    case CT_COV_PRODUCT: return value_of(p, node->left) * value_of(p, node->right);
    default: return profile(p, node);
    }
}

/* k(x_i, z_j), z = x in the symmetric case */
static long double entry(const ref_call *c, int64_t i, int64_t j, bool symmetric)
{
    const ct_cov_program *program = c->attr;
    const ref_array *x = &c->in[1], *z = symmetric ? x : &c->in[2];
    int64_t d = program->input_dims;
    pair p = { program, c->in[0].x, x->x + i * d, z->x + j * d, symmetric && i == j };
    return value_of(&p, program->n_nodes - 1);
}

/* `one` for each member of the batch; the last own[i] dimensions of input i are a member's. */
static void each_member(ref_call *c, const int *own, ref_function *one)
{
    ct_shape batch = ct_shape0();
    for (int i = 0; i < c->n_in; i++) batch = ct_shape_broadcast(batch, ref_batch(&c->in[i], own[i]));
    const int64_t members = ct_shape_count(batch);
    ref_array in[4];
    ref_call member = { .attr = c->attr, .n_in = c->n_in, .in = in };
    long double *all = NULL;
    for (int64_t k = 0; k < (members ? members : 1); k++) { /* one, of any numbers, for the shape of none */
        for (int i = 0; i < c->n_in; i++) {
            const ct_shape whole = c->in[i].shape;
            const int dims = whole.ndim < own[i] ? whole.ndim : own[i]; /* of a scalar there are none */
            in[i].shape = ct_shape_of(dims, whole.dim + whole.ndim - dims);
            in[i].n = ct_shape_count(in[i].shape);
            in[i].x = members ? (long double *)(uintptr_t)ref_member(&c->in[i], own[i], batch, k)
                              : calloc((size_t)in[i].n + 1, sizeof *in[i].x);
        }
        one(&member);
        if (!k) all = ref_out(c, ref_append(batch, member.out.shape.ndim, member.out.shape.dim));
        for (int64_t e = 0; e < member.out.n && members; e++) all[k * member.out.n + e] = member.out.x[e];
        free(member.out.x);
        for (int i = 0; i < c->n_in && !members; i++) free(in[i].x);
    }
}

static void one_cov(ref_call *c)
{
    int64_t n = c->in[1].shape.dim[0], m = c->in[c->n_in - 1].shape.dim[0];
    long double *K = ref_out(c, ct_shape2(n, m));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) K[i * m + j] = entry(c, i, j, c->n_in == 2);
}

static void cov(ref_call *c) { each_member(c, (int[]){ 1, 2, 2 }, one_cov); }

static void one_cov_diag(ref_call *c)
{
    int64_t n = c->in[1].shape.dim[0];
    long double *k = ref_out(c, ct_shape1(n));
    for (int64_t i = 0; i < n; i++) k[i] = entry(c, i, i, true);
}

static void cov_diag(ref_call *c) { each_member(c, (int[]){ 1, 2 }, one_cov_diag); }

/* -log N(r; 0, C): with L = chol C, ½ |L⁻¹ r|² + Σ log L_ii + ½ n log 2π. C (n, n) becomes L. */
static long double density(int64_t n, long double *C, const long double *r)
{
    long double *w = malloc((size_t)(n + 1) * sizeof *w), v = (long double)n / 2 * logl(2 * PI);
    if (!w) abort();
    for (int64_t i = 0; i < n; i++) {
        w[i] = r[i];
        for (int64_t j = 0; j <= i; j++) {
            long double s = C[i * n + j];
            for (int64_t k = 0; k < j; k++) s -= C[i * n + k] * C[j * n + k];
            C[i * n + j] = i == j ? sqrtl(s) : s / C[j * n + j];
            if (j < i) w[i] -= C[i * n + j] * w[j];
        }
        w[i] /= C[i * n + i];
        v += w[i] * w[i] / 2 + logl(C[i * n + i]);
    }
    free(w);
    return v;
}

/* Σ_j -log N(r_j; 0, K + diag(noise)) over the columns of r, or its only one */
static void one_gp_nlml(ref_call *c)
{
    const int64_t n = c->in[1].shape.dim[0], p = c->in[2].shape.ndim > 1 ? c->in[2].shape.dim[1] : 1;
    const long double *noise = c->in[3].x;
    long double *C = malloc((size_t)(n * n + 1) * sizeof *C), *r = malloc((size_t)(n + 1) * sizeof *r);
    long double *v = ref_out(c, ct_shape0());
    if (!C || !r) abort();
    *v = 0;
    for (int64_t j = 0; j < p; j++) {
        for (int64_t i = 0; i < n; i++) {
            r[i] = c->in[2].x[i * p + j];
            for (int64_t k = 0; k <= i; k++)
                C[i * n + k] = entry(c, i, k, true) + (i == k ? noise[c->in[3].n == 1 ? 0 : i] : 0);
        }
        *v += density(n, C, r);
    }
    free(C);
    free(r);
}

static void gp_nlml(ref_call *c) { each_member(c, (int[]){ 1, 2, 1, 1 }, one_gp_nlml); }

/* -log N(r; 0, B ⊗ K + diag(noise) ⊗ I), output by output */
static void nlml_kronecker(ref_call *c)
{
    const int64_t n = c->in[2].shape.dim[0], p = c->in[2].shape.dim[1], all = n * p;
    const long double *K = c->in[0].x, *B = c->in[1].x;
    long double *C = malloc((size_t)(all * all + 1) * sizeof *C), *r = malloc((size_t)(all + 1) * sizeof *r);
    if (!C || !r) abort();
    for (int64_t a = 0; a < all; a++) {
        const int64_t i = a % n, j = a / n;
        r[a] = c->in[2].x[i * p + j];
        for (int64_t b = 0; b <= a; b++) {
            const int64_t k = b % n, l = b / n; /* l <= j; of K the lower triangle */
            C[a * all + b] = B[j * p + l] * K[i > k ? i * n + k : k * n + i] + (a == b ? c->in[3].x[j] : 0);
        }
    }
    *ref_out(c, ct_shape0()) = density(all, C, r);
    free(C);
    free(r);
}

static ref_part kronecker_reads(const void *attr, int input)
{
    (void)attr;
    return input < 2 ? REF_LOWER : REF_ALL;
}

/* -Σ log N(y_i; mean and variance of the GP at x_i given all other points), each by a solve of its own: of
 * the residuals, with k_i the covariance of i with the others and K_i theirs, mean k_iᵀ K_i⁻¹ r, variance
 * k_ii + noise_i - k_iᵀ K_i⁻¹ k_i */
static void one_gp_loo_nlpd(ref_call *c)
{
    int64_t n = c->in[2].n, m = n - 1;
    const long double *r = c->in[2].x, *noise = c->in[3].x;
    long double *K = malloc((size_t)(n * (n + 2) + 1) * sizeof *K), *v = ref_out(c, ct_shape0());
    if (!K) abort();
    long double *w = K + n * n, *z = w + n; /* L⁻¹ k_i, L⁻¹ r */
    *v = 0;
    for (int64_t out = 0; out < n; out++) {
        long double own = noise[c->in[3].n == 1 ? 0 : out], mean = 0,
                    variance = entry(c, out, out, true) + own;
        for (int64_t i = 0; i < m; i++) {
            int64_t a = i + (i >= out);
            w[i] = entry(c, a, out, true), z[i] = r[a];
            for (int64_t j = 0; j <= i; j++) {
                int64_t b = j + (j >= out);
                long double s = entry(c, a, b, true) + (i == j ? noise[c->in[3].n == 1 ? 0 : a] : 0);
                for (int64_t k = 0; k < j; k++) s -= K[i * n + k] * K[j * n + k];
                K[i * n + j] = i == j ? sqrtl(s) : s / K[j * n + j];
                if (j < i) w[i] -= K[i * n + j] * w[j], z[i] -= K[i * n + j] * z[j];
            }
            w[i] /= K[i * n + i], z[i] /= K[i * n + i];
            mean += w[i] * z[i];
            variance -= w[i] * w[i];
        }
        *v += (powl(r[out] - mean, 2) / variance + logl(2 * PI * variance)) / 2;
    }
    free(K);
}

static void gp_loo_nlpd(ref_call *c) { each_member(c, (int[]){ 1, 2, 1, 1 }, one_gp_loo_nlpd); }

const reference reference_covariances[] = {
    { .name = "cov", .compute = cov },
    { .name = "cov_diag", .compute = cov_diag, .swallows_nan = 3 },
    { .name = "gp_nlml", .compute = gp_nlml, .swallows_nan = 9, .f32_rounding = 10 }, /* of no data */
    { .name = "gp_loo_nlpd", .compute = gp_loo_nlpd, .swallows_nan = 9, .f32_rounding = 10 },
    { .name = "nlml_shared", .compute = one_gp_nlml, .swallows_nan = 9, .f32_rounding = 10 },
    { .name = "nlml_kronecker", .compute = nlml_kronecker, .reads = kronecker_reads, .swallows_nan = 10 },
    { 0 },
};
