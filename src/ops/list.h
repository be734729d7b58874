/* Every op of the library, one line each, in the order of cotangent/ops.h. A new op is a file and a line
 * here. */
#ifndef CT_OPS_LIST_H
#define CT_OPS_LIST_H

#include <cotangent/op.h>

/* clang-format off */
#define CT_OPS(M)         \
    M(neg)                \
    M(abs)                \
    M(sign)               \
    M(exp)                \
    M(expm1)              \
    M(log)                \
    M(log1p)              \
    M(sqrt)               \
    M(square)             \
    M(reciprocal)         \
    M(sin)                \
    M(cos)                \
    M(tanh)               \
    M(sigmoid)            \
    M(softplus)           \
    M(relu)               \
    M(erf)                \
    M(lgamma)             \
    M(polygamma)          \
    M(pow)                \
    M(scale)              \
    M(shift)              \
    M(clamp)              \
    M(cast)               \
    M(add)                \
    M(sub)                \
    M(mul)                \
    M(div)                \
    M(maximum)            \
    M(minimum)            \
    M(less)               \
    M(equal)              \
    M(where)              \
    M(sum)                \
    M(mean)               \
    M(max)                \
    M(logsumexp)          \
    M(sum_to)             \
    M(reshape)            \
    M(t)                  \
    M(permute)            \
    M(slice)              \
    M(unslice)            \
    M(concat)             \
    M(broadcast_to)       \
    M(squeeze)            \
    M(unsqueeze)          \
    M(gather)             \
    M(scatter_add)        \
    M(group_by)           \
    M(gather_matmul)      \
    M(matmul)             \
    M(blockdiag_linear)   \
    M(diag)               \
    M(diag_embed)         \
    M(add_diag)           \
    M(tril)               \
    M(triu)               \
    M(trace)              \
    M(cholesky)           \
    M(tri_solve)          \
    M(cholesky_solve)     \
    M(cholesky_logdet)    \
    M(inverse)            \
    M(inverse_spd)        \
    M(inverse_cols)       \
    M(inverse_rows)       \
    M(lu)                 \
    M(solve)              \
    M(slogdet)            \
    M(logdet)             \
    M(inv_quad_logdet)    \
    M(lstsq)              \
    M(ridge_solve)        \
    M(sqdist)             \
    M(mse)                \
    M(huber)              \
    M(gaussian_nll)       \
    M(softmax_cross_entropy) \
    M(mvn_logpdf)
/* clang-format on */

#define CT__DECLARE(name) extern const ct_op ct_op_##name;
CT_OPS(CT__DECLARE)
#undef CT__DECLARE

#endif
