/* Jacobians and Hessians: a column by a forward sweep, or a row by a backward sweep, at a time. */
#include "autograd/internal.h"

static ct_tensor *identity_of(ct_device *dev, ct_dtype dtype, int64_t n)
{
    ct_tensor *I = ct_zeros(dev, dtype, ct_shape2(n, n)), *one = ct_full(dev, dtype, ct_shape0(), 1);
    ct_tensor *diagonal = I ? ct_tensor_diagonal(I) : NULL;
    const bool filled = one && diagonal && ct_copy(one, diagonal) == CT_OK;
    ct_release(diagonal);
    ct_release(one);
    if (filled) return I;
    ct_release(I);
    return NULL;
}

/* Row or column j of a matrix, in this shape. */
static ct_tensor *line_of(const ct_tensor *A, int dim, int64_t j, ct_shape shape)
{
    ct_tensor *slice = ct_tensor_slice(A, dim, j, j + 1, 1),
              *line = slice ? ct_tensor_squeeze(slice, dim) : NULL;
    ct_tensor *shaped = line ? ct_tensor_reshape(line, shape) : NULL;
    ct_release(line);
    ct_release(slice);
    return shaped;
}

/* Line j of J = the elements of v */
static void store(ct_var v, ct_tensor *J, int dim, int64_t j)
{
    const ct_node *node = ct__node(v);
    if (!node) return;
    const ct_shape shape = ct_shape1(ct_tensor_count(node->value));
    ct_tensor *to = line_of(J, dim, j, shape), *from = ct_tensor_reshape(node->value, shape);
    if (!to || !from || ct_copy(from, to)) ct__tape_fail_device(v.tape, "a Jacobian");
    ct_release(to);
    ct_release(from);
}

/* Column j of J by a forward sweep along a unit vector, or row j by a backward sweep from one. */
static void sweep(ct_var y, ct_var x, const ct_tensor *identity, int64_t j, bool forward, ct_tensor *J)
{
    ct_tape *tape = y.tape;
    const uint32_t n = tape->n;
    const ct_arena mark = tape->arena;
    const ct_shape shape = ct_var_shape(forward ? x : y);
    ct_var unit = ct__push_value(tape, line_of(identity, 0, j, shape), 0, "a unit vector"), line;
    if (forward)
        ct_jvp(&y, &line, 1, &x, &unit, 1, CT_GRAD_FREE);
    else
        ct_grad(y, unit, &x, &line, 1, CT_GRAD_KEEP);
    store(line, J, forward ? 1 : 0, j);
    ct__truncate(tape, n, mark);
}

ct_var ct_jacobian(ct_var y, ct_var x)
{
    ct_tape *tape = y.tape;
    if (tape && x.tape != tape)
        ct_tape_fail(tape, CT_EINVAL, "ct_jacobian: x is poisoned or on another tape");
    const ct_node *of = tape ? ct__node(y) : NULL, *at = of ? ct__node(x) : NULL;
    if (!at) return ct__poisoned(tape);
    const int64_t M = ct_tensor_count(of->value), N = ct_tensor_count(at->value);
    const bool forward = N <= M;
    const ct_dtype dtype = of->value->view.dtype;
    ct_tensor *J = ct_empty(tape->device, dtype, ct_shape2(M, N));
    ct_tensor *I = identity_of(tape->device, forward ? at->value->view.dtype : dtype, forward ? N : M);
    if (!J || !I) ct__tape_fail_device(tape, "a Jacobian");
    for (int64_t j = 0; j < (forward ? N : M) && !tape->status; j++) sweep(y, x, I, j, forward, J);
    ct_release(I);
    if (!tape->status) return ct__push_value(tape, J, 0, "a Jacobian");
    ct_release(J);
    return ct__poisoned(tape);
}

ct_var ct_hessian(ct_var y, ct_var x)
{
    ct_var g;
    ct_grad(y, ct_none(), &x, &g, 1, CT_GRAD_RECORD);
    return ct_jacobian(g, x);
}
