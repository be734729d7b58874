/* Jacobians and Hessians: blocks of columns by forward sweeps, or row by row by backward sweeps. */
#include "jvp.h"

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

/* The most tangents at a time: each holds as much as the values between x and y. */
enum { BLOCK = 32 };

/* Lines j, j + 1, ... j + count - 1 of a matrix along a dimension, in this shape. */
static ct_tensor *lines_of(const ct_tensor *A, int dim, int64_t j, int64_t count, ct_shape shape)
{
    ct_tensor *slice = ct_tensor_slice(A, dim, j, j + count, 1),
              *shaped = slice ? ct_tensor_reshape(slice, shape) : NULL;
    ct_release(slice);
    return shaped;
}

/* The shape of `count` values like v, one after the other. */
static ct_shape several(ct_var v, int64_t count)
{
    const ct_shape own = ct_var_shape(v);
    ct_shape shape = { .dim = { count }, .ndim = own.ndim + 1 };
    memcpy(shape.dim + 1, own.dim, sizeof own.dim - sizeof *own.dim);
    return shape;
}

/* Rows j, j + 1, ... of `to` = the elements of `count` values, which v holds, and then v is forgotten. */
static void store(ct_var v, ct_tensor *to, int64_t j, int64_t count, uint32_t n, ct_arena mark)
{
    ct_tape *tape = v.tape;
    const ct_node *node = ct__node(v);
    const ct_shape shape = ct_shape2(count, ct_tensor_dim(to, 1));
    ct_tensor *rows = node ? lines_of(to, 0, j, count, shape) : NULL;
    ct_tensor *from = node ? ct_tensor_reshape(node->value, shape) : NULL;
    if (!rows || !from || ct_copy(from, rows)) ct__tape_fail_device(tape, "a Jacobian");
    ct_release(rows);
    ct_release(from);
    ct__truncate(tape, n, mark);
}

void ct__jacobian_forward(ct_var y, ct_var x, const ct_tensor *directions, ct_tensor *JV)
{
    ct_tape *tape = y.tape;
    const int64_t count = ct_tensor_dim(directions, 0);
    for (int64_t j = 0; j < count && !tape->status; j += BLOCK) {
        const uint32_t n = tape->n;
        const ct_arena mark = tape->arena;
        const int64_t some = ct__min(BLOCK, count - j);
        ct_tensor *v = lines_of(directions, 0, j, some, several(x, some));
        ct_var x_dot = ct__push_value(tape, v, 0, "a block of tangents"), y_dot;
        ct_jvp(&y, &y_dot, 1, &x, &x_dot, 1, CT_GRAD_FREE);
        store(y_dot, JV, j, some, n, mark);
    }
}

void ct__jacobian_backward(ct_var y, ct_var x, const ct_tensor *directions, ct_tensor *JV)
{
    ct_tape *tape = y.tape;
    for (int64_t j = 0; j < ct_tensor_dim(directions, 0) && !tape->status; j++) {
        const uint32_t n = tape->n;
        const ct_arena mark = tape->arena;
        ct_tensor *u = lines_of(directions, 0, j, 1, ct_var_shape(y));
        ct_var y_bar = ct__push_value(tape, u, 0, "a unit vector"), x_bar;
        ct_grad(y, y_bar, &x, &x_bar, 1, CT_GRAD_KEEP);
        store(x_bar, JV, j, 1, n, mark);
    }
}

bool ct__jacobian_extents(const char *call, ct_var y, ct_var x, int64_t *M, int64_t *N)
{
    ct_tape *tape = y.tape;
    if (tape && x.tape != tape) ct_tape_fail(tape, CT_EINVAL, "%s: x is poisoned or on another tape", call);
    if (!tape || !ct__node(y) || !ct__node(x)) return false;
    *M = ct_tensor_count(ct_value(y)), *N = ct_tensor_count(ct_value(x));
    return true;
}

ct_var ct_jacobian(ct_var y, ct_var x)
{
    ct_tape *tape = y.tape;
    int64_t M, N;
    if (!ct__jacobian_extents("ct_jacobian", y, x, &M, &N)) return ct__poisoned(tape);
    const bool forward = N <= M;
    ct_tensor *J = ct_empty(tape->device, ct_var_dtype(y), forward ? ct_shape2(N, M) : ct_shape2(M, N)),
              *I = identity_of(tape->device, ct_var_dtype(forward ? x : y), forward ? N : M), *columns = NULL,
              *result = NULL;
    if (!J || !I) ct__tape_fail_device(tape, "a Jacobian");
    if (!tape->status) (forward ? ct__jacobian_forward : ct__jacobian_backward)(y, x, I, J);
    if (!tape->status && forward) columns = ct_tensor_transpose(J);
    if (!tape->status) result = forward ? ct_tensor_clone(columns) : ct_retain(J);
    ct_release(columns);
    ct_release(I);
    ct_release(J);
    return tape->status ? ct__poisoned(tape) : ct__push_value(tape, result, 0, "a Jacobian");
}

ct_var ct_hessian(ct_var y, ct_var x)
{
    ct_var g;
    ct_grad(y, ct_none(), &x, &g, 1, CT_GRAD_RECORD);
    return ct_jacobian(g, x);
}
