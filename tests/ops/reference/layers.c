#include "reference.h"

static void blockdiag_linear_(ref_call *c)
{
    const ref_array *x = &c->in[0], *W = &c->in[1];
    int64_t rows = ref_dim(x, 0), M = ref_dim(W, 0), G = ref_dim(W, 1), F = ref_dim(W, 2);
    long double *y = ref_out(c, ct_shape2(rows, M * G));
    for (int64_t o = 0; o < c->out.n; o++) {
        int64_t b = o / (M * G), m = o / G % M, at = o % (M * G);
        y[o] = c->n_in == 3 ? c->in[2].x[at] : 0;
        for (int64_t f = 0; f < F; f++) y[o] += x->x[(b * M + m) * F + f] * W->x[at * F + f];
    }
}

static void gather_matmul_(ref_call *c)
{
    const ref_array *A = &c->in[0], *C = &c->in[1], *q = &c->in[2];
    int64_t I = ref_dim(A, 1), J = ref_dim(A, 2), K = ref_dim(C, 2);
    long double *y = ref_out(c, ct_shape3(ref_dim(A, 0), I, K));
    for (int64_t o = 0; o < c->out.n; o++) {
        int64_t row = o / K, k = o % K, m = (int64_t)q->x[row / I];
        y[o] = 0;
        for (int64_t j = 0; j < J; j++) y[o] += A->x[row * J + j] * C->x[(m * J + j) * K + k];
    }
}

static void group_by_(ref_call *c)
{
    const ref_array *q = &c->in[0];
    int64_t M = *(const int64_t *)c->attr, n = 0;
    long double *y = ref_out(c, ct_shape1(M + 1 + q->n));
    for (int64_t m = 0; m < M; m++) {
        y[m] = n;
        for (int64_t i = 0; i < q->n; i++)
            if ((int64_t)q->x[i] == m) y[M + 1 + n++] = i;
    }
    y[M] = n;
}

const reference reference_layers[] = {
    { .name = "blockdiag_linear", .compute = blockdiag_linear_ },
    { .name = "gather_matmul", .compute = gather_matmul_ },
    { .name = "group_by", .compute = group_by_ },
    { 0 },
};
