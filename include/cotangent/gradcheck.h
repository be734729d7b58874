/* Checking a backward rule against finite differences. */
#ifndef COTANGENT_GRADCHECK_H
#define COTANGENT_GRADCHECK_H

#include <cotangent/op.h>

CT_BEGIN_DECLS

/* Zero-initialise for the defaults. */
typedef struct ct_gradcheck_options {
    /* Relative step of the central difference; 0: chosen by Richardson's table [Ridders 1982]. */
    double step;
    /* Accepted error, relative to the size of the terms; 0: 1e-6 for f64, 2e-2 for f32. */
    double tolerance;
    uint64_t seed;  /* of the random directions and cotangents */
    int first_only; /* 1: skip the second order */
    /* The full Jacobian is checked if inputs × outputs <= this; 0: 4096. */
    int64_t jacobian;
} ct_gradcheck_options;

/* Checks op at in[0..n):
 *     1. the directional derivative against <x_bar, dx> with a random cotangent, for each floating input
 *        alone and for all together;
 *     2. the forward rule, if the op has one, against the backward rule;
 *     3. every entry of the Jacobian, if it is small;
 *     4. the same for the gradient itself (second order), and the symmetry of the second derivative. This
 *        finds a rule that is right at these inputs by chance, such as a forgotten transpose at symmetric
 *        matrices.
 * The bit mask `symmetric` names inputs that are perturbed symmetrically and whose cotangents must be
 * symmetric. Inputs of dtype i64 are constants. With f32 inputs the checks run in f64; then the f32 gradients
 * are compared with the f64 ones entry by entry, and `tolerance` is for that comparison. An op that refuses
 * f64 is checked by differences in f32. Writes a report to report[0..size) (NULL, 0: none) with one line for
 * each check and its worst entry. Returns CT_OK if all checks agree, CT_ENUMERIC if one does not, or the
 * error of the op itself; ct_message of the device has the details. */
CT_API ct_status ct_gradcheck(const ct_op *op, ct_tensor *const *in, int n, const void *attr,
                              size_t attr_size, uint64_t symmetric, const ct_gradcheck_options *options,
                              char *report, size_t size);

/* Runs ct_gradcheck on f64 inputs drawn by the op's own `sample`, for every variant, at sizes 1, 3 and 5,
 * with and without a batch dimension. */
CT_API ct_status ct_gradcheck_op(ct_device *device, const ct_op *op, const ct_gradcheck_options *options,
                                 char *report, size_t size);

CT_END_DECLS
#endif
