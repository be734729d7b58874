/* The adjoints of inverses, member by member. P = A⁻¹, G = P̄:
 *
 *     general               Ā = -Pᵀ G Pᵀ                                               4 n³ operations
 *     symmetric             Ā = -P S P, S = ½(G + Gᵀ), of the second product a half    3 n³
 *     symmetric, M = L⁻¹    P = MᵀM: Ā = -Mᵀ(M S Mᵀ)M                                  2 n³
 *
 * In the last of them each symmetric matrix is a triangle and its transpose, T + Tᵀ, T with half of the
 * diagonal: M T is a triangle, M S Mᵀ = (M T)Mᵀ + its transpose; the same again with Mᵀ. All six products are
 * of two triangles into one, and n³/3 operations. */
#include "inverse.h"

#include <string.h>

/* An operand as it lies in memory, or transposed. */
static void place(const ct__matrix *m, bool transposed, int64_t *rs, int64_t *cs)
{
    const int64_t row = m->columns ? 1 : m->ld, column = m->columns ? m->ld : 1;
    *rs = transposed ? column : row;
    *cs = transposed ? row : column;
}

/* -Pᵀ G Pᵀ, on one thread: H = Pᵀ G, then -H Pᵀ, or its transpose -P Hᵀ where the result lies by columns */
static int64_t general_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *o = &job->m[2];
    const ct_dtype t = job->dtype;
    const int64_t n = p->rows, ld = ct__pitch(n);
    void *work = data[3], *h = (char *)work + ct__product_work(t, n);
    ct__product q = { .m = n, .n = n, .k = n, .a = data[0], .b = data[1], .c = h, .ldc = ld };
    place(p, true, &q.a_rs, &q.a_cs);
    place(&job->m[1], false, &q.b_rs, &q.b_cs);
    job->kit->product(&q, work);
    q.minus = true, q.c = data[2], q.ldc = o->ld;
    if (o->columns) {
        q.a = data[0], q.b = h, q.b_rs = 1, q.b_cs = ld;
        place(p, false, &q.a_rs, &q.a_cs);
    } else {
        q.a = h, q.b = data[0], q.a_rs = ld, q.a_cs = 1;
        place(p, true, &q.b_rs, &q.b_cs);
    }
    job->kit->product(&q, work);
    return 0;
}

/* The same of one large matrix, on all threads. */
static int64_t blas_general_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *g = &job->m[1], *o = &job->m[2];
    const int n = (int)p->rows, ld = (int)ct__pitch(n);
    const char p_t = p->columns ? 'T' : 'N', p_n = p->columns ? 'N' : 'T';
    void *h = data[3]; /* column-major */
    blas_gemm(job->dtype, p_t, g->columns ? 'N' : 'T', n, n, n, 1, data[0], p->ld, data[1], g->ld, 0, h, ld);
    if (o->columns)
        blas_gemm(job->dtype, 'N', p_t, n, n, n, -1, h, ld, data[0], p->ld, 0, data[2], o->ld);
    else
        blas_gemm(job->dtype, p_n, 'T', n, n, n, -1, data[0], p->ld, h, ld, 0, data[2], o->ld);
    return 0;
}

/* -P ½(G + Gᵀ) P for a symmetric P, the second product on and below the diagonal alone */
static int64_t symmetric_bar_member(const ct__job *job, void *const *data)
{
    const ct__matrix *p = &job->m[0], *g = &job->m[1];
    const int64_t n = p->rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *work = data[3], *s = (char *)work + ct__product_work(t, n), *h = ct__ij(s, t, ld, n, 0);
    job->kit->symmetric_part(false, n, data[1], g->ld, s, ld);
    if (job->serial) {
        ct__multiply(job->kit, 0, 'N', 'N', n, n, n, -1, data[0], p->ld, s, ld, 0, h, ld, work);
        ct__multiply(job->kit, CT__OUT_LOWER, 'N', 'N', n, n, n, 1, h, ld, data[0], p->ld, 0, s, ld, work);
    } else {
        const int order = (int)n, pitch = (int)ld;
        blas_gemm(t, 'N', 'N', order, order, order, -1, s, pitch, data[0], p->ld, 0, h, pitch);
        for (int i = 0; i < order; i += CT__BAR_ROWS) {
            const int rows = order - i < CT__BAR_ROWS ? order - i : CT__BAR_ROWS;
            blas_gemm(t, 'N', 'N', i + rows, rows, order, 1, data[0], p->ld, ct__ij(h, t, ld, i, 0), pitch, 0,
                      ct__ij(s, t, ld, i, 0), pitch);
        }
    }
    ct__put_symmetric(job, s, ld, data[2]);
    return 0;
}

/* The triangle whose rows follow one another, with zeros behind it to the end of a tile. */
static void load_root(ct_dtype t, const void *root, int64_t n, void *m, int64_t ld)
{
    const size_t size = ct_dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = (i / CT__TILE + 1) * CT__TILE;
        memcpy(ct__ij(m, t, ld, i, 0), ct__at(root, t, i * (i + 1) / 2), (size_t)(i + 1) * size);
        memset(ct__ij(m, t, ld, i, i + 1), 0, (size_t)((end < n ? end : n) - i - 1) * size);
    }
}

/* Half of the diagonal; with `clear`, zeros behind it to the end of a tile. */
static void halve(ct_dtype t, int64_t n, void *x, int64_t ld, bool clear)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = (i / CT__TILE + 1) * CT__TILE;
        ct__set(t, x, i * (ld + 1), ct__get(t, x, i * (ld + 1)) / 2);
        if (clear)
            memset(ct__ij(x, t, ld, i, i + 1), 0, (size_t)((end < n ? end : n) - i - 1) * ct_dtype_size(t));
    }
}

static int64_t root_bar_member(const ct__job *job, void *const *data)
{
    enum { LOWER = CT__LEFT_LOWER | CT__RIGHT_LOWER | CT__OUT_LOWER };
    enum { OUTER = CT__LEFT_LOWER | CT__RIGHT_UPPER | CT__OUT_LOWER };
    enum { INNER = CT__LEFT_UPPER | CT__RIGHT_LOWER | CT__OUT_LOWER };
    const int64_t n = job->m[1].rows, ld = ct__pitch(n);
    const ct_dtype t = job->dtype;
    void *work = data[3], *m = (char *)work + ct__product_work(t, n), *x = ct__ij(m, t, ld, n, 0),
         *y = ct__ij(x, t, ld, n, 0);
    load_root(t, data[0], n, m, ld);
    job->kit->symmetric_part(true, n, data[1], job->m[1].ld, x, ld);
    halve(t, n, x, ld, false);
    ct__multiply(job->kit, LOWER, 'N', 'N', n, n, n, 1, m, ld, x, ld, 0, y, ld, work); /* Y = M T          */
    ct__multiply(job->kit, OUTER, 'N', 'T', n, n, n, 1, y, ld, m, ld, 0, x, ld, work); /* X = Y Mᵀ + M Yᵀ  */
    ct__multiply(job->kit, OUTER, 'N', 'T', n, n, n, 1, m, ld, y, ld, 1, x, ld, work);
    halve(t, n, x, ld, true);
    ct__multiply(job->kit, LOWER, 'N', 'N', n, n, n, 1, x, ld, m, ld, 0, y, ld, work); /* Y = X M          */
    ct__multiply(job->kit, INNER, 'T', 'N', n, n, n, -1, m, ld, y, ld, 0, x, ld, work); /* X = -Mᵀ Y - Yᵀ M */
    ct__multiply(job->kit, INNER, 'T', 'N', n, n, n, -1, y, ld, m, ld, 1, x, ld, work);
    ct__put_symmetric(job, x, ld, data[2]);
    return 0;
}

/* One of the three: its operations in n³, the matrices of scratch that it takes, and a member's work, by all
 * threads where that is another one. */
typedef struct adjoint {
    double cubes;
    int64_t matrices;
    int64_t (*member)(const ct__job *job, void *const *data), (*alone)(const ct__job *job, void *const *data);
    bool symmetric;
} adjoint;

static const adjoint general = { 4, 1, general_bar_member, blas_general_bar_member, false },
                     symmetric = { 3, 2, symmetric_bar_member, symmetric_bar_member, true },
                     from_root = { 2, 3, root_bar_member, NULL, true };

/* p: the inverse, or its root */
static ct_status run(ct_device *dev, const adjoint *f, const ct_view *p, const ct_view *g, ct_view *out)
{
    const ct_view *t[] = { p, g, out };
    ct__job job;
    ct__job_init(&job, dev, 3, t);
    const int64_t n = job.m[1].rows;
    if (!job.members || !n) return CT_OK;
    ct_status status = ct__job_forms(&job, "inverse");
    if (status) return status;
    if (f->symmetric) job.m[2].packed = false;
    job.work = f->cubes * (double)n * (double)n * (double)n;
    job.scratch =
        ct__product_work(job.dtype, n) + (size_t)(f->matrices * n * ct__pitch(n)) * ct_dtype_size(job.dtype);
    job.serial = !f->alone || !ct__inverse_alone(dev, job.members, n, CT__BAR_ALONE);
    job.member = job.serial ? f->member : f->alone;
    return ct__job_run(&job);
}

ct_status ct__cpu_inverse_bar(ct_device *dev, bool symmetrical, const ct_view *p, const ct_view *g,
                              ct_view *out)
{
    return run(dev, symmetrical ? &symmetric : &general, p, g, out);
}

ct_status ct__cpu_inverse_root_bar(ct_device *dev, const ct_view *root, const ct_view *g, ct_view *out)
{
    return run(dev, &from_root, root, g, out);
}
