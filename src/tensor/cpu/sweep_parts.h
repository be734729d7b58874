/* Vector code: where elements lie, and how the work is shared. */

static int64_t row_offset(const ct__layout *A, int64_t p)
{
    return p < A->n1 ? p * A->ld + A->column : (A->row + p - A->n1) * A->ld - A->n1;
}

/* The offset of A_ik, k <= i */
static int64_t element(const ct__layout *A, int64_t i, int64_t k)
{
    return k < A->n1 ? row_offset(A, k) + i : row_offset(A, i) + k;
}

/* The number of pivots in the block at k0: at most `block`, and at the end rounded up to whole groups */
static int64_t padded_block(const ct__layout *A, int64_t k0, int64_t block, int64_t group)
{
    return ct__min(block, (A->n - k0 + group - 1) / group * group);
}

/* -- scheduling --
 *
 * Row block P is the P-th group of `grain` rows; tile (P, Q) is where rows P meet columns Q. A tile belongs
 * to part (P + Q) mod parts in every step, so it stays in one core's cache. Only the panel moves between
 * cores, which matters where they share no cache. Each part has work queues of its own. A thread empties its
 * part's queue, then takes tasks from the others' (work stealing). */

typedef struct queue {
    _Alignas(CT__ALIGNMENT) atomic_llong slivers; /* taken so far */
    _Alignas(CT__ALIGNMENT) atomic_llong tiles;
} queue;

/* The number of row blocks in n rows, counting one of every `every`, rounded up */
static int64_t row_blocks_of(int64_t n, int64_t grain, int64_t every)
{
    return (n + grain * every - 1) / (grain * every);
}

/* The i-th Q whose tile (P, Q) belongs to `owner` */
static int64_t owned(int owner, int parts, int64_t P, int64_t i)
{
    return (owner + parts - P % parts) % parts + i * parts;
}

typedef struct sweep {
    ct__layout A;
    int64_t block; /* pivots of a step, whole slivers          */
    int64_t grain; /* rows and columns of a tile of the update */
    bool inverse;
    T tolerance;            /* relative to the diagonal: a smaller pivot fails                   */
    T *data, *z, *diagonal; /* z: columns of n; diagonal is A's at first, L's at the end         */
    int64_t columns;        /* of z                                                              */
    T *W;                   /* [sliver][pivot][row of the sliver]: the panel of one step         */
    T *F, *Ft;              /* the pivot block's factor and its transpose, both in slivers       */
    T *reciprocal;          /* 1 / l_kk of the pivot block; finite, as l_kk is a square root     */
    T *y;                   /* L⁻¹z of the pivot block, [column][pivot]                          */
    T *spare;               /* workspace: a sliver for each part                                 */
    queue *queues;          /* of each part                                                      */
    bool flush;             /* subnormals count as zeros                                         */
    int parts, team;
} sweep;
