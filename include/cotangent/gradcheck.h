/* Checking a backward rule against finite differences. */
#ifndef COTANGENT_GRADCHECK_H
#define COTANGENT_GRADCHECK_H

#include <cotangent/op.h>

CT_BEGIN_DECLS

/* Zero-initialise for the defaults. */
typedef struct ct_gradcheck_options {
    double step; /* relative step of the central difference; 0: chosen by Richardson's table [Ridders 1982] */
    double
        tolerance; /* accepted error, relative to the size of the terms; 0: 1e-6 for f64, 2e-2 for f32         */
    uint64_t
        seed; /* of the random directions and cotangents                                                  */
    int first_only; /* 1: skip the second order                                                                 */
    int64_t
        jacobian; /* the full Jacobian is checked where inputs x outputs <= this; 0: 4096                     */
} ct_gradcheck_options;

/* Checks op at in[0..n): (1) directional derivative against <x_bar, dx> with a random cotangent, for each
 * floating input alone and for all together; (2) every entry of the Jacobian where that is small; (3) the
 * same for the gradient itself (second order), and that the second derivative is symmetric: a rule that is
 * right at these inputs by chance (a transpose forgotten, at symmetric matrices) shows there. Inputs in
 * `symmetric` (a bit mask) are perturbed symmetrically, and their cotangents must be symmetric. Inputs of
 * dtype i64 are constants. f32 inputs are checked so in f64, then the f32 gradients are compared with the f64
 * ones, entry by entry; `tolerance` is for that comparison then. An op that refuses f64 is checked by
 * differences in f32. Writes a readable report to report[0..size) (NULL, 0 to do without): one line a check,
 * with the worst entry. Returns CT_OK where all agree, CT_ENUMERIC where one does not, or the error of the op
 * itself; ct_message of the device says which. */
CT_API ct_status ct_gradcheck(const ct_op *op, ct_tensor *const *in, int n, const void *attr,
                              size_t attr_size, uint64_t symmetric, const ct_gradcheck_options *options,
                              char *report, size_t size);

/* The same on f64 inputs drawn by the op's own `sample`, for every variant, at sizes 1, 3 and 5, with and
 * without a batch dimension. */
CT_API ct_status ct_gradcheck_op(ct_device *device, const ct_op *op, const ct_gradcheck_options *options,
                                 char *report, size_t size);

CT_END_DECLS
#endif
