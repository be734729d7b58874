/* Batches of matrices: what the files of linear algebra share. */
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
    int64_t columns; /* not 0: for BLAS: column-major with leading dimension cs; else row-major with rs */
    int64_t step[CT_MAX_DIMS]; /* over the batch's dimensions; 0: shared */
} ct__matrix;

/* A batch on its device: what the functions of linear algebra work on. They return its status, the first
 * error; after that they do nothing. */
struct ct__job : ct__batch {
    ct_device *dev;
    mutable ct_status status;
};

/* The job's status after `call`, which is a ct_status; or one of CUDA's or its libraries', doing `what`. */
#define CT__DO(b, call)        ((b).status = (b).status ? (b).status : (call))
#define CT__ASK(b, what, call) CT__DO(b, ct__status((b).dev, what, call))

/* kernel<double> or kernel<float>, as the dtype of the job is, on its batch and what follows: so many blocks,
 * or a thread for each of `count` things. */
#define CT__BATCH_BLOCKS(what, b, kernel, blocks, threads, ...)                                    \
    CT__DO(b, (b).dtype == CT_F64                                                                  \
                  ? CT__RUN_BLOCKS((b).dev, what, kernel<double>, blocks, threads, b, __VA_ARGS__) \
                  : CT__RUN_BLOCKS((b).dev, what, kernel<float>, blocks, threads, b, __VA_ARGS__))
#define CT__BATCH_EACH(what, b, kernel, count, ...)                                                    \
    CT__DO(b, (b).dtype == CT_F64 ? CT__RUN_EACH((b).dev, what, kernel<double>, count, b, __VA_ARGS__) \
                                  : CT__RUN_EACH((b).dev, what, kernel<float>, count, b, __VA_ARGS__))

/* The batch of the first of n tensors, coalesced, and the matrices of all. */
ct__job ct__make_job(ct_device *dev, int n, const ct_view *const *t, ct__matrix *m);
/* Both in one. */
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

static inline __device__ __host__ ct__matrix ct__turned(ct__matrix m)
{
    int64_t rows = m.rows, rs = m.rs;
    m.rows = m.cols, m.cols = rows;
    m.rs = m.cs, m.cs = rs;
    m.columns = !m.columns;
    return m;
}

/* A column, for the diagonal of a square matrix. */
static inline ct__matrix ct__diagonal(ct__matrix m)
{
    m.rs += m.cs;
    m.cols = 1;
    return m;
}

/* The matrices as a tensor (..., rows, cols), for the elementwise primitives; it owns nothing. */
ct_view ct__as_view(const ct__batch &b, const ct__matrix &m);
/* A contiguous row-major matrix per member in memory that holds them. */
ct__matrix ct__dense(const ct__batch &b, void *data, int64_t rows, int64_t cols);

/* Offset of a member's matrix, in elements. Unrolled: a kernel whose arguments are indexed at run time copies
 * them first. */
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

/* For a kernel's loop over them, row by row. */
#define CT__EACH_ENTRY(at, b, m)                                                                       \
    CT__EACH(at##_e, (b).members *(m).rows *(m).cols)                                                  \
    if (const ct__entry at{ at##_e / ((m).rows * (m).cols), at##_e % ((m).rows * (m).cols) / (m).cols, \
                            at##_e % (m).cols };                                                       \
        true)

/* Scratch memory for a job. */
struct ct__room : ct__scratch {
    ct__room(const ct__job &b, int64_t size) : ct__scratch(b.dev, b.status ? -1 : size)
    {
        CT__DO(b, data ? CT_OK : CT_ENOMEM);
    }
};

/* A contiguous row-major matrix per member in scratch memory. */
struct ct__temporary : ct__room {
    const ct__matrix m;
    ct__temporary(const ct__job &b, int64_t rows, int64_t cols)
        : ct__room(b, b.members * rows * cols * ct__bytes_of(b)), m(ct__dense(b, data, rows, cols))
    {
    }
};

/* A matrix in a layout that BLAS takes: as it is where it is one, else a copy in scratch memory. */
struct ct__formed {
    const ct__job &b;
    ct__matrix given, m;
    size_t bytes;
    void *data; /* of the copy */
    enum part { NOTHING, LOWER, ALL, DIAGONAL } back;
    /* `in`: what of the given matrix is wanted; `out`: what finish() brings back, of a square matrix its
     * diagonal where the given one is a column for that. */
    ct__formed(const ct__job &job, const ct__matrix &matrix, part in = ALL, part out = NOTHING);
    ~ct__formed() { ct__pool_put(b.dev, data, bytes); }
    ct_status finish();
    ct__formed(const ct__formed &) = delete;
    ct__formed &operator=(const ct__formed &) = delete;
};

/* out = x with column j scaled by element j of the row. */
ct_status ct__scale_columns(const ct__job &b, const ct__matrix &x, const ct__matrix &row,
                            const ct__matrix &out);
/* The rows of the identity in that order: order[member][row]. */
ct_status ct__identity(const ct__job &b, const ct__matrix &out, const int64_t *order);
/* to = from */
ct_status ct__copy_matrices(const ct__job &b, const ct__matrix &from, const ct__matrix &to);
/* out = the part of x with col - row <= k or, `upper`, >= k; the rest of out becomes zero, or is left alone.
 * CT__ONES: zero, and the diagonal one. */
enum ct__rest { CT__ZEROS, CT__ONES, CT__LEFT };
ct_status ct__triangle(const ct__job &b, const ct__matrix &x, bool upper, int64_t k, ct__rest rest,
                       const ct__matrix &out);
/* to = from on and below the diagonal. */
static inline ct_status ct__copy_lower(const ct__job &b, const ct__matrix &from, const ct__matrix &to)
{
    return ct__triangle(b, from, false, 0, CT__LEFT, to);
}
/* The rest of m becomes the lower triangle's mirror image. */
static inline ct_status ct__mirror_lower(const ct__job &b, const ct__matrix &m)
{
    return ct__triangle(b, ct__turned(m), true, 1, CT__LEFT, m);
}
/* All of m = NaN, or its lower triangle, where failed[member] is set. */
ct_status ct__poison(const ct__job &b, const int64_t *failed, bool lower, const ct__matrix &m);
/* Notes the first member of which failed[member], counted from 1 and with `first` added, is set. failure may
 * be NULL. */
ct_status ct__note_failure(const ct__job &b, const int64_t *failed, int64_t first, const char *what,
                           const char *why, ct_failure *failure);

/* In matrices that BLAS takes: C = alpha A B + beta C; its lower triangle = alpha A Aᵀ + beta C; op as blocks
 * of one another's storage allow. */
ct_status ct__gemm(const ct__job &b, double alpha, const ct__matrix &A, const ct__matrix &B, double beta,
                   const ct__matrix &C);
ct_status ct__syrk(const ct__job &b, double alpha, const ct__matrix &A, double beta, const ct__matrix &C);
/* B = alpha M⁻¹ B or B = alpha M B, for the lower or the upper triangle of M. */
enum ct__action { CT__MULTIPLY, CT__SOLVE };
ct_status ct__apply(const ct__job &b, ct__action action, bool lower, bool unit, double alpha,
                    const ct__matrix &M, const ct__matrix &B);
/* On and below the diagonal: A = L with A = L Lᵀ, failed[member] the failing minor, all members together, or
 * by cuSOLVER one after the other; L becomes L⁻¹, or LᵀL. */
ct_status ct__cholesky_blocked(const ct__job &b, const ct__matrix &A, int64_t *failed);
ct_status ct__cholesky_looped(const ct__job &b, const ct__matrix &A, int64_t *failed);
enum ct__change { CT__SQUARE, CT__INVERT };
ct_status ct__change_lower(const ct__job &b, ct__change change, const ct__matrix &L);

/* m, column-major, becomes L and U with partial pivoting; pivot[member][j] the row that column j was
 * exchanged with, failed[member] the first pivot that is zero or not finite. By cuBLAS for all members
 * together, or by cuSOLVER one after the other; LAPACK's geqrf likewise, tau dense. */
ct_status ct__lu_batched(const ct__job &b, const ct__matrix &m, int64_t *pivot, int64_t *failed);
ct_status ct__lu_looped(const ct__job &b, const ct__matrix &m, int64_t *pivot, int64_t *failed);
ct_status ct__qr_batched(const ct__job &b, const ct__matrix &m, const ct__matrix &tau);
ct_status ct__qr_looped(const ct__job &b, const ct__matrix &m, const ct__matrix &tau);

/* Whether matrices of n rows are factored by cuSOLVER. It does not say that its work may be part of a graph:
 * so never in a step, recorded or not. */
static inline bool ct__one_by_one(const ct_device *dev, int64_t n)
{
    return !dev->in_step && n >= CT__ONE_BY_ONE;
}

/* The addresses of the members' matrices, as cuBLAS's batched routines want them. */
struct ct__addresses : ct__room {
    ct__addresses(const ct__job &b, const ct__matrix &m);
};

/* Where a triangle is cut: whole tiles before the cut. */
static inline int64_t ct__half(int64_t n) { return ct__divide_up(n / 2, CT__TILE) * CT__TILE; }

#endif
