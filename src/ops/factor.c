/* The factors of a constant matrix, kept across tapes: X = A⁻¹ B without another factorisation. */
#include "support.h"

struct ct_factor {
    ct_device *device;
    ct_tensor *A, *order; /* NULL for Cholesky */
    ct_tensor *factor;    /* L, or LU          */
};

static void keep(ct_factor *f, ct_tape *tape, ct_tensor *A, bool symmetric)
{
    ct_var order, a = ct_constant(tape, A);
    if (symmetric) {
        f->factor = ct_retain(ct_value(ct_cholesky(a)));
        return;
    }
    f->factor = ct_retain(ct_value(ct_lu(a, &order)));
    f->order = ct_retain(ct_value(order));
    f->A = ct_retain(A);
}

ct_factor *ct_factor_new(ct_tensor *A, bool symmetric)
{
    ct_device *device = ct_tensor_device(A);
    ct_tape *tape = ct_tape_new(device);
    ct_factor *f = tape ? ct__host_alloc(device, sizeof *f) : NULL;
    if (f) {
        *f = (ct_factor){ .device = ct_device_retain(device) };
        keep(f, tape, A, symmetric);
        ct_status status = ct_tape_status(tape);
        if (status) {
            ct_device_fail(device, status, "ct_factor_new: %s", ct_tape_reason(tape));
            ct_factor_free(f);
            f = NULL;
        }
    }
    ct_tape_free(tape);
    return f;
}

void ct_factor_free(ct_factor *f)
{
    if (!f) return;
    ct_device *device = f->device;
    ct_release(f->A);
    ct_release(f->order);
    ct_release(f->factor);
    ct__host_free(device, f, sizeof *f);
    ct_device_close(device);
}

ct_var ct_factor_solve(const ct_factor *f, ct_var B)
{
    if (!B.tape) return ct_none();
    if (!f) {
        ct_tape_fail(B.tape, CT_EINVAL, "ct_factor_solve: the factor is NULL");
        return ct__poisoned(B.tape);
    }
    ct_var factor = ct_constant(B.tape, f->factor);
    if (!f->order) return ct_cholesky_solve(factor, B);
    return ct_lu_solve(ct_constant(B.tape, f->A), factor, ct_constant(B.tape, f->order), B, 0);
}
