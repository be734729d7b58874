/* Vector code: strips, and what the threads share. */

/* An integer as wide as T, so that comparisons can be counted in vectors. */
#if F64
typedef int64_t integer;
#else
typedef int32_t integer;
#endif

/* A thread's workspace for one node: five arrays, in whole cache lines. */
typedef struct node_space {
    T value[CT__COV_WIDTH], slope[CT__COV_WIDTH], extra_slope[CT__COV_WIDTH], s[CT__COV_WIDTH],
        bar[CT__COV_WIDTH];
    alignas(64) const T *y_bar; /* the cotangent of value */
    bool wild;                  /* some s, or a term of it, is out of range */
} node_space;

/* For a CT_COV_INDEX node: the table B, and the slot of each row of z. */
typedef struct level_codes {
    T *table;
    integer *slot;
} level_codes;

/* Rows [i, i + rows) and columns [j, j + width): pair (r, c) has number r * width + c. */
typedef struct strip {
    int64_t i, rows, j, width;
} strip;

/* Whether t contains the diagonal element of row i */
static inline bool holds(const strip *t, int64_t i) { return i >= t->j && i < t->j + t->width; }

typedef struct plan {
    ct__cov_problem *q;
    const ct_cov_node *nodes;
    const int32_t *dims;
    int n_nodes;
    int64_t lanes; /* as in problem; each element below is `lanes` numbers, one for each member */
    bool symmetric;
    const T *x; /* x_id = x[i * x_row + d * x_col], z_jd = z[d * z_row + j * lanes] */
    int64_t x_row, x_col, z_row;
    /* weight: for each entry of the program's dims, 1/l², or 1/l for CT_DIFFER; 1 without a lengthscale; NaN
     * if outside CT__STEEP's range, which makes s NaN and so leads to `careful`. norm: for each node that
     * computes distances from products, its Σ w z_j² in `norms`; else NULL. */
    T *theta, *weight, *z, *norms, **norm;
    level_codes *codes; /* of each node; set for CT_COV_INDEX only */
    T *u, *v;           /* the vectors of K̄, or NULL */
    /* For each thread: `space` of every node, and x_bar of a block of rows. For each block of rows:
     * theta_bar, L partial sums of each parameter. */
    node_space *space;
    double *theta_bar, *x_bar;
    T *A; /* for Gaussians: a packed lower triangle of n + 1 rows */
} plan;
