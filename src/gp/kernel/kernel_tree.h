/* The internals of a kernel; kernel_tree.c has the functions that the other kernel*.c use. */
#ifndef CT_GP_KERNEL_TREE_H
#define CT_GP_KERNEL_TREE_H

#include <cotangent/gp/column.h>
#include <cotangent/gp/kernel.h>

#include <stdarg.h>

/* A kernel with more nodes is refused, which bounds the recursion depth. */
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
    int degree; /* the default degree or rank; 0: none */
    int operands;
} kernel_kind;

extern const kernel_kind ct__kernel_kinds[CT_COV_CODES];

typedef struct kernel_node {
    ct_cov_code code;
    int degree; /* for CT_COV_INDEX the rank */
    int levels; /* for CT_COV_INDEX; 0: not known yet */
    bool ard;
    int number;        /* 1 for the first node of its code, 2 for the second, ...; 0 before they are named */
    int n_dims, *dims; /* owned; active columns in the user's order; NULL: all */
    int n_param, n_length;
    ct_param *param; /* owned; the lengthscales, then the extra parameter; for CT_COV_INDEX W, then κ */
} kernel_node;

struct ct_kernel {
    ct_status status;
    char message[512];
    /* The tree in prefix order, which is the order of the text and of the parameters: an operator, then its
     * operands from left to right. No nodes if status is not CT_OK. */
    kernel_node *node;
    int nodes;
    ct_cov_program *program; /* NULL before bind */
};

/* Makes room for `count` nodes before node `at`, which the caller must set. NULL: no memory. */
kernel_node *ct__kernel_room(ct_kernel *k, int at, int count);
/* Inserts a node before node `at`, with parameters at their defaults. NULL: no memory, and the tree may only
 * be dropped. */
kernel_node *ct__kernel_insert(ct_kernel *k, int at, ct_cov_code code);
/* Gives n `count` lengthscales; new ones are copies of the first. False: no memory. */
bool ct__kernel_lengthscales(kernel_node *n, int count);
/* Sets the levels of n, a CT_COV_INDEX, with parameters at their start values. False: no memory. */
bool ct__kernel_levels(kernel_node *n, int levels);
/* The fault of this number of levels (0 is valid) with this rank; NULL: none. */
const char *ct__kernel_levels_fault(int64_t levels, int rank);
/* Gives n a copy of `dims` as its active columns. False: no memory. */
bool ct__kernel_dims(kernel_node *n, const int *dims, int count);
/* If some of the d columns are categories, gives each profile without active columns those of its kind:
 * `category` and `index` get the categories, all others the rest. `index` also gets the levels of its column.
 * Not for a bound kernel. */
ct_status ct__kernel_choose_columns(ct_kernel *k, const ct_column *columns, int64_t d);
/* Whether n depends on input columns. */
static inline bool ct__kernel_reads_inputs(const kernel_node *n)
{
    return n->code < CT_COV_PROFILES || n->code == CT_COV_INDEX;
}
/* The node of parameter i, which becomes its index there; NULL: there is none (kernel_params.c). */
const kernel_node *ct__kernel_node_of(const ct_kernel *k, int64_t *i);
/* The last operand of an operator. */
const kernel_node *ct__kernel_right(const kernel_node *n);

/* Sets the message only; returns `status`. */
ct_status ct__kernel_refuse(ct_kernel *k, ct_status status, const char *format, ...) CT_PRINTF(3, 4);
/* Called after a change of the tree: frees the program and renames the parameters. If `status` is an error,
 * with the message of ct__kernel_refuse, k keeps it and loses its tree. Returns k. */
ct_kernel *ct__kernel_changed(ct_kernel *k, ct_status status);

#endif
