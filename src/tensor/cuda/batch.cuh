/* Batches of matrices, for the files of linear algebra. */
#ifndef CT_TENSOR_CUDA_BATCH_CUH
#define CT_TENSOR_CUDA_BATCH_CUH

#include "cuda.h"

/* The members of a batch. */
typedef struct ct__batch {
    ct_dtype dtype;
    int ndim;
    int64_t members, dim[CT_MAX_DIMS];
} ct__batch;

/* One matrix per member. */
typedef struct ct__matrix {
    char *data;
    int64_t rows, cols, rs, cs; /* strides in elements */
    int64_t columns; /* set for BLAS. Not 0: column-major, leading dimension cs; else row-major, rs */
    int64_t step[CT_MAX_DIMS]; /* strides over the batch's dimensions; 0: shared */
} ct__matrix;

/* A batch on its device, the argument of the functions of linear algebra. They return its status, the first
 * error; after an error they do nothing. */
struct ct__job : ct__batch {
    ct_device *dev;
    mutable ct_status status;
};

/* CT__DO: the job's status after `call`, a ct_status. CT__ASK: after a call of CUDA or one of its
 * libraries. */
#define CT__DO(b, call)        ((b).status = (b).status ? (b).status : (call))
#define CT__ASK(b, what, call) CT__DO(b, ct__status((b).dev, what, call))

/* Launches kernel<double> or kernel<float>, by the job's dtype, with its batch and the arguments: on `blocks`
 * blocks, or with a thread for each of `count` items. */
#define CT__BATCH_BLOCKS(what, b, kernel, blocks, threads, ...)                                    \
    CT__DO(b, (b).dtype == CT_F64                                                                  \
                  ? CT__RUN_BLOCKS((b).dev, what, kernel<double>, blocks, threads, b, __VA_ARGS__) \
                  : CT__RUN_BLOCKS((b).dev, what, kernel<float>, blocks, threads, b, __VA_ARGS__))
#define CT__BATCH_EACH(what, b, kernel, count, ...)                                                    \
    CT__DO(b, (b).dtype == CT_F64 ? CT__RUN_EACH((b).dev, what, kernel<double>, count, b, __VA_ARGS__) \
                                  : CT__RUN_EACH((b).dev, what, kernel<float>, count, b, __VA_ARGS__))

/* The batch of the first of n tensors, with merged dimensions, and the matrices of all. */
ct__job ct__make_job(ct_device *dev, int n, const ct_view *const *t, ct__matrix *m);
/* A job together with its matrices. */
template <int N> struct ct__matrices : ct__job {
    ct__matrix m[N];
    ct__matrices(ct_device *device, const ct_view *const (&t)[N])
    {
        *static_cast<ct__job *>(this) = ct__make_job(device, N, t, m);
    }
};

static inline int64_t ct__bytes_of(const ct__batch &b) { return (int64_t)ct__size(b.dtype); }

static inline ct__matrix ct__block(const ct__batch &b, ct__matrix m, int64_t row, int64_t col, int64_t rows,
                                   int64_t cols)
{
    m.data += (row * m.rs + col * m.cs) * ct__bytes_of(b);
    m.rows = rows;
    m.cols = cols;
    return m;
}

static inline __device__ __host__ ct__matrix ct__transposed(ct__matrix m)
{
    int64_t rows = m.rows, rs = m.rs;
    m.rows = m.cols, m.cols = rows;
    m.rs = m.cs, m.cs = rs;
    m.columns = !m.columns;
    return m;
}

/* The diagonal of a square matrix, as a column. */
static inline ct__matrix ct__diagonal(ct__matrix m)
{
    m.rs += m.cs;
    m.cols = 1;
    return m;
}

/* A view (..., rows, cols) of the matrices for the elementwise primitives; it owns nothing. */
ct_view ct__as_view(const ct__batch &b, const ct__matrix &m);
/* One contiguous row-major matrix per member in the given memory. */
ct__matrix ct__dense(const ct__batch &b, void *data, int64_t rows, int64_t cols);

/* Offset of a member's matrix, in elements. The loop is unrolled, because a kernel that indexes its arguments
 * at run time copies them to local memory first. */
static __device__ __host__ __forceinline__ int64_t ct__member_at(const ct__batch &b, const ct__matrix &m,
                                                                 int64_t member)
{
    int64_t at = 0;
    CT__UNROLL
    for (int d = CT_MAX_DIMS - 3; d >= 0; d--) {
        if (d >= b.ndim) continue;
        const int64_t rest = d ? member / b.dim[d] : 0;
        at += (member - rest * b.dim[d]) * m.step[d];
        member = rest;
    }
    return at;
}

/* Element (i, j) of a member's matrix. */
struct ct__entry {
    int64_t member, i, j;
};

template <typename T>
static __device__ __forceinline__ T &ct__at_entry(const ct__batch &b, const ct__matrix &m,
                                                  const ct__entry &at)
{
    return ((T *)m.data)[ct__member_at(b, m, at.member) + at.i * m.rs + at.j * m.cs];
}

static inline int64_t ct__entries(const ct__batch &b, const ct__matrix &m)
{
    return b.members * m.rows * m.cols;
}

/* A kernel's loop over all elements, row by row. */
#define CT__EACH_ENTRY(at, b, m)                                                                       \
    CT__EACH(at##_e, (b).members *(m).rows *(m).cols)                                                  \
    if (const ct__entry at{ at##_e / ((m).rows * (m).cols), at##_e % ((m).rows * (m).cols) / (m).cols, \
                            at##_e % (m).cols };                                                       \
        true)

/* Scratch memory for a job. */
struct ct__workspace : ct__scratch {
    ct__workspace(const ct__job &b, int64_t size) : ct__scratch(b.dev, b.status ? -1 : size)
    {
        CT__DO(b, data ? CT_OK : CT_ENOMEM);
    }
};

/* One contiguous row-major matrix per member in scratch memory. */
struct ct__temporary : ct__workspace {
    const ct__matrix m;
    ct__temporary(const ct__job &b, int64_t rows, int64_t cols)
        : ct__workspace(b, b.members * rows * cols * ct__bytes_of(b)), m(ct__dense(b, data, rows, cols))
    {
    }
};

/* A matrix in a layout that BLAS takes: the matrix itself if possible, else a copy in scratch memory. */
struct ct__formed {
    const ct__job &b;
    ct__matrix given, m;
    size_t bytes;
    void *data; /* the copy's */
    enum part { NOTHING, LOWER, ALL, DIAGONAL } back;
    /* `in`: the part of the given matrix to read; `out`: the part that finish() writes back, for a given
     * column the diagonal of a square matrix. */
    ct__formed(const ct__job &job, const ct__matrix &matrix, part in = ALL, part out = NOTHING);
    ~ct__formed() { ct__pool_put(b.dev, data, bytes); }
    ct_status finish();
    ct__formed(const ct__formed &) = delete;
    ct__formed &operator=(const ct__formed &) = delete;
};

/* out_ij = x_ij row_j */
ct_status ct__scale_columns(const ct__job &b, const ct__matrix &x, const ct__matrix &row,
                            const ct__matrix &out);
/* Row r of out is row order[member][r] of the identity. */
ct_status ct__identity(const ct__job &b, const ct__matrix &out, const int64_t *order);
/* to = from */
ct_status ct__copy_matrices(const ct__job &b, const ct__matrix &from, const ct__matrix &to);
/* out = the part of x with col - row <= k or, `upper`, >= k. The rest of out becomes 0 (CT__ZEROS), 0 with
 * ones on the diagonal (CT__ONES), or stays as it is (CT__LEFT). */
enum ct__rest { CT__ZEROS, CT__ONES, CT__LEFT };
ct_status ct__triangle(const ct__job &b, const ct__matrix &x, bool upper, int64_t k, ct__rest rest,
                       const ct__matrix &out);
/* to = from on and below the diagonal. */
static inline ct_status ct__copy_lower(const ct__job &b, const ct__matrix &from, const ct__matrix &to)
{
    return ct__triangle(b, from, false, 0, CT__LEFT, to);
}
/* Mirrors the lower triangle of m to the upper one. */
static inline ct_status ct__mirror_lower(const ct__job &b, const ct__matrix &m)
{
    return ct__triangle(b, ct__transposed(m), true, 1, CT__LEFT, m);
}
/* Fills m or its lower triangle with NaN if failed[member] is set. */
ct_status ct__poison(const ct__job &b, const int64_t *failed, bool lower, const ct__matrix &m);
/* flags[member] = m.rows if an element of m is not finite and no failure is noted. */
ct_status ct__wild(const ct__job &b, const ct__matrix &m, int64_t *flags);
/* Notes in `failure`, which may be NULL, the first failed member and failed[member], from 1, plus `first`. */
ct_status ct__note_failure(const ct__job &b, const int64_t *failed, int64_t first, const char *what,
                           const char *why, ct_failure *failure, int64_t shares = 1);

/* For matrices in a layout that BLAS takes: C = alpha A B + beta C, or in the lower triangle of C
 * alpha A Aᵀ + beta C. Operands may be disjoint blocks of one storage. */
ct_status ct__gemm(const ct__job &b, double alpha, const ct__matrix &A, const ct__matrix &B, double beta,
                   const ct__matrix &C);
ct_status ct__syrk(const ct__job &b, double alpha, const ct__matrix &A, double beta, const ct__matrix &C);
/* B = alpha M⁻¹ B or alpha M B for the lower or the upper triangle of M. */
enum ct__action { CT__MULTIPLY, CT__SOLVE };
ct_status ct__apply(const ct__job &b, ct__action action, bool lower, bool unit, double alpha,
                    const ct__matrix &M, const ct__matrix &B);
/* On and below the diagonal. cholesky: A = L Lᵀ is replaced by L, and failed[member] is the failing minor;
 * all members together, or by cuSOLVER one after the other. change_lower: L is replaced by L⁻¹ or LᵀL. */
ct_status ct__cholesky_blocked(const ct__job &b, const ct__matrix &A, int64_t *failed);
ct_status ct__cholesky_looped(const ct__job &b, const ct__matrix &A, int64_t *failed);
enum ct__change { CT__SQUARE, CT__INVERT };
ct_status ct__change_lower(const ct__job &b, ct__change change, const ct__matrix &L);

/* The column-major m is replaced by L and U with partial pivoting. pivot[member][j] is the row exchanged with
 * row j; failed[member] is the first pivot that is zero or not finite. All members together by cuBLAS, or one
 * after the other by cuSOLVER; likewise for LAPACK's geqrf, with a dense tau. */
ct_status ct__lu_batched(const ct__job &b, const ct__matrix &m, int64_t *pivot, int64_t *failed);
ct_status ct__lu_looped(const ct__job &b, const ct__matrix &m, int64_t *pivot, int64_t *failed);
ct_status ct__qr_batched(const ct__job &b, const ct__matrix &m, const ct__matrix &tau);
ct_status ct__qr_looped(const ct__job &b, const ct__matrix &m, const ct__matrix &tau);
/* By cuSOLVER: eigen's results, and svd's of matrices with no more rows than columns, all contiguous.
 * failed[member] is set if there are none; of members with failed[member] set before, the values are NaN. */
ct_status ct__eigen_looped(const ct__job &b, const ct__matrix &A, const ct__matrix &w, int64_t *failed);
ct_status ct__svd_looped(const ct__job &b, const ct__matrix &A, const ct__matrix &s, const ct__matrix &U,
                         const ct__matrix &Vt, int64_t *failed);

/* Whether cuSOLVER factors the members one after the other, where it is `faster`. It does not promise that
 * its calls can be part of a graph, so it is never used in a step, recorded or not. */
static inline bool ct__one_by_one(const ct__job &b, bool faster) { return !b.dev->in_step && faster; }

/* The addresses of the members' matrices, for cuBLAS's batched routines. */
struct ct__addresses : ct__workspace {
    ct__addresses(const ct__job &b, const ct__matrix &m);
};

/* Where a triangle is split: after whole tiles. */
static inline int64_t ct__half(int64_t n) { return ct__divide_up(n / 2, CT__TILE) * CT__TILE; }

#endif
