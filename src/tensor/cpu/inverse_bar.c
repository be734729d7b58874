/* The adjoints of inverses, member by member. P = A⁻¹, G = P̄:
 *
 *     general               Ā = -Pᵀ G Pᵀ                                            4 n³ operations
 *     symmetric             Ā = -P S P, S = ½(G + Gᵀ), half of the second product    3 n³
 *     symmetric, M = L⁻¹    P = MᵀM: Ā = -Mᵀ(M S Mᵀ)M                                2 n³
 *     G = diag(g)           one product after scaled rows       general 2 n³, symmetric n³
 *
 * With M, write each symmetric matrix as T + Tᵀ, where the triangle T has half of the diagonal. Then M T is a
 * triangle, and M S Mᵀ = (M T)Mᵀ + its transpose. The products with Mᵀ on the left and M on the right work
 * the same way. All six products multiply two triangles and need one triangle of the result: n³/3 operations
 * each. */
#include "inverse.h"

#include <string.h>

/* C = alpha op(A) op(B), all n x n and row-major, by one thread or by BLAS with all threads */
static void multiply(const ct__job *job, char ta, char tb, int64_t n, int alpha, const void *a, int64_t lda,
                     const void *b, int64_t ldb, void *c, int64_t ldc, void *work)
{
    if (job->serial)
        ct__multiply(job->kernels, 0, ta, tb, n, n, n, alpha, a, lda, b, ldb, 0, c, ldc, work);
    else
        blas_gemm(job->dtype, tb, ta, (int)n, (int)n, (int)n, alpha, b, (int)ldb, a, (int)lda, 0, c,
                  (int)ldc);
}

/* y = diag(g) x, for the column g of the job */
static void scale_rows(const ct__job *job, const void *g, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    const ct_dtype t = job->dtype;
    for (int64_t i = 0, n = job->m[1].rows; i < n; i++) {
        const double gi = ct__get(t, g, i * job->m[1].ld);
        for (int64_t j = 0; j < n; j++) ct__set(t, y, i * ldy + j, gi * ct__get(t, x, i * ldx + j));
    }
}

/* -Pᵀ D Pᵀ, D = diag(g). Q is P's memory read row-major: P, or Pᵀ if P is column-major. H = D Q. The result
 * is -Q H if Q = Pᵀ, and -Hᵀ Qᵀ if Q = P. If the output is column-major, its transpose is wanted, which swaps
 * the two. */
static int64_t diagonal_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *q = &job->m[0], *o = &job->m[2];
    const int64_t n = q->rows, ld = ct__pitch(n);
    void *work = data[3], *h = (char *)work + ct__product_work(job->dtype, n);
    scale_rows(job, data[1], data[0], q->ld, h, ld);
    if (q->columns != o->columns)
        multiply(job, 'N', 'N', n, -1, data[0], q->ld, h, ld, data[2], o->ld, work);
    else
        multiply(job, 'T', 'T', n, -1, h, ld, data[0], q->ld, data[2], o->ld, work);
    return 0;
}

/* -Pᵀ G Pᵀ: H = Pᵀ G (BLAS computes Hᵀ), then -H Pᵀ, or its transpose -P Hᵀ if the output is column-major. */
static int64_t general_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *g = &job->m[1], *o = &job->m[2];
    const int64_t n = p->rows, ld = ct__pitch(n);
    const char p_t = p->columns ? 'N' : 'T', p_n = p->columns ? 'T' : 'N', g_t = g->columns ? 'N' : 'T',
               g_n = g->columns ? 'T' : 'N', h_n = job->serial ? 'N' : 'T', h_t = job->serial ? 'T' : 'N';
    if (ct__is_diagonal(g)) return diagonal_bar_member(job, data);
    void *work = data[3], *h = (char *)work + ct__product_work(job->dtype, n);
    if (job->serial)
        multiply(job, p_t, g_n, n, 1, data[0], p->ld, data[1], g->ld, h, ld, work);
    else
        multiply(job, g_t, p_n, n, 1, data[1], g->ld, data[0], p->ld, h, ld, work);
    if (o->columns)
        multiply(job, p_n, h_t, n, -1, data[0], p->ld, h, ld, data[2], o->ld, work);
    else
        multiply(job, h_n, p_t, n, -1, h, ld, data[0], p->ld, data[2], o->ld, work);
    return 0;
}

/* -P S P for a symmetric P, S = ½(G + Gᵀ) or diag(g): H = S P, then -P H, only on and below the diagonal. */
static int64_t symmetric_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *g = &job->m[1];
    const int64_t n = p->rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *work = data[3], *s = (char *)work + ct__product_work(t, n), *h = ct__ij(s, t, ld, n, 0);
    if (ct__is_diagonal(g)) {
        scale_rows(job, data[1], data[0], p->ld, h, ld);
    } else {
        job->kernels->symmetric_part(false, n, data[1], g->ld, s, ld);
        multiply(job, 'N', 'N', n, 1, s, ld, data[0], p->ld, h, ld, work);
    }
    if (job->serial)
        ct__multiply(job->kernels, CT__OUT_LOWER, 'N', 'N', n, n, n, -1, data[0], p->ld, h, ld, 0, s, ld,
                     work);
    for (int64_t i = 0; i < n && !job->serial; i += CT__BAR_ROWS) {
        const int rows = (int)ct__min(n - i, CT__BAR_ROWS);
        blas_gemm(t, 'N', 'N', (int)i + rows, rows, (int)n, -1, h, (int)ld, ct__ij(data[0], t, p->ld, i, 0),
                  p->ld, 0, ct__ij(s, t, ld, i, 0), (int)ld);
    }
    ct__put_symmetric(job, s, ld, data[2]);
    return 0;
}

/* Zeros right of the diagonal in row i, to the end of the tile */
static void clear_behind(ct_dtype t, int64_t n, void *x, int64_t ld, int64_t i)
{
    const int64_t end = ct__min((i / CT__TILE + 1) * CT__TILE, n);
    memset(ct__ij(x, t, ld, i, i + 1), 0, (size_t)(end - i - 1) * ct_dtype_size(t));
}

/* Loads a packed lower triangle, with zeros right of the diagonal to the end of the tile. */
static void load_root(ct_dtype t, const void *root, int64_t n, void *m, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(ct__ij(m, t, ld, i, 0), ct__at(root, t, i * (i + 1) / 2), (size_t)(i + 1) * ct_dtype_size(t));
        clear_behind(t, n, m, ld, i);
    }
}

/* Halves the diagonal; with `clear`, also puts zeros right of it to the end of the tile. */
static void halve(ct_dtype t, int64_t n, void *x, int64_t ld, bool clear)
{
    for (int64_t i = 0; i < n; i++) {
        ct__set(t, x, i * (ld + 1), ct__get(t, x, i * (ld + 1)) / 2);
        if (clear) clear_behind(t, n, x, ld, i);
    }
}

/* -P D P, D = diag(g), from the triangle of P */
static int64_t diagonal_root_bar_member(const ct__job *job, void *const *data)
{
    const int64_t n = job->m[1].rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *work = data[3], *p = (char *)work + ct__product_work(t, n), *h = ct__ij(p, t, ld, n, 0),
         *x = ct__ij(h, t, ld, n, 0);
    ct__job inverse = *job;
    inverse.m[2] = (ct__matrix){ .rows = n, .cols = n, .rs = ld, .cs = 1 };
    load_root(t, data[0], n, x, ld);
    ct__put_symmetric(&inverse, x, ld, p);
    scale_rows(job, data[1], p, ld, h, ld);
    ct__multiply(job->kernels, CT__OUT_LOWER, 'N', 'N', n, n, n, -1, p, ld, h, ld, 0, x, ld, work);
    ct__put_symmetric(job, x, ld, data[2]);
    return 0;
}

static int64_t root_bar_member(const ct__job *job, void *const *data)
{
    enum { LOWER = CT__LEFT_LOWER | CT__RIGHT_LOWER | CT__OUT_LOWER };
    enum { OUTER = CT__LEFT_LOWER | CT__RIGHT_UPPER | CT__OUT_LOWER };
    enum { INNER = CT__LEFT_UPPER | CT__RIGHT_LOWER | CT__OUT_LOWER };
    const int64_t n = job->m[1].rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    if (ct__is_diagonal(&job->m[1])) return diagonal_root_bar_member(job, data);
    void *work = data[3], *m = (char *)work + ct__product_work(t, n), *x = ct__ij(m, t, ld, n, 0),
         *y = ct__ij(x, t, ld, n, 0);
    load_root(t, data[0], n, m, ld);
    job->kernels->symmetric_part(true, n, data[1], job->m[1].ld, x, ld);
    halve(t, n, x, ld, false);
    ct__multiply(job->kernels, LOWER, 'N', 'N', n, n, n, 1, m, ld, x, ld, 0, y, ld,
                 work); /* Y = M T         */
    ct__multiply(job->kernels, OUTER, 'N', 'T', n, n, n, 1, y, ld, m, ld, 0, x, ld,
                 work); /* X = Y Mᵀ + M Yᵀ */
    ct__multiply(job->kernels, OUTER, 'N', 'T', n, n, n, 1, m, ld, y, ld, 1, x, ld, work);
    halve(t, n, x, ld, true);
    ct__multiply(job->kernels, LOWER, 'N', 'N', n, n, n, 1, x, ld, m, ld, 0, y, ld, work); /* Y = X M */
    ct__multiply(job->kernels, INNER, 'T', 'N', n, n, n, -1, m, ld, y, ld, 0, x, ld,
                 work); /* X = -Mᵀ Y - Yᵀ M */
    ct__multiply(job->kernels, INNER, 'T', 'N', n, n, n, -1, y, ld, m, ld, 1, x, ld, work);
    ct__put_symmetric(job, x, ld, data[2]);
    return 0;
}

/* p: the inverse, or its root. A symmetric result is stored element by element, so its form does not
 * matter. */
static ct_status run(ct_device *dev, const ct__routine *routine, bool symmetric, const ct_view *p,
                     const ct_view *g, ct_view *out)
{
    ct__job job = { 0 };
    if (!ct__job_init(&job, dev, 3, (const ct_view *[]){ p, g, out })) return CT_OK;
    if (ct__job_forms(&job, "inverse")) return CT_EUNSUPPORTED;
    if (symmetric) job.m[2].packed = false;
    return ct__routine_run(&job, routine, job.m[2].rows, 0);
}

ct_status ct__cpu_inverse_bar(ct_device *dev, bool symmetric, const ct_view *p, const ct_view *g,
                              ct_view *out)
{
    const ct__routine routines[] = {
        { 4, 1, dev->tuning->bar_alone, general_bar_member, general_bar_member },
        { 3, 2, dev->tuning->bar_alone, symmetric_bar_member, symmetric_bar_member },
    };
    return run(dev, &routines[symmetric], symmetric, p, g, out);
}

ct_status ct__cpu_inverse_root_bar(ct_device *dev, const ct_view *root, const ct_view *g, ct_view *out)
{
    return run(dev, &(ct__routine){ 2, 3, 0, root_bar_member, NULL }, true, root, g, out);
}
