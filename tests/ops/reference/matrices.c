#include "reference.h"

#include <math.h>
#include <stdlib.h>

static ct_shape batch2(const ref_array *a, const ref_array *b)
{
    return ct_shape_broadcast(ref_batch(a, 2), ref_batch(b, 2));
}

static ct_shape matrix(ct_shape batch, int64_t rows, int64_t cols)
{
    return ref_append(batch, 2, (int64_t[]){ rows, cols });
}

static void matmul_(ref_call *c)
{
    const ref_array *A = &c->in[0], *B = &c->in[1];
    int64_t m = ref_dim(A, -2), k = ref_dim(A, -1), n = ref_dim(B, -1);
    ct_shape batch = batch2(A, B);
    long double *C = ref_out(c, matrix(batch, m, n));
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        const long double *x = ref_member(A, 2, batch, b), *y = ref_member(B, 2, batch, b);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                long double sum = 0;
                for (int64_t l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
                C[(b * m + i) * n + j] = sum;
            }
    }
}

static void diag_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    int64_t m = ref_dim(A, -2), n = ref_dim(A, -1), d = m < n ? m : n;
    long double *y = ref_out(c, ref_append(ref_batch(A, 2), 1, &d));
    for (int64_t o = 0; o < c->out.n; o++) y[o] = A->x[o / d * m * n + o % d * (n + 1)];
}

static void diag_embed_(ref_call *c)
{
    const ref_array *d = &c->in[0];
    int64_t n = ref_dim(d, -1);
    long double *y = ref_out(c, matrix(ref_batch(d, 1), n, n));
    for (int64_t o = 0; o < c->out.n; o++) y[o] = o / n % n == o % n ? d->x[o / n] : 0;
}

static void tril_from_(ref_call *c)
{
    const ref_array *v = &c->in[0];
    const bool exp_diagonal = *(const bool *)c->attr;
    int64_t n = 0, m = ref_dim(v, -1);
    while (n * (n + 1) / 2 < m) n++;
    long double *y = ref_out(c, matrix(ref_batch(v, 1), n, n));
    for (int64_t o = 0; o < c->out.n; o++) {
        const int64_t i = o / n % n, j = o % n;
        y[o] = j <= i ? v->x[o / (n * n) * m + i * (i + 1) / 2 + j] : 0;
        if (i == j && exp_diagonal) y[o] = expl(y[o]);
    }
}

static void tril_pack_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    const int64_t n = ref_dim(A, -1), m = n * (n + 1) / 2;
    long double *y = ref_out(c, ref_append(ref_batch(A, 2), 1, &m));
    for (int64_t b = 0; m && b < c->out.n / m; b++)
        for (int64_t i = 0, at = b * m; i < n; i++)
            for (int64_t j = 0; j <= i; j++) y[at++] = A->x[(b * n + i) * n + j];
}

static void add_diag_(ref_call *c)
{
    const ref_array *A = &c->in[0], *d = &c->in[1];
    int64_t n = ref_dim(A, -1);
    bool scalar = d->n == 1; /* whatever its dimensions */
    ct_shape batch = scalar ? ref_batch(A, 2) : ct_shape_broadcast(ref_batch(A, 2), ref_batch(d, 1));
    long double *y = ref_out(c, matrix(batch, n, n));
    for (int64_t o = 0; o < c->out.n; o++) {
        int64_t b = o / (n * n), row = o / n % n, col = o % n;
        y[o] = ref_member(A, 2, batch, b)[row * n + col];
        if (row == col) y[o] += scalar ? d->x[0] : ref_member(d, 1, batch, b)[ref_dim(d, -1) == 1 ? 0 : row];
    }
}

static void part_(ref_call *c, bool upper)
{
    const ref_array *A = &c->in[0];
    int64_t k = *(const int64_t *)c->attr, m = ref_dim(A, -2), n = ref_dim(A, -1);
    long double *y = ref_out(c, A->shape);
    for (int64_t o = 0; o < c->out.n; o++) {
        int64_t off = o % n - o / n % m;
        y[o] = (upper ? off >= k : off <= k) ? A->x[o] : 0;
    }
}

static void tril_(ref_call *c) { part_(c, false); }
static void triu_(ref_call *c) { part_(c, true); }

static void trace_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *y = ref_out(c, ref_batch(A, 2));
    for (int64_t b = 0; b < c->out.n; b++) {
        y[b] = 0;
        for (int64_t i = 0; i < n; i++) y[b] += A->x[(b * n + i) * n + i];
    }
}

/* A = L Lᵀ, row by row */
static void cholesky_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *out = ref_out(c, A->shape);
    for (int64_t b = 0; b * n * n < c->out.n; b++) {
        const long double *a = A->x + b * n * n;
        long double *L = out + b * n * n;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                long double sum = a[i * n + j];
                for (int64_t k = 0; k < j && j <= i; k++) sum -= L[i * n + k] * L[j * n + k];
                L[i * n + j] = j > i ? 0 : j == i ? sqrtl(sum) : sum / L[j * n + j];
            }
    }
}

/* X with T X = B in place, T given by its elements T(i, j), n×n, B n×m */
static void substitute(const long double *T, int64_t n, bool upper, bool trans, bool unit, long double *B,
                       int64_t m)
{
    bool backward = upper != trans;
    for (int64_t s = 0; s < n; s++) {
        int64_t i = backward ? n - 1 - s : s;
        for (int64_t col = 0; col < m; col++) {
            long double sum = B[i * m + col];
            for (int64_t j = backward ? i + 1 : 0; j < (backward ? n : i); j++)
                sum -= (trans ? T[j * n + i] : T[i * n + j]) * B[j * m + col];
            B[i * m + col] = unit ? sum : sum / T[i * n + i];
        }
    }
}

static void tri_solve_(ref_call *c)
{
    const ref_array *T = &c->in[0], *B = &c->in[1];
    unsigned flags = *(const unsigned *)c->attr;
    bool upper = flags & CT_UPPER, trans = flags & CT_TRANS, unit = flags & CT_UNIT, right = flags & CT_RIGHT;
    int64_t n = ref_dim(T, -1), rows = ref_dim(B, -2), cols = ref_dim(B, -1), m = right ? rows : cols;
    ct_shape batch = batch2(T, B);
    long double *X = ref_out(c, matrix(batch, rows, cols));
    long double *work = malloc((size_t)(n * m + 1) * sizeof *work);
    if (!work) abort();
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        const long double *t = ref_member(T, 2, batch, b), *rhs = ref_member(B, 2, batch, b);
        long double *x = X + b * rows * cols; /* X op(T) = B is op(T)ᵀ Xᵀ = Bᵀ */
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) work[i * m + j] = right ? rhs[j * cols + i] : rhs[i * cols + j];
        substitute(t, n, upper, trans != right, unit, work, m);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) x[right ? j * cols + i : i * cols + j] = work[i * m + j];
    }
    free(work);
}

static void cholesky_solve_(ref_call *c)
{
    const ref_array *L = &c->in[0], *B = &c->in[1];
    int64_t n = ref_dim(L, -1), m = ref_dim(B, -1);
    ct_shape batch = batch2(L, B);
    long double *X = ref_out(c, matrix(batch, n, m));
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        const long double *l = ref_member(L, 2, batch, b), *rhs = ref_member(B, 2, batch, b);
        for (int64_t i = 0; i < n * m; i++) X[b * n * m + i] = rhs[i];
        substitute(l, n, false, false, false, X + b * n * m, m);
        substitute(l, n, false, true, false, X + b * n * m, m);
    }
}

static void cholesky_logdet_(ref_call *c)
{
    const ref_array *L = &c->in[0];
    int64_t n = ref_dim(L, -1);
    long double *y = ref_out(c, ref_batch(L, 2));
    for (int64_t b = 0; b < c->out.n; b++) {
        y[b] = 0;
        for (int64_t i = 0; i < n; i++) y[b] += 2 * logl(L->x[(b * n + i) * n + i]);
    }
}

static void sqdist_(ref_call *c)
{
    const ref_array *x = &c->in[0], *y = &c->in[1];
    int64_t n = ref_dim(x, -2), m = ref_dim(y, -2), d = ref_dim(x, -1);
    ct_shape batch = batch2(x, y);
    long double *D = ref_out(c, matrix(batch, n, m));
    for (int64_t o = 0; o < c->out.n; o++) {
        const long double *p = ref_member(x, 2, batch, o / (n * m)) + o / m % n * d;
        const long double *q = ref_member(y, 2, batch, o / (n * m)) + o % m * d;
        D[o] = 0;
        for (int64_t k = 0; k < d; k++) D[o] += (p[k] - q[k]) * (p[k] - q[k]);
    }
}

static ref_part lower_first(const void *attr, int input)
{
    (void)attr;
    return input == 0 ? REF_LOWER : REF_ALL;
}

static ref_part tri_solve_reads(const void *attr, int input)
{
    unsigned flags = *(const unsigned *)attr;
    if (input != 0) return REF_ALL;
    if (flags & CT_UNIT) return flags & CT_UPPER ? REF_STRICT_UPPER : REF_STRICT_LOWER;
    return flags & CT_UPPER ? REF_UPPER : REF_LOWER;
}

/* tril and triu of one element with k off the diagonal read nothing; so does a unit triangle of one
 * element. */
const reference reference_matrices[] = {
    { .name = "matmul", .compute = matmul_ },
    { .name = "diag", .compute = diag_ },
    { .name = "diag_embed", .compute = diag_embed_ },
    { .name = "add_diag", .compute = add_diag_ },
    { .name = "tril", .compute = tril_, .swallows_nan = 1 },
    { .name = "triu", .compute = triu_, .swallows_nan = 1 },
    { .name = "trace", .compute = trace_ },
    { .name = "tril_from", .compute = tril_from_ },
    { .name = "tril_pack", .compute = tril_pack_ },
    { .name = "cholesky", .compute = cholesky_, .reads = lower_first },
    { .name = "tri_solve", .compute = tri_solve_, .reads = tri_solve_reads, .swallows_nan = 1 },
    { .name = "cholesky_solve", .compute = cholesky_solve_, .reads = lower_first },
    { .name = "cholesky_logdet", .compute = cholesky_logdet_, .reads = lower_first },
    { .name = "sqdist", .compute = sqdist_ },
    { 0 },
};
