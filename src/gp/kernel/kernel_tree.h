/* A kernel's internals. The other kernel*.c build on kernel_tree.c. */
#ifndef CT_GP_KERNEL_TREE_H
#define CT_GP_KERNEL_TREE_H

#include <cotangent/kernel.h>

#include <stdarg.h>

/* A kernel with more nodes is refused, so that walking a tree needs little stack. */
#define CT__KERNEL_MAX_NODES  256
#define CT__KERNEL_MAX_DEPTH  64      /* nesting of parentheses in a text */
#define CT__KERNEL_MAX_DIMS   1000000 /* input columns */
#define CT__KERNEL_MAX_ACTIVE 4096    /* listed columns of one profile */
#define CT__KERNEL_MAX_DEGREE 64

typedef struct kernel_kind {
    const char *text;
    bool lengthscales;
    const char *extra; /* the other parameter's name, or NULL */
    ct_unit unit;      /* its unit */
    ct_cov_geometry geometry;
    int tail;
    int degree; /* the initial degree; 0: it has none */
} kernel_kind;

extern const kernel_kind ct__kernel_kinds[CT_COV_CODES];

typedef struct kernel_node {
    ct_cov_code code;
    struct kernel_node *left, *right; /* owned; scale has only `right` */
    int degree;
    bool ard;
    int *dims; /* owned; active columns in the user's order; NULL: all */
    int n_dims;
    ct_param *param; /* owned; the lengthscales, then the extra parameter */
    int n_param, n_length;
} kernel_node;

struct ct_kernel {
    ct_status status;
    char message[512];
    kernel_node *root;       /* NULL if status is not CT_OK */
    ct_cov_program *program; /* NULL before bind            */
};

/* A node without children, with parameters at their defaults; NULL: no memory. */
kernel_node *ct__kernel_node(ct_cov_code code);
void ct__kernel_node_free(kernel_node *n);
/* The number of nodes in the tree. */
int ct__kernel_nodes(const kernel_node *n);
/* Gives n `count` lengthscales; new ones are copies of the first. False: no memory. */
bool ct__kernel_lengthscales(kernel_node *n, int count);
/* Whether n uses the columns of the inputs. */
bool ct__kernel_looks(const kernel_node *n);

/* Visits n and all nodes below it in the order of parameters and of the text: a node before its children,
 * left before right. */
void ct__kernel_walk(kernel_node *n, void (*visit)(kernel_node *n, void *context), void *context);

/* A kernel of this tree, which is taken over. root = NULL: a kernel with the error CT_ENOMEM. */
ct_kernel *ct__kernel_new(kernel_node *root);
/* Frees k's tree and keeps the error; returns k. */
ct_kernel *ct__kernel_poison(ct_kernel *k, ct_status status, const char *format, ...) CT_PRINTF(3, 4);
/* Sets only the message; returns status. */
ct_status ct__kernel_refuse(ct_kernel *k, ct_status status, const char *format, ...) CT_PRINTF(3, 4);
/* Called after a change of the tree: frees the program and names the parameters anew. */
void ct__kernel_changed(ct_kernel *k);

#endif
