/* Eigenvectors and singular vectors by cuSOLVER, one matrix after the other. */
#include "batch.cuh"

/* Whether cuSOLVER may be called: not in a step, as it does not promise that its work can be recorded. */
static bool may_solve(ct_device *dev, const char *what)
{
    if (dev->in_step)
        ct__fail(dev, CT_EUNSUPPORTED,
                 "%s: cuSOLVER's %s cannot be recorded: compute them outside of the step", dev->name, what);
    return !dev->in_step;
}

/* One number a member as a matrix of m's size. */
static ct_view spread(const ct__job &b, ct__matrix one, const ct__matrix &m)
{
    one.rows = m.rows, one.cols = m.cols;
    one.rs = one.cs = 0;
    return ct__as_view(b, one);
}

/* Notes the members that are not finite in failed[member], and makes them zeros: cuSOLVER does not say what
 * it does with NaN. */
static void set_aside(const ct__job &b, const ct__matrix &A, int64_t *failed)
{
    const ct__temporary of_zero(b, 1, 1);
    ct_view one = ct__as_view(b, of_zero.m), all = ct__as_view(b, A), zeros = spread(b, of_zero.m, A),
            wild = spread(b, ct__dense(b, failed, 1, 1), A);
    wild.dtype = CT_I64;
    CT__DO(b, ct__zero(b.dev, "finite", failed, b.members));
    ct__wild(b, A, failed);
    CT__DO(b, ct__cuda_fill(b.dev, &one, 0));
    CT__DO(b, ct__cuda_where(b.dev, &wild, &zeros, &all, &all));
}

ct_status ct__cuda_eigen(ct_device *dev, ct_view *a, ct_view *w, ct_failure *failure)
{
    const ct__matrices<2> b(dev, { a, w });
    if (!b.members || !b.m[0].rows) return CT_OK;
    if (!may_solve(dev, "eigenvectors")) return CT_EUNSUPPORTED;
    const ct__workspace failed(b, b.members * (int64_t)sizeof(int64_t));
    ct__triangle(b, b.m[0], false, 0, CT__ZEROS, b.m[0]);
    set_aside(b, b.m[0], failed);
    ct__eigen_looped(b, b.m[0], b.m[1], failed);
    for (int k = 0; k < 2; k++) ct__poison(b, failed, false, b.m[k]);
    return ct__note_failure(b, failed, 0, "eigenvalue %lld",
                            "is not found: the matrix has NaN or an infinity", failure);
}

/* cuSOLVER takes a column-major matrix of no fewer rows than columns. That is Aᵀ = V S Uᵀ of a wide A, as it
 * lies, with Vᵀ and U by rows. A tall A is transposed first, and so are its results. */
ct_status ct__cuda_svd(ct_device *dev, ct_view *a, ct_view *s, ct_view *u, ct_view *vt, ct_failure *failure)
{
    const ct__matrices<4> b(dev, { a, s, u, vt });
    const ct__matrix &A = b.m[0], &S = b.m[1], &U = b.m[2], &Vt = b.m[3];
    if (!b.members || !S.cols) return CT_OK;
    if (!may_solve(dev, "singular vectors")) return CT_EUNSUPPORTED;
    const bool tall = A.rows > A.cols;
    const ct__workspace failed(b, b.members * (int64_t)sizeof(int64_t));
    const ct__temporary At(b, tall ? A.cols : 0, A.rows), V(b, tall ? Vt.cols : 0, Vt.rows),
        Ut(b, tall ? U.cols : 0, U.rows);
    set_aside(b, A, failed);
    if (tall) ct__copy_matrices(b, ct__transposed(A), At.m);
    ct__svd_looped(b, tall ? At.m : A, S, tall ? V.m : U, tall ? Ut.m : Vt, failed);
    if (tall) ct__copy_matrices(b, ct__transposed(Ut.m), U);
    if (tall) ct__copy_matrices(b, ct__transposed(V.m), Vt);
    for (int k = 1; k < 4; k++) ct__poison(b, failed, false, b.m[k]);
    return ct__note_failure(b, failed, 0, "singular value %lld",
                            "is not found: the matrix has NaN or an infinity", failure);
}
