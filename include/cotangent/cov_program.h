/* A covariance kernel's program: its tree in postfix order, as plain data that is copied to the tape as an
 * attribute and, on a GPU, to the device. Children come before their parents; the last node is the kernel. */
#ifndef COTANGENT_COV_PROGRAM_H
#define COTANGENT_COV_PROGRAM_H

#include <cotangent/profiles.h>
#include <cotangent/view.h>

CT_BEGIN_DECLS

/* clang-format off */
#define CT__CODE(CODE, ...) CT_COV_##CODE,
typedef enum ct_cov_code {
    CT_PROFILES(CT__CODE) /* CT_COV_RBF, CT_COV_MATERN12, ... */
    CT_COV_PROFILES, /* the number of profiles */
    CT_COV_CONSTANT = CT_COV_PROFILES,
    CT_COV_WHITE,
    CT_COV_INDEX,         /* (W Wᵀ + diag κ)[c, c'] of the codes in one column */
    CT_COV_SCALE,         /* theta[extra] * child `right` */
    CT_COV_SUM,           /* child `left` + child `right` */
    CT_COV_PRODUCT,       /* child `left` * child `right` */
    CT_COV_CODES,
} ct_cov_code;
#undef CT__CODE
/* clang-format on */

/* The most levels and the highest rank of CT_COV_INDEX. */
enum { CT_COV_MOST_LEVELS = 512, CT_COV_MOST_RANK = 16 };

typedef struct ct_cov_node {
    int32_t code;         /* a ct_cov_code                                                      */
    int32_t geometry;     /* of a node that reads columns: a ct_cov_geometry                    */
    int32_t tail;         /* of a profile: CT_LIGHT or CT_HEAVY                                 */
    int32_t left, right;  /* children, as positions in the program                              */
    int32_t dims, n_dims; /* the active columns are ct_cov_dims(program)[dims .. dims + n_dims) */
    /* Position in theta of the first lengthscale, or of a cosine's period; -1: none. */
    int32_t lengthscale;
    int32_t ard;    /* 1: one lengthscale per active column, 0: one for all                */
    int32_t extra;  /* position in theta of alpha, period, offset, variance or W; -1: none */
    int32_t degree; /* of a polynomial; of CT_COV_INDEX the rank, the columns of W         */
    int32_t levels; /* of CT_COV_INDEX: the rows of W, which is followed in theta by κ     */
} ct_cov_node;

/* Followed in memory by n_nodes nodes and n_dims column numbers. */
typedef struct ct_cov_program {
    int64_t bytes;                /* of the complete program, for copying */
    int32_t input_dims, n_params; /* n_params: the length of theta */
    int32_t n_nodes, n_dims;
} ct_cov_program;

static inline const ct_cov_node *ct_cov_nodes(const ct_cov_program *p)
{
    return (const ct_cov_node *)(const void *)(p + 1);
}

static inline const int32_t *ct_cov_dims(const ct_cov_program *p)
{
    return (const int32_t *)(const void *)(ct_cov_nodes(p) + p->n_nodes);
}

/* Whether a profile of the program reads this column as category codes, not as quantities. */
static inline bool ct_cov_reads_codes(const ct_cov_program *p, int64_t column)
{
    for (const ct_cov_node *n = ct_cov_nodes(p), *end = n + p->n_nodes; n < end; n++)
        for (int32_t k = 0; k < n->n_dims && n->geometry == CT_DIFFER; k++)
            if (ct_cov_dims(p)[n->dims + k] == column) return true;
    return false;
}

/* A cotangent that is never formed as a matrix: K_bar = alpha (M - u vᵀ). */
typedef struct ct_cov_bar {
    ct_view M;    /* (n, m) */
    ct_view u, v; /* (n), (m), strides > 0; or no views: K_bar = alpha M */
    double alpha;
    bool lower; /* M is symmetric (there is no Z) and only its lower triangle is read; then u is v */
} ct_cov_bar;

CT_END_DECLS
#endif
