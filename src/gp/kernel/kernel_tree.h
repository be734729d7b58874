/* The inside of a ct_kernel, shared by kernel*.c. */
#ifndef CT_GP_KERNEL_TREE_H
#define CT_GP_KERNEL_TREE_H

#include <cotangent/covariance.h>
#include <cotangent/kernel.h>

#include <stdarg.h>

/* More nodes than this are refused, so that walking a tree needs little stack. */
#define CT__KERNEL_MAX_NODES  256
#define CT__KERNEL_MAX_DEPTH  64      /* of parentheses in a text */
#define CT__KERNEL_MAX_DIMS   1000000 /* input columns */
#define CT__KERNEL_MAX_ACTIVE 4096    /* listed columns of one profile */
#define CT__KERNEL_MAX_DEGREE 64

/* M(code, text, has lengthscales, name of the extra parameter or NULL) */
/* clang-format off */
#define CT__KERNEL_TABLE(M)                              \
    M(RBF,                "rbf",      true,  NULL)       \
    M(MATERN12,           "matern12", true,  NULL)       \
    M(MATERN32,           "matern32", true,  NULL)       \
    M(MATERN52,           "matern52", true,  NULL)       \
    M(RATIONAL_QUADRATIC, "rq",       true,  "alpha")    \
    M(PERIODIC,           "periodic", true,  "period")   \
    M(COSINE,             "cosine",   false, "period")   \
    M(LINEAR,             "linear",   true,  NULL)       \
    M(POLYNOMIAL,         "poly",     true,  "offset")   \
    M(CONSTANT,           "constant", false, "variance") \
    M(WHITE,              "white",    false, "variance") \
    M(SCALE,              "scale",    false, "variance") \
    M(SUM,                "+",        false, NULL)       \
    M(PRODUCT,            "*",        false, NULL)
/* clang-format on */

typedef struct kernel_kind {
    const char *text;
    bool lengthscale;
    const char *extra;
} kernel_kind;

extern const kernel_kind ct__kernel_kinds[CT_COV_CODES];

typedef struct kernel_node {
    ct_cov_code code;
    struct kernel_node *left, *right; /* owned; scale has right alone                          */
    int degree;
    bool ard;
    int *dims; /* owned; active columns in the user's order, NULL: all                         */
    int n_dims;
    ct_param *param; /* owned; the lengthscales, then the extra parameter                        */
    int n_param, n_length;
} kernel_node;

struct ct_kernel {
    ct_status status;
    char message[512];
    kernel_node *root;       /* NULL where status is not CT_OK */
    ct_cov_program *program; /* NULL before bind               */
};

/* Without children, parameters at their defaults; NULL: no memory. */
kernel_node *ct__kernel_node(ct_cov_code code);
void ct__kernel_node_free(kernel_node *n);
/* How many nodes the tree has. */
int ct__kernel_nodes(const kernel_node *n);
/* Gives n `count` lengthscales, copies of the first for those that it has not yet; false: no memory. */
bool ct__kernel_lengthscales(kernel_node *n, int count);
/* Whether n looks at the columns of the inputs. */
bool ct__kernel_looks(const kernel_node *n);

/* A kernel of this tree, taken over; root NULL: poisoned with CT_ENOMEM. */
ct_kernel *ct__kernel_new(kernel_node *root);
/* Drops k's tree and keeps the error; returns k. */
ct_kernel *ct__kernel_poison(ct_kernel *k, ct_status status, const char *format, ...) CT_PRINTF(3, 4);
/* Sets the message alone; returns status. */
ct_status ct__kernel_refuse(ct_kernel *k, ct_status status, const char *format, ...) CT_PRINTF(3, 4);
/* After the tree has changed: drops the program, names the parameters anew. */
void ct__kernel_changed(ct_kernel *k);

#endif
