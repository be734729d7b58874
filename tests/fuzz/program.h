/* The interpreter of fuzz_program.c: it makes leaves and instructions from bytes. */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include <cotangent/cotangent.h>
#include <cotangent/gp.h>

#include "bytes.h"

enum { LEAVES = 3, VALUES = 40, LARGEST = 512 };

/* The leaves' memory and the instructions. */
typedef struct input {
    ct_device *dev;
    ct_dtype dtype;
    ct_tensor *base[LEAVES], *view[LEAVES]; /* a leaf is a view of its base */
    uint8_t scale[LEAVES];
    bytes code;
} input;

/* One run. */
typedef struct machine {
    const input *in;
    ct_tape *tape;
    bytes code;
    ct_var leaf[LEAVES], value[VALUES];
    int n;
    bool rounded; /* a cast has lost digits */
} machine;

static uint64_t mixed(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Numbers of both signs, with ties and zeros. */
static void input_fill(const input *in, uint64_t round)
{
    static const double scales[] = { 1, 1, 1, 0.1, 3, 1e-3, 100, 0 };
    uint64_t state = round;
    for (int i = 0; i < LEAVES; i++) {
        double values[512];
        int64_t count = ct_tensor_count(in->base[i]);
        for (int64_t j = 0; j < count; j++) {
            uint64_t draw = mixed(&state);
            values[j] = scales[in->scale[i] % 8] *
                        (draw % 5 ? (double)(draw % 4001) / 1000 - 2 : (double)(draw % 3) - 1);
        }
        ct_tensor *wide = ct_from(in->dev, CT_F64, ct_tensor_shape(in->base[i]), values);
        MUST(wide && !ct_copy(wide, in->base[i]));
        ct_release(wide);
    }
}

/* Adds h to all of leaf i. */
static void input_shift(const input *in, int i, double h)
{
    double values[512];
    size_t size = (size_t)ct_tensor_count(in->base[i]) * sizeof *values;
    MUST(in->dtype == CT_F64 && !ct_read(in->base[i], values, size));
    for (size_t j = 0; j < size / sizeof *values; j++) values[j] += h;
    MUST(!ct_write(in->base[i], values, size));
}

static void input_open(input *in, ct_device *dev, const uint8_t *data, size_t size)
{
    bytes b = { data, data + size };
    *in = (input){ .dev = dev, .dtype = byte(&b) % 4 ? CT_F64 : CT_F32 };
    for (int i = 0; i < LEAVES; i++) {
        uint8_t how = byte(&b);
        ct_shape shape = { .ndim = how % 4 };
        for (int d = 0; d < shape.ndim; d++) shape.dim[d] = (byte(&b) + 15) / 16 % 6; /* 0 for few bytes */
        ct_shape room = shape;
        int layout = how / 4 % 4, last = shape.ndim - 1;
        if (layout == 1 && shape.ndim > 1)
            room.dim[last] = shape.dim[last - 1], room.dim[last - 1] = shape.dim[last];
        if (layout == 2 && shape.ndim > 0) room.dim[last] = 2 * shape.dim[last] + 1;
        if (layout == 3 && shape.ndim > 0) room.dim[0] = 1;
        in->base[i] = ct_zeros(dev, in->dtype, room);
        in->view[i] = layout == 1 && shape.ndim > 1   ? ct_tensor_transpose(in->base[i])
                      : layout == 2 && shape.ndim > 0 ? ct_tensor_slice(in->base[i], -1, 1, room.dim[last], 2)
                                                      : ct_tensor_broadcast(in->base[i], shape);
        MUST(in->view[i] && ct_shape_equal(ct_tensor_shape(in->view[i]), shape));
        in->scale[i] = how / 16;
    }
    in->code = b;
    input_fill(in, 0);
}

static void input_close(input *in)
{
    for (int i = 0; i < LEAVES; i++) ct_release(in->view[i]), ct_release(in->base[i]);
}

/* -- operands that fit ----------------------------------------------------------------------------------- */

static int ndim(ct_var v) { return ct_var_shape(v).ndim; }
static int64_t dim(ct_var v, int d)
{
    ct_shape s = ct_var_shape(v);
    int at = d < 0 ? s.ndim + d : d;
    return at >= 0 && at < s.ndim ? s.dim[at] : 1;
}
static bool failed(ct_var v) { return ndim(v) < 0; }

static ct_var pick(machine *m) { return m->value[below(&m->code, m->n)]; }
static ct_var all(ct_var v) { return ct_sum(v, CT_ALL, false); }
static ct_var one(machine *m, double value) { return ct_scalar(m->tape, m->in->dtype, value); }
static ct_var full(machine *m, ct_var v)
{
    return ct_var_dtype(v) == m->in->dtype ? v : ct_cast(v, m->in->dtype);
}
/* A dimension of v, counted from either end; sometimes one out of range. */
static int some_dim(machine *m, ct_var v)
{
    int how = byte(&m->code), n = ndim(v);
    return how >= 253 ? how - 254 : n > 0 ? how % (2 * n) - n : CT_ALL;
}
/* v, at least as many dimensions. */
static ct_var lift(ct_var v, int dims)
{
    while (!failed(v) && ndim(v) < dims) v = ct_unsqueeze(v, 0);
    return v;
}
/* The leading square of a matrix. */
static ct_var square(ct_var v)
{
    v = lift(v, 2);
    int64_t n = dim(v, -1) < dim(v, -2) ? dim(v, -1) : dim(v, -2);
    return ct_slice(ct_slice(v, -1, 0, n, 1), -2, 0, n, 1);
}
static ct_var spd(machine *m, ct_var v)
{
    ct_var A = square(v);
    return ct_add_diag(ct_matmul(A, ct_t(A)), one(m, byte(&m->code) % 8 ? 1 : 0));
}
static ct_var dominant(machine *m, ct_var v)
{
    return ct_add_diag(square(v), one(m, byte(&m->code) % 8 ? 9 : 0));
}
/* b where it broadcasts with a, else a value made from a. */
static ct_var beside(machine *m, ct_var a, ct_var b)
{
    if (ct_var_dtype(b) != ct_var_dtype(a)) b = ct_cast(b, ct_var_dtype(a));
    if (ct_shape_broadcast(ct_var_shape(a), ct_var_shape(b)).ndim >= 0 || byte(&m->code) % 16 == 0) return b;
    return all(b);
}
/* b where its matrices have A's number of rows, else A. */
static ct_var right_side(machine *m, ct_var A, ct_var b)
{
    b = full(m, lift(b, 2));
    return ndim(b) == ndim(A) && dim(b, -2) == dim(A, -1) && dim(b, 0) == dim(A, 0) ? b : A;
}
static ct_var indices(machine *m, ct_shape shape, int64_t limit)
{
    int64_t values[LARGEST], count = ct_shape_count(shape);
    bool wrong = byte(&m->code) >= 250;
    for (int64_t i = 0; i < count; i++)
        values[i] = wrong ? (int64_t)byte(&m->code) - 2 : limit ? byte(&m->code) % limit : 0;
    ct_tensor *t = ct_from(m->in->dev, CT_I64, shape, values);
    ct_var v = ct_constant(m->tape, t);
    ct_release(t);
    return v;
}

/* -- instructions ---------------------------------------------------------------------------------------- */

static void push(machine *m, ct_var v)
{
    if (failed(v)) return;
    ct_shape shape = ct_var_shape(v);
    if (ct_shape_count(shape) > LARGEST || shape.ndim > 5) v = all(v);
    m->value[m->n < VALUES ? m->n++ : VALUES / 2 + below(&m->code, VALUES / 2)] = v;
}

static ct_var (*const maps[])(ct_var) = {
    ct_neg,    ct_abs, ct_sign,       ct_exp,    ct_expm1, ct_log,           ct_log1p,      ct_sqrt,
    ct_square, ct_sin, ct_reciprocal, ct_cos,    ct_tanh,  ct_sech2,         ct_sigmoid,    ct_softplus,
    ct_relu,   ct_erf, ct_gaussian,   ct_lgamma, ct_keep,  ct_stop_gradient, ct_diag_embed,
};

static ct_var map(machine *m, ct_var a)
{
    int k = below(&m->code, sizeof maps / sizeof *maps);
    return maps[k](maps[k] == ct_diag_embed ? lift(a, 1) : a);
}

static ct_var map_with_number(machine *m, ct_var a)
{
    static const double numbers[] = { 0, 1, -1, 0.5, 2, 3, -0.5, 1e3 };
    static const ct_dtype kinds[] = { CT_F64, CT_F32, CT_BF16, CT_F16, CT_F64 };
    int which = below(&m->code, 6);
    double p = numbers[below(&m->code, 8)], q = numbers[below(&m->code, 8)];
    m->rounded |= which == 2;
    switch (which) {
    case 0: return ct_pow(a, p);
    case 1: return ct_polygamma(ct_shift(ct_square(a), 0.5), below(&m->code, 4));
    case 2: return ct_cast(a, kinds[below(&m->code, 5)]);
    case 3: return ct_scale(a, p);
    case 4: return ct_shift(a, p);
    default: return ct_clamp(a, p < q ? p : q, p < q ? q : p);
    }
}

static ct_var pairwise(machine *m, ct_var a, ct_var b)
{
    static ct_var (*const ops[])(ct_var, ct_var) = { ct_add,     ct_sub,  ct_mul,   ct_maximum,
                                                     ct_minimum, ct_less, ct_equal, ct_div };
    int k = below(&m->code, 10);
    b = beside(m, a, b);
    if (k < 8) return ops[k](a, b);
    return ct_where(ct_less(a, b), a, k == 8 ? b : beside(m, a, pick(m)));
}

static ct_var reduction(machine *m, ct_var a)
{
    int which = below(&m->code, 8), d = byte(&m->code) % 3 ? some_dim(m, a) : CT_ALL;
    bool keep = byte(&m->code) & 1;
    switch (which) {
    case 0: return ct_mean(a, d, keep);
    case 1: return ct_max(a, d, keep);
    case 2: return ct_logsumexp(a, d, keep);
    case 3: return ct_softmax(a, d);
    case 4: return ct_log_softmax(a, d);
    case 5: return ct_sum_to(a, ndim(a) ? ct_shape1(dim(a, -1)) : ct_shape0());
    default: return ct_sum(a, d, keep);
    }
}

static ct_var reshaped(machine *m, ct_var a)
{
    ct_shape s = ct_var_shape(a);
    int order[CT_MAX_DIMS], d = s.ndim ? some_dim(m, a) : 0;
    switch (below(&m->code, 5)) {
    case 0: return ct_reshape(a, ct_shape1(-1));
    case 1: return ct_reshape(a, ct_shape2(-1, ct_shape_count(s) % 2 ? 1 : 2));
    case 2: return ct_t(lift(a, 2));
    case 3:
        for (int i = 0; i < s.ndim; i++) order[i] = i;
        for (int i = s.ndim - 1; i > 0; i--) {
            int j = below(&m->code, i + 1), kept = order[i];
            order[i] = order[j], order[j] = kept;
        }
        if (byte(&m->code) >= 250) order[0] = byte(&m->code) - 4;
        return ct_permute(a, order);
    default: return dim(a, d) == 1 && s.ndim && byte(&m->code) % 2 ? ct_squeeze(a, d) : ct_unsqueeze(a, d);
    }
}

static ct_var cut(machine *m, ct_var a)
{
    a = lift(a, 1);
    int d = some_dim(m, a);
    int64_t extent = dim(a, d), step = 1 + below(&m->code, 3),
            start = below(&m->code, (int)(extent % 250) + 1);
    int64_t stop = start + below(&m->code, (int)((extent - start) % 250) + 1);
    ct_shape wide = ct_var_shape(lift(a, 1));
    switch (below(&m->code, 4)) {
    case 0:
        return ct_unslice(a, d, start + (extent ? (extent - 1) * step + 1 : 0) + below(&m->code, 3), start,
                          step);
    case 1: return ct_concat((ct_var[]){ a, a, a }, 2 + below(&m->code, 2), d);
    case 2:
        for (int i = 0; i < wide.ndim; i++)
            if (wide.dim[i] == 1) wide.dim[i] = below(&m->code, 4);
        return ct_broadcast_to(a, wide);
    default: return ct_slice(a, d, start, stop, step);
    }
}

static ct_var indexed(machine *m, ct_var a)
{
    a = lift(a, 1);
    int which = below(&m->code, 4);
    if (which == 0) return ct_gather(a, indices(m, ct_shape1(dim(a, 0) ? below(&m->code, 6) : 0), dim(a, 0)));
    if (which == 1) {
        int64_t n = 1 + below(&m->code, 5);
        return ct_scatter_add(a, indices(m, ct_shape1(dim(a, 0)), n), n);
    }
    a = full(m, lift(a, 3));
    while (!failed(a) && ndim(a) > 3) a = ct_sum(a, 0, false);
    ct_var C = ct_t(a), q = indices(m, ct_shape1(dim(a, 0)), dim(a, 0));
    return which == 2 ? ct_gather_matmul(a, C, q) : ct_grouped_matmul(a, C, ct_group_by(q, dim(a, 0)));
}

static ct_var product(machine *m, ct_var a, ct_var b)
{
    int64_t blocks = 1 + below(&m->code, 2), out = 1 + below(&m->code, 3);
    a = lift(a, 2);
    switch (below(&m->code, 7)) {
    case 0: return ct_sqdist(full(m, a), full(m, a));
    case 1: return ct_diag(a);
    case 2: return ct_trace(square(a));
    case 3: return ct_tril(a, below(&m->code, 5) - 2);
    case 4: return ct_triu(a, below(&m->code, 5) - 2);
    case 5:
        if (dim(a, -1) == 0) return all(a);
        if (dim(a, -1) % blocks) blocks = 1;
        a = ct_reshape(a, ct_shape2(-1, dim(a, -1)));
        return ct_blockdiag_linear(
            a, ct_broadcast_to(all(beside(m, a, b)), ct_shape3(blocks, out, dim(a, -1) / blocks)),
            byte(&m->code) % 2 ? (ct_var){ 0 } : ct_broadcast_to(all(a), ct_shape1(blocks * out)));
    default:
        b = lift(beside(m, a, b), 2);
        return ct_matmul(a, ndim(b) == ndim(a) && dim(b, -2) == dim(a, -1) ? b : ct_t(a));
    }
}

static ct_var matrix(machine *m, ct_var a, ct_var b)
{
    int which = below(&m->code, 12);
    unsigned flags = byte(&m->code) & 15;
    a = full(m, a), b = full(m, b);
    if (which < 5) {
        ct_var A = spd(m, a), L = ct_cholesky(A), logdet, B = right_side(m, A, b);
        switch (which) {
        case 0: return ct_cholesky_solve(L, B);
        case 1: return ct_cholesky_logdet(L);
        case 2: return flags & 1 ? ct_inverse_spd(A) : ct_inverse_diag_spd(A);
        case 3: push(m, ct_inv_quad_logdet(A, ct_slice(A, -1, 0, dim(A, -1) > 0, 1), &logdet)); return logdet;
        default: B = ct_slice(B, -1, 0, 1, 1); return ct_mvn_logpdf(B, ct_scale(B, 0.5), L);
        }
    }
    ct_var A = dominant(m, a), B = right_side(m, A, b), sign, order, LU;
    switch (which) {
    case 5: return ct_tri_solve(A, B, flags);
    case 6: return flags & 1 ? ct_inverse(A) : ct_inverse_diag(A);
    case 7:
        if (flags & 2)
            return ct_inverse_block(A, indices(m, ct_shape1(below(&m->code, 4)), dim(A, -1)),
                                    indices(m, ct_shape1(below(&m->code, 4)), dim(A, -1)));
        return (flags & 1 ? ct_inverse_cols
                          : ct_inverse_rows)(A, indices(m, ct_shape1(below(&m->code, 4)), dim(A, -1)));
    case 8: return ct_solve(A, B);
    case 9: LU = ct_lu(A, &order); return ct_lu_solve(A, LU, order, B, flags & CT_TRANS);
    case 10: push(m, ct_logdet(A)); return ct_slogdet(A, &sign);
    default:
        A = lift(a, 2);
        if (flags & 1) return ct_ridge_solve(A, flags & 2 ? A : square(ct_matmul(ct_t(A), A)), one(m, 0.5));
        if (dim(A, -2) < dim(A, -1)) A = ct_t(A);
        return ct_lstsq(A, A);
    }
}

static ct_var loss(machine *m, ct_var a, ct_var b)
{
    int which = below(&m->code, 4);
    a = full(m, a), b = full(m, b);
    if (!ct_shape_equal(ct_var_shape(a), ct_var_shape(b)) && byte(&m->code) < 250) b = ct_sin(a);
    if (which == 0) return ct_mse(a, b);
    if (which == 1) return ct_huber(a, b, 0.5 + below(&m->code, 3));
    if (which == 2) return ct_gaussian_nll(a, ct_shift(ct_square(b), 0.5), b);
    ct_shape rows = ct_var_shape(lift(a, 1));
    rows.ndim--;
    return ct_softmax_cross_entropy(lift(a, 1), indices(m, rows, dim(a, -1)));
}

static ct_var process(machine *m, ct_var a)
{
    static const char *const texts[] = { "scale * rbf(ard) + linear", "periodic * matern32 + white(0.1)",
                                         "rq + cosine + poly(degree=2)", "matern12 * constant + matern52" };
    a = full(m, lift(a, 2));
    if (ct_shape_count(ct_var_shape(a)) == 0) a = ct_broadcast_to(all(a), ct_shape2(3, 1));
    a = ct_reshape(a, ct_shape2(-1, dim(a, -1)));
    ct_kernel *k = ct_kernel_parse(texts[below(&m->code, 4)]);
    ct_kernel_bind(k, dim(a, -1));
    ct_var theta = ct_kernel_theta(k, m->tape, m->in->dtype), noise = one(m, 0.3), v;
    ct_var r = ct_sum(a, -1, false);
    switch (below(&m->code, 5)) {
    case 0: v = ct_cov(k, theta, a, a); break;
    case 1: v = ct_cov(k, theta, a, ct_scale(a, 0.5)); break;
    case 2: v = ct_cov_diag(k, theta, a); break;
    case 3: v = ct_gp_nlml(k, theta, a, r, noise); break;
    default: v = ct_gp_loo_nlpd(k, theta, a, r, noise);
    }
    ct_kernel_free(k);
    return v;
}

static ct_var instruction(machine *m)
{
    int which = below(&m->code, 16);
    ct_var a = pick(m), b = pick(m);
    if (which != 0 && which < 12 && byte(&m->code) % 8) a = full(m, a);
    switch (which) {
    case 0: return map_with_number(m, a);
    case 1:
    case 2: return map(m, a);
    case 3:
    case 4: return pairwise(m, a, b);
    case 5: return reduction(m, a);
    case 6: return reshaped(m, a);
    case 7: return cut(m, a);
    case 8: return indexed(m, a);
    case 9:
    case 10: return product(m, a, b);
    case 11:
    case 12: return matrix(m, a, b);
    case 13: return loss(m, a, b);
    case 14: return process(m, a);
    default: {
        ct_no_grad_begin(m->tape);
        ct_var v = pairwise(m, full(m, a), b);
        ct_no_grad_end(m->tape);
        return v;
    }
    }
}

/* The sum of all values at the end; poisoned after a refusal. */
static ct_var machine_run(machine *m, const input *in, ct_tape *tape)
{
    *m = (machine){ .in = in, .tape = tape, .code = in->code, .n = LEAVES };
    for (int i = 0; i < LEAVES; i++) m->value[i] = m->leaf[i] = ct_leaf(tape, in->view[i]);
    for (int steps = 0; more(&m->code) && steps < VALUES; steps++) {
        ct_var v = instruction(m);
        if (failed(v)) return v;
        push(m, v);
    }
    ct_var y = one(m, 0);
    for (int i = 0; i < m->n; i++) y = ct_add(y, all(full(m, m->value[i])));
    return y;
}

#endif
