/* Inverses, LU and what follows from it: residual ratios in the manner of LAPACK's own tests, over sizes
 * around the tiles, layouts, dtypes and conditions; failing members. */
#include "cpu_support.h"

#include <float.h>

static const ct_backend *const cpu = &ct__cpu_backend;

static const int64_t sizes[] = { 0, 1, 2, 3, 8, 9, 16, 17, 31, 32, 33, 64, 65, 100, 131 };

static double epsilon(ct_dtype dtype) { return dtype == CT_F64 ? DBL_EPSILON : (double)FLT_EPSILON; }

static void set(ct_tensor *t, int64_t b, int64_t i, int64_t j, double value)
{
    int64_t at = i * t->view.stride[t->view.ndim - 2] + j * t->view.stride[t->view.ndim - 1] +
                 (t->view.ndim > 2 ? b * t->view.stride[0] : 0);
    if (t->view.dtype == CT_F64)
        ((double *)t->view.data)[at] = value;
    else
        ((float *)t->view.data)[at] = (float)value;
}

static double get(const ct_tensor *t, int64_t b, int64_t i, int64_t j)
{
    int64_t at = i * t->view.stride[t->view.ndim - 2] + j * t->view.stride[t->view.ndim - 1] +
                 (t->view.ndim > 2 ? b * t->view.stride[0] : 0);
    return t->view.dtype == CT_F64 ? ((double *)t->view.data)[at] : (double)((float *)t->view.data)[at];
}

/* The largest row sum of member b. */
static double norm(const ct_tensor *t, int64_t b)
{
    int64_t n = t->view.dim[t->view.ndim - 1];
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += fabs(get(t, b, i, j));
        largest = fmax(largest, sum);
    }
    return largest;
}

static double next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53 - 0.5;
}

/* H D H, with a Householder reflection H and a diagonal D falling from 1 to 1/condition, is symmetric. With
 * another reflection on the right and permuted rows it is general. */
static void fill(ct_tensor *t, int64_t b, double condition, bool symmetric, uint64_t seed)
{
    int64_t n = t->view.dim[t->view.ndim - 1];
    double *v = calloc((size_t)n + 1, sizeof *v), *w = calloc((size_t)n + 1, sizeof *w), vv = 0, ww = 0;
    for (int64_t i = 0; i < n; i++) {
        v[i] = next(&seed), w[i] = symmetric ? v[i] : next(&seed);
        vv += v[i] * v[i], ww += w[i] * w[i];
    }
    double vdw = 0;
    for (int64_t i = 0; i < n; i++)
        vdw += v[i] * w[i] * pow(condition, n > 1 ? -(double)i / (double)(n - 1) : 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double di = pow(condition, n > 1 ? -(double)i / (double)(n - 1) : 0),
                   dj = pow(condition, n > 1 ? -(double)j / (double)(n - 1) : 0);
            double x = (i == j ? di : 0) - 2 / ww * di * w[i] * w[j] - 2 / vv * v[i] * v[j] * dj +
                       4 / (vv * ww) * vdw * v[i] * w[j];
            set(t, b, symmetric ? i : (i + 1) % n, j, x);
        }
    free(v);
    free(w);
}

/* |A P - I| / (n |A| |P| ε), row sums */
static double residual(const ct_tensor *A, const ct_tensor *P, int64_t b)
{
    int64_t n = A->view.dim[A->view.ndim - 1];
    double worst = 0;
    long double *sum = malloc((size_t)n * sizeof *sum);
    double *p = numbers(P);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) sum[j] = i == j ? -1 : 0;
        for (int64_t k = 0; k < n; k++) {
            const long double a = get(A, b, i, k);
            const double *row = p + (b * n + k) * n;
            for (int64_t j = 0; j < n; j++) sum[j] += a * row[j];
        }
        double row = 0;
        for (int64_t j = 0; j < n; j++) row += fabs((double)sum[j]);
        if (!(row <= worst)) worst = row;
    }
    free(sum);
    free(p);
    return worst / ((double)n * norm(A, b) * norm(P, b) * epsilon(A->view.dtype));
}

/* NaN above the diagonal in a copy. */
static ct_tensor *poisoned(ct_device *dev, const ct_tensor *A, int layout)
{
    ct_tensor *copy = blank(dev, A->view.dtype, ct_tensor_shape(A), layout);
    ct_copy(A, copy);
    for (int64_t b = 0; b < (A->view.ndim > 2 ? A->view.dim[0] : 1); b++)
        for (int64_t i = 0; i < A->view.dim[A->view.ndim - 1]; i++)
            for (int64_t j = i + 1; j < A->view.dim[A->view.ndim - 1]; j++) set(copy, b, i, j, NAN);
    return copy;
}

static void inverses_have_small_residuals(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int kind = 0; kind < 8; kind++) {
                ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
                bool symmetric = kind & 2;
                int64_t n = sizes[s];
                double condition = kind & 4 ? (dtype == CT_F64 ? 1e12 : 1e4) : 10;
                ct_device *dev = open_cpu(threads);
                ct_tensor *A = ct_zeros(dev, dtype, ct_shape3(2, n, n));
                for (int64_t b = 0; b < 2; b++) fill(A, b, condition, symmetric, 17 + (uint64_t)b);
                int in_layout = (int)s % OUT_LAYOUTS, out_layout = (int)(s + (size_t)kind) % OUT_LAYOUTS;
                ct_tensor *P = blank(dev, dtype, ct_tensor_shape(A), out_layout), *in;
                ct_failure failure = { .set = false };
                if (symmetric) {
                    in = poisoned(dev, A, in_layout);
                    assert_ok(cpu->potri(dev, &in->view, &P->view, &failure), ct_message(dev));
                } else {
                    in = blank(dev, dtype, ct_tensor_shape(A), in_layout);
                    ct_copy(A, in);
                    assert_ok(cpu->getri(dev, &in->view, &P->view, &failure), ct_message(dev));
                }
                assert_false(failure.set);
                for (int64_t b = 0; b < 2 && n; b++) {
                    double ratio = residual(A, P, b);
                    if (!(ratio <= 1))
                        fail_msg("%s inverse of %dx%d %s, condition %g: residual ratio %g",
                                 symmetric ? "symmetric" : "general", (int)n, (int)n, ct_dtype_name(dtype),
                                 condition, ratio);
                    for (int64_t i = 0; i < n && symmetric; i++)
                        for (int64_t j = 0; j < i; j++) assert_true(get(P, b, i, j) == get(P, b, j, i));
                }
                if (out_layout == SLICED) assert_contained(P);
                ct_release(A);
                ct_release(in);
                ct_release(P);
                ct_device_close(dev);
            }
}

static void lu_has_small_residuals(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++) {
            ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
            int64_t n = sizes[s];
            ct_tensor *A = ct_zeros(dev, dtype, ct_shape3(2, n, n)),
                      *order = ct_zeros(dev, CT_I64, ct_shape2(2, n));
            for (int64_t b = 0; b < 2; b++) fill(A, b, kind & 2 ? 1e6 : 10, false, 5 + (uint64_t)b);
            ct_tensor *LU = blank(dev, dtype, ct_tensor_shape(A), (int)(s + (size_t)kind) % OUT_LAYOUTS);
            ct_failure failure = { .set = false };
            assert_ok(cpu->getrf(dev, &A->view, &LU->view, &order->view, &failure), ct_message(dev));
            assert_false(failure.set);
            double worst = 0, *lu = numbers(LU);
            for (int64_t b = 0; b < 2; b++) {
                const double size = norm(A, b) * epsilon(dtype), *l = lu + b * n * n;
                for (int64_t i = 0; i < n; i++) {
                    int64_t row = ((int64_t *)order->view.data)[b * n + i];
                    assert_in_range(row, 0, n - 1);
                    for (int64_t j = 0; j < n; j++) {
                        long double sum = -get(A, b, row, j);
                        for (int64_t k = 0; k <= i && k <= j; k++)
                            sum += (k == i ? 1 : (long double)l[i * n + k]) * l[k * n + j];
                        worst = fmax(worst, fabs((double)sum) / size);
                    }
                }
            }
            free(lu);
            assert_true(worst <= (double)(n + 1));
            ct_release(A);
            ct_release(LU);
            ct_release(order);
        }
    ct_device_close(dev);
}

/* Member 1 of 4 is singular; the others are as without it. */
static void a_failing_member_is_nan_and_named(void **state)
{
    (void)state;
    static const int64_t extents[] = { 1, 5, 20, 40, 70 };
    for (size_t s = 0; s < sizeof extents / sizeof *extents; s++)
        for (int kind = 0; kind < 12; kind++) {
            ct_device *dev = open_cpu(2);
            ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
            bool symmetric = kind & 2;
            int64_t n = extents[s], at = n / 2;
            ct_tensor *A = ct_zeros(dev, dtype, ct_shape3(4, n, n)),
                      *P = ct_zeros(dev, dtype, ct_shape3(4, n, n)),
                      *Q = ct_zeros(dev, dtype, ct_shape3(4, n, n));
            for (int64_t b = 0; b < 4; b++) fill(A, b, 10, symmetric, 3 + (uint64_t)b);
            ct_failure failure = { .set = false };
            assert_ok((symmetric ? cpu->potri : cpu->getri)(dev, &A->view, &P->view, &failure),
                      ct_message(dev));
            assert_false(failure.set);
            if (kind / 4 == 0) /* a row and a column of zeros; NaN; infinity */
                for (int64_t i = 0; i < n; i++) set(A, 1, at, i, 0), set(A, 1, i, at, 0);
            else
                set(A, 1, n - 1, 0, kind / 4 == 1 ? NAN : INFINITY);
            assert_ok((symmetric ? cpu->potri : cpu->getri)(dev, &A->view, &Q->view, &failure),
                      ct_message(dev));
            assert_true(failure.set);
            assert_int_equal(failure.member, 1);
            assert_in_range(failure.detail, 1, n);
            assert_non_null(strstr(failure.what, symmetric ? "minor" : "pivot"));
            assert_true(symmetric == !failure.why);
            for (int64_t b = 0; b < 4; b++)
                for (int64_t i = 0; i < n * n; i++)
                    assert_true(b == 1 ? isnan(get(Q, b, i / n, i % n))
                                       : get(P, b, i / n, i % n) == get(Q, b, i / n, i % n));
            ct_release(A);
            ct_release(P);
            ct_release(Q);
            ct_device_close(dev);
        }
}

static void the_adjoint_of_the_inverse(void **state)
{
    (void)state;
    static const int64_t extents[] = { 0, 1, 8, 37 };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < sizeof extents / sizeof *extents; s++)
        for (int lp = 0; lp < LAYOUTS; lp++)
            for (int lo = 0; lo < OUT_LAYOUTS; lo++)
                for (int kind = 0; kind < 4; kind++) {
                    ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
                    bool symmetric = kind & 2;
                    int64_t n = extents[s];
                    if (lp == BROADCAST && symmetric) continue;
                    ct_tensor *P = sample(dev, dtype, ct_shape3(2, n, n), lp, 1);
                    ct_tensor *G = sample(dev, dtype, ct_shape3(2, n, n), (lp + lo) % LAYOUTS, 2);
                    ct_tensor *O = blank(dev, dtype, ct_shape3(2, n, n), lo);
                    for (int64_t b = 0; b < 2 && symmetric; b++)
                        for (int64_t i = 0; i < n; i++)
                            for (int64_t j = 0; j < i; j++) set(P, b, j, i, get(P, b, i, j));
                    assert_ok(cpu->inverse_bar(dev, symmetric, &P->view, &G->view, &O->view),
                              ct_message(dev));
                    for (int64_t b = 0; b < 2; b++)
                        for (int64_t i = 0; i < n; i += 1 + n / 4)
                            for (int64_t j = 0; j < n; j += 1 + n / 5) {
                                double sum = 0;
                                for (int64_t k = 0; k < n; k++)
                                    for (int64_t l = 0; l < n; l++)
                                        sum -= entry(P, b, k, i) * entry(P, b, j, l) *
                                               (symmetric ? (entry(G, b, k, l) + entry(G, b, l, k)) / 2
                                                          : entry(G, b, k, l));
                                assert_close(entry(O, b, i, j), sum, 0,
                                             2 * tolerance(dtype) * (double)(n * n));
                                if (symmetric) assert_true(entry(O, b, i, j) == entry(O, b, j, i));
                            }
                    if (lo == SLICED) assert_contained(O);
                    ct_release(P);
                    ct_release(G);
                    ct_release(O);
                }
    ct_device_close(dev);
}

/* The adjoint from L⁻¹ against that from A⁻¹, relative to |P|²|G|, for any condition. A member that fails has
 * a root and a cotangent of NaN. */
static void the_adjoint_from_the_root(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 8; kind++) {
            const ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
            const double condition = kind & 2 ? (dtype == CT_F64 ? 1e8 : 1e3) : 10;
            const int64_t n = sizes[s];
            const int layout = (int)(s + (size_t)kind) % OUT_LAYOUTS;
            ct_device *dev = open_cpu(1 + kind / 4);
            ct_shape shape = ct_shape3(3, n, n);
            ct_tensor *A = ct_zeros(dev, dtype, shape), *P = blank(dev, dtype, shape, layout),
                      *Q = ct_zeros(dev, dtype, shape),
                      *M = ct_zeros(dev, dtype, ct_shape3(3, 1, n * (n + 1) / 2)),
                      *G = sample(dev, dtype, shape, (int)s % LAYOUTS, 2),
                      *O = blank(dev, dtype, shape, layout), *W = ct_zeros(dev, dtype, shape);
            for (int64_t b = 0; b < 3; b++) fill(A, b, condition, true, 23 + (uint64_t)b);
            if (n) set(A, 1, n - 1, n - 1, -1);
            ct_tensor *in = poisoned(dev, A, layout);
            ct_failure failure = { .set = false };
            assert_ok(cpu->potri_root(dev, &in->view, &M->view, &P->view, &failure), ct_message(dev));
            assert_int_equal(failure.set, n > 0);
            if (n) assert_true(failure.member == 1 && failure.detail == n);
            assert_ok(cpu->potri(dev, &in->view, &Q->view, &failure), ct_message(dev));
            assert_ok(cpu->inverse_root_bar(dev, &M->view, &G->view, &O->view), ct_message(dev));
            assert_ok(cpu->inverse_bar(dev, true, &Q->view, &G->view, &W->view), ct_message(dev));
            for (int64_t b = 0; b < 3; b++) {
                const double scale = n && b != 1 ? norm(Q, b) * norm(Q, b) * (double)n : 1;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) {
                        assert_true(b == 1 ? isnan(get(P, b, i, j)) : get(P, b, i, j) == get(Q, b, i, j));
                        if (b == 1)
                            assert_true(isnan(get(O, b, i, j)));
                        else
                            assert_close(get(O, b, i, j) / scale, get(W, b, i, j) / scale, 0,
                                         4 * epsilon(dtype));
                        assert_true(b == 1 || get(O, b, i, j) == get(O, b, j, i));
                    }
            }
            if (layout == SLICED) assert_contained(O);
            ct_tensor *all[] = { A, P, Q, M, G, O, W, in };
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) ct_release(all[k]);
            ct_device_close(dev);
        }
}

/* A column for the result is the diagonal of the inverse, and a column for a cotangent stands for a diagonal
 * matrix. One matrix of 300 and two threads: all threads work on it. */
static void columns_are_diagonals(void **state)
{
    (void)state;
    static const int64_t extents[] = { 0, 1, 2, 9, 33, 65, 131, 300 };
    for (size_t s = 0; s < sizeof extents / sizeof *extents; s++)
        for (int kind = 0; kind < 8; kind++) {
            const ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
            const bool symmetric = kind & 2;
            const int64_t n = extents[s], members = kind & 4 ? 1 : 3;
            const int layout = (int)(s + (size_t)kind) % OUT_LAYOUTS;
            ct_device *dev = open_cpu(2);
            const ct_shape shape = ct_shape3(members, n, n), column = ct_shape3(members, n, 1);
            ct_tensor *A = ct_zeros(dev, dtype, shape), *P = blank(dev, dtype, shape, layout),
                      *d = blank(dev, dtype, column, layout), *e = ct_zeros(dev, dtype, column),
                      *g = sample(dev, dtype, column, (int)s % LAYOUTS, 5), *G = ct_zeros(dev, dtype, shape),
                      *O = blank(dev, dtype, shape, layout), *Q = ct_zeros(dev, dtype, shape),
                      *W = ct_zeros(dev, dtype, shape),
                      *root = ct_zeros(dev, dtype, ct_shape3(members, 1, n * (n + 1) / 2));
            for (int64_t b = 0; b < members; b++) fill(A, b, 10, symmetric, 31 + (uint64_t)b);
            ct_tensor *in = symmetric ? poisoned(dev, A, layout) : ct_retain(A);
            ct_failure failure = { .set = false };
            ct_status (*invert)(ct_device *, const ct_view *, ct_view *, ct_failure *) =
                symmetric ? cpu->potri : cpu->getri;
            assert_ok(invert(dev, &in->view, &P->view, &failure), ct_message(dev));
            assert_ok(invert(dev, &in->view, &d->view, &failure), ct_message(dev));
            for (int64_t b = 0; b < members; b++)
                for (int64_t i = 0; i < n; i++) set(G, b, i, i, entry(g, b, i, 0));
            assert_ok(cpu->inverse_bar(dev, symmetric, &P->view, &G->view, &W->view), ct_message(dev));
            assert_ok(cpu->inverse_bar(dev, symmetric, &P->view, &g->view, &O->view), ct_message(dev));
            if (symmetric) {
                assert_ok(cpu->potri_root(dev, &in->view, &root->view, &e->view, &failure), ct_message(dev));
                assert_ok(cpu->inverse_root_bar(dev, &root->view, &g->view, &Q->view), ct_message(dev));
            }
            assert_false(failure.set);
            for (int64_t b = 0; b < members && n; b++) {
                const double size = norm(P, b), limit = 4 * epsilon(dtype) * size;
                for (int64_t i = 0; i < n; i++) {
                    assert_close(entry(d, b, i, 0), get(P, b, i, i), 0, 4 * limit);
                    if (symmetric) assert_close(entry(e, b, i, 0), get(P, b, i, i), 0, 4 * limit);
                    for (int64_t j = 0; j < n; j++) {
                        assert_close(get(O, b, i, j), get(W, b, i, j), 0, 4 * limit * size);
                        if (!symmetric) continue;
                        assert_close(get(Q, b, i, j), get(W, b, i, j), 0, 16 * limit * size);
                        assert_true(get(O, b, i, j) == get(O, b, j, i) && get(Q, b, i, j) == get(Q, b, j, i));
                    }
                }
            }
            if (layout == SLICED) assert_contained(O), assert_contained(d);
            if (n) { /* a member that fails is NaN */
                for (int64_t i = 0; i < n; i++) set(in, 0, i, 0, 0), set(in, 0, 0, i, 0);
                assert_ok(invert(dev, &in->view, &d->view, &failure), ct_message(dev));
                assert_true(failure.set && failure.member == 0);
                for (int64_t i = 0; i < n; i++) assert_true(isnan(entry(d, 0, i, 0)));
            }
            ct_tensor *all[] = { A, P, d, e, g, G, O, Q, W, root, in };
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) ct_release(all[k]);
            ct_device_close(dev);
        }
}

static void rows_in_pivot_order(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    ct_tensor *order = ct_from(dev, CT_I64, ct_shape2(3, 1), (int64_t[]){ 2, 0, 1 });
    ct_tensor *bad = ct_from(dev, CT_I64, ct_shape2(3, 1), (int64_t[]){ 2, 0, 3 });
    for (int lx = 0; lx < LAYOUTS; lx++)
        for (int lo = 0; lo < OUT_LAYOUTS; lo++) {
            ct_tensor *x = sample(dev, CT_F64, ct_shape3(2, 3, 4), lx, 1);
            ct_tensor *y = blank(dev, CT_F64, ct_shape3(2, 3, 4), lo),
                      *z = blank(dev, CT_F64, ct_shape3(2, 3, 4), lo);
            ct_tensor *p = ct_tensor_broadcast(order, ct_shape3(2, 3, 1)),
                      *q = ct_tensor_broadcast(bad, ct_shape3(2, 3, 1));
            assert_ok(cpu->permute_rows(dev, &x->view, &p->view, false, &y->view), ct_message(dev));
            assert_ok(cpu->permute_rows(dev, &y->view, &p->view, true, &z->view), ct_message(dev));
            for (int64_t b = 0; b < 2; b++)
                for (int64_t i = 0; i < 3; i++)
                    for (int64_t j = 0; j < 4; j++) {
                        assert_true(entry(y, b, i, j) == entry(x, b, (int64_t[]){ 2, 0, 1 }[i], j));
                        assert_true(entry(z, b, i, j) == entry(x, b, i, j));
                    }
            assert_int_equal(cpu->permute_rows(dev, &x->view, &q->view, false, &y->view), CT_EINDEX);
            assert_non_null(strstr(ct_message(dev), "index[2] = 3"));
            ct_release(x);
            ct_release(y);
            ct_release(z);
            ct_release(p);
            ct_release(q);
        }
    ct_release(order);
    ct_release(bad);
    ct_device_close(dev);
}

static void determinants_have_the_permutations_sign(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    static const int orders[][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 1, 2, 0 },
                                     { 2, 1, 0 }, { 2, 0, 1 }, { 0, 2, 1 } };
    static const double lu[3][3] = { { 2, 1, 1 }, { 1, -3, 1 }, { 1, 1, 5 } }; /* dominated by its diagonal */
    static const double signs[] = { -1, 1, -1, 1, -1, 1 };
    ct_tensor *A = ct_zeros(dev, CT_F64, ct_shape2(3, 3)), *y = ct_zeros(dev, CT_F64, ct_shape0()),
              *sign = ct_zeros(dev, CT_F64, ct_shape0());
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < 3; i++) memcpy((double *)A->view.data + 3 * i, lu[orders[k][i]], sizeof lu[0]);
        assert_ok(cpu->lu_det(dev, &A->view, &y->view, &sign->view, NULL), ct_message(dev));
        assert_elements(y, 1e-15, 0, log(32));
        assert_elements(sign, 0, 0, signs[k]);
    }
    ct_release(A);
    ct_release(y);
    ct_release(sign);
    ct_device_close(dev);
}

/* One matrix with two threads: each takes columns, or LAPACK does the work. With one thread: our own
 * routines, on more than one block. */
static void large_matrices_have_small_residuals(void **state)
{
    (void)state;
    for (int kind = 0; kind < 16; kind++) {
        ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
        bool symmetric = kind & 2;
        ct_device *dev = open_cpu(kind & 8 ? 1 : 2);
        ct_tensor *A = ct_zeros(dev, dtype, ct_shape2(390, 390)), *in = A,
                  *P = blank(dev, dtype, ct_tensor_shape(A), kind / 4 % 2);
        fill(A, 0, 1e3, symmetric, 9);
        if (symmetric) in = poisoned(dev, A, CONTIGUOUS);
        ct_failure failure = { .set = false };
        assert_ok((symmetric ? cpu->potri : cpu->getri)(dev, &in->view, &P->view, &failure), ct_message(dev));
        assert_false(failure.set);
        assert_true(residual(A, P, 0) <= 1);
        for (int64_t i = 0; i < 390 && symmetric; i++)
            for (int64_t j = 0; j < i; j++) assert_true(get(P, 0, i, j) == get(P, 0, j, i));
        for (int spoil = 0; spoil < 2; spoil++) {
            for (int64_t i = 0; i < 390; i++) set(in, 0, 200, i, 0), set(in, 0, i, 200, spoil ? NAN : 0);
            failure.set = false;
            assert_ok((symmetric ? cpu->potri : cpu->getri)(dev, &in->view, &P->view, &failure),
                      ct_message(dev));
            assert_true(failure.set && isnan(get(P, 0, 0, 0)) && isnan(get(P, 0, 389, 389)));
        }
        if (symmetric) ct_release(in);
        ct_release(A);
        ct_release(P);
        ct_device_close(dev);
    }
}

/* LAPACK's LU with two threads and our own with one: some rows of L U are compared, and the determinants. */
static void a_large_lu(void **state)
{
    (void)state;
    enum { N = 780 };
    for (int f32 = 0; f32 <= 1; f32++) {
        const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
        double log_abs[2], sign[2];
        for (int threads = 1; threads <= 2; threads++) {
            ct_device *dev = open_cpu(threads);
            ct_tensor *A = ct_zeros(dev, dtype, ct_shape2(N, N)), *LU = ct_zeros(dev, dtype, ct_shape2(N, N)),
                      *order = ct_zeros(dev, CT_I64, ct_shape1(N)), *y = ct_zeros(dev, dtype, ct_shape0()),
                      *s = ct_zeros(dev, dtype, ct_shape0());
            fill(A, 0, 1e2, false, 31);
            ct_failure failure = { .set = false };
            assert_ok(cpu->getrf(dev, &A->view, &LU->view, &order->view, &failure), ct_message(dev));
            assert_ok(cpu->lu_det(dev, &A->view, &y->view, &s->view, &failure), ct_message(dev));
            assert_false(failure.set);
            log_abs[threads - 1] = element(y, 0), sign[threads - 1] = element(s, 0);
            const double size = norm(A, 0) * epsilon(dtype);
            double worst = 0;
            for (int64_t i = 0; i < N; i += 97) {
                const int64_t row = ((int64_t *)order->view.data)[i];
                assert_in_range(row, 0, N - 1);
                for (int64_t j = 0; j < N; j++) {
                    long double sum = -get(A, 0, row, j);
                    for (int64_t k = 0; k <= i && k <= j; k++)
                        sum += (k == i ? 1 : (long double)get(LU, 0, i, k)) * get(LU, 0, k, j);
                    worst = fmax(worst, fabs((double)sum) / size);
                }
            }
            assert_true(worst <= N);
            ct_tensor *all[] = { A, LU, order, y, s };
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) ct_release(all[k]);
            ct_device_close(dev);
        }
        assert_close(log_abs[0], log_abs[1], 1e3 * epsilon(dtype), 0);
        assert_true(sign[0] == sign[1]);
    }
}

/* A P - I where neighbouring rows are nearly equal, as with a smooth kernel: the tiles on the diagonal have
 * condition numbers of 10⁹ themselves. A batch, and one matrix, on which all threads work where it is large.
 */
static void inverses_of_smooth_matrices(void **state)
{
    (void)state;
    static const int64_t extents[] = { 31, 76, 121, 166, 211, 300, 420 };
    ct_device *dev = open_cpu(2);
    for (size_t s = 0; s < 2 * sizeof extents / sizeof *extents; s++) {
        const int64_t n = extents[s / 2], members = 1 + (int64_t)s % 2, last = members - 1;
        ct_tensor *a = ct_empty(dev, CT_F64, ct_shape3(members, n, n)),
                  *p = ct_empty(dev, CT_F64, ct_shape3(members, n, n));
        for (int64_t b = 0; b < members; b++)
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) {
                    const double r = (double)(i - j) / 20;
                    set(a, b, i, j, 1.3 * exp(-0.5 * r * r) + (i == j ? 1e-8 : 0));
                }
        for (int spd = 0; spd < 2; spd++) {
            ct_failure failure = { .set = false };
            assert_ok(spd ? cpu->potri(dev, &a->view, &p->view, &failure)
                          : cpu->getri(dev, &a->view, &p->view, &failure),
                      ct_message(dev));
            assert_false(failure.set);
            const double ratio = residual(a, p, last);
            if (!(ratio <= 0.1))
                fail_msg("%s, n = %d, %d members: a ratio of %g", spd ? "potri" : "getri", (int)n,
                         (int)members, ratio);
        }
        ct_release(a);
        ct_release(p);
    }
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_have_small_residuals),
        cmocka_unit_test(large_matrices_have_small_residuals),
        cmocka_unit_test(lu_has_small_residuals),
        cmocka_unit_test(a_large_lu),
        cmocka_unit_test(a_failing_member_is_nan_and_named),
        cmocka_unit_test(the_adjoint_of_the_inverse),
        cmocka_unit_test(the_adjoint_from_the_root),
        cmocka_unit_test(columns_are_diagonals),
        cmocka_unit_test(rows_in_pivot_order),
        cmocka_unit_test(inverses_of_smooth_matrices),
        cmocka_unit_test(determinants_have_the_permutations_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
