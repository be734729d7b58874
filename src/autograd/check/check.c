#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/rule.h"

struct ct__check_block {
    struct ct__check_block *next;
    size_t bytes;
    double data[];
};

bool ct__check_fail(ct__check *k, ct_status status)
{
    if (k->status == CT_OK) k->status = status != CT_OK ? status : CT_EINVAL;
    return false;
}

/* Makes the tape's error the check's, and its message the device's. */
static bool fail_as_tape(ct__check *k)
{
    return ct__check_fail(k, ct__fail(k->device, ct_tape_status(k->tape), "%s", ct_tape_message(k->tape)));
}

double *ct__check_numbers(ct__check *k, int64_t n)
{
    if (k->status != CT_OK) return NULL;
    size_t bytes = sizeof(struct ct__check_block) + (size_t)(n > 0 ? n : 1) * sizeof(double);
    struct ct__check_block *block = n < INT64_MAX / 16 ? ct__host_alloc(k->device, bytes) : NULL;
    if (!block) {
        ct__check_fail(k, ct__fail(k->device, CT_ENOMEM, "gradcheck of %s: no memory for %lld numbers",
                                   k->op->name, (long long)n));
        return NULL;
    }
    memset(block, 0, bytes);
    *block = (struct ct__check_block){ .next = k->blocks, .bytes = bytes };
    k->blocks = block;
    return block->data;
}

/* -- between host doubles and tensors -------------------------------------------------------------------- */

static bool fetch(ct__check *k, ct_tensor *t, double *out)
{
    ct_tensor *wide = ct_tensor_dtype(t) == CT_F64 ? ct_retain(t) : ct_tensor_cast(t, CT_F64);
    ct_status status = ct_last_status(k->device);
    if (wide) status = ct_read(wide, out, (size_t)ct_tensor_count(wide) * sizeof *out);
    ct_release(wide);
    return (wide && status == CT_OK) || ct__check_fail(k, status);
}

/* A new tensor; NULL if the check has failed. */
static ct_tensor *tensor_of(ct__check *k, const double *data, ct_shape shape, ct_dtype dtype)
{
    ct_tensor *wide = ct_from(k->device, CT_F64, shape, data);
    ct_tensor *t = wide && dtype != CT_F64 ? ct_tensor_cast(wide, dtype) : ct_retain(wide);
    ct_release(wide);
    if (!t) ct__check_fail(k, ct_last_status(k->device));
    return t;
}

static ct_var leaf_of(ct__check *k, const double *data, ct_shape shape, ct_dtype dtype)
{
    ct_tensor *t = tensor_of(k, data, shape, dtype);
    ct_var v = t ? ct_leaf(k->tape, t) : (ct_var){ 0 };
    ct_release(t);
    return v;
}

/* -- outputs --------------------------------------------------------------------------------------------- */

/* The number of outputs without those of ct_save_for_vjp. */
static int output_count(ct_var first)
{
    const ct_node *node = ct__node(first);
    int n = node && node->part == 0 && node->n_out > 1 ? node->n_out : 1;
    while (n > 1 && node[n - 1].flags & NODE_RULE) n--;
    return n;
}

static ct_var output(ct_var first, int o) { return o == 0 ? first : ct_output(first, o); }

/* -- evaluations ----------------------------------------------------------------------------------------- */

/* Resets the tape and applies the op at x: the leaves in leaf[0..n_leaves), constants where leaf is NULL,
 * and output 0 in y. */
static bool apply(ct__check *k, const double *x, ct_var *leaf, ct_var *y)
{
    if (k->status != CT_OK) return false;
    ct_var v[CT_MAX_INPUTS];
    ct_tape_reset(k->tape);
    for (int i = 0; i < k->n; i++) {
        if (x && k->floating[i]) {
            ct_dtype dtype = ct_tensor_dtype(k->in[i]);
            ct_release(k->in[i]);
            k->in[i] = tensor_of(k, x + k->offset[i], k->shape[i], dtype);
            if (!k->in[i]) return false;
        }
        v[i] = leaf && k->floating[i] ? ct_leaf(k->tape, k->in[i]) : ct_constant(k->tape, k->in[i]);
        if (leaf && k->floating[i]) *leaf++ = v[i];
    }
    *y = ct_apply_on(k->tape, k->op, v, k->n, k->attr, k->attr_size);
    return true;
}

static bool tape_fine(ct__check *k)
{
    ct_status status = ct_tape_status(k->tape);
    return status == CT_OK || status == CT_ENUMERIC || fail_as_tape(k);
}

static bool read_value(ct__check *k, ct_var v, double *out)
{
    ct_tensor *t = ct_value(v);
    return t ? fetch(k, t, out) : fail_as_tape(k);
}

bool ct__check_evaluate(ct__check *k, const double *x, double *y)
{
    ct_var first;
    if (!apply(k, x, NULL, &first) || !tape_fine(k)) return false;
    for (int o = 0; o < k->n_out; o++) {
        if (!read_value(k, output(first, o), y + k->out_offset[o])) return false;
    }
    return true;
}

/* sum[0..n) += the values of v */
static bool add(ct__check *k, ct_var v, double *sum, int64_t n)
{
    if (!read_value(k, v, k->work)) return false;
    for (int64_t e = 0; e < n; e++) sum[e] += k->work[e];
    return true;
}

/* The same for the cotangents of all leaves. */
static bool add_up(ct__check *k, const ct_var *bar, double *sum)
{
    for (int j = 0; j < k->n_leaves; j++) {
        int i = k->leaf[j];
        const ct_shape shape = ct_var_shape(bar[j]);
        if (ct_value(bar[j]) && !ct_shape_equal(shape, k->shape[i])) {
            char got[96], wanted[96];
            return ct__check_fail(k, ct__fail(k->device, CT_ESHAPE,
                                              "gradcheck of %s: the cotangent of input %d is %s, not %s",
                                              k->op->name, i, ct__shape_text(shape, got, sizeof got),
                                              ct__shape_text(k->shape[i], wanted, sizeof wanted)));
        }
        if (!add(k, bar[j], sum + k->offset[i], k->count[i])) return false;
    }
    return true;
}

bool ct__check_gradient(ct__check *k, const double *x, const double *c, double *bar)
{
    ct_var leaf[CT_MAX_INPUTS], x_bar[CT_MAX_INPUTS], first;
    if (!apply(k, x, leaf, &first)) return false;
    memset(bar, 0, (size_t)k->N * sizeof *bar);
    for (int o = 0; o < k->n_out; o++) {
        ct_var y = output(first, o);
        if (!ct_var_needs_grad(y)) continue;
        ct_var y_bar = ct_stop_gradient(leaf_of(k, c + k->out_offset[o], k->out_shape[o], k->out_dtype[o]));
        ct_grad(y, y_bar, leaf, x_bar, k->n_leaves, CT_GRAD_KEEP);
        if (!tape_fine(k) || !add_up(k, x_bar, bar)) return false;
    }
    return tape_fine(k);
}

bool ct__check_forward(ct__check *k, const double *x, const double *d, double *y_dot)
{
    ct_var leaf[CT_MAX_INPUTS], first;
    if (!apply(k, x, leaf, &first) || !tape_fine(k)) return false;
    ct__sweep s = { .tape = k->tape, .hi = k->tape->n - 1, .targeted = true };
    if (!ct__sweep_open(&s)) return tape_fine(k);
    for (int j = 0; j < k->n_leaves; j++) {
        const int i = k->leaf[j];
        ct_var dot = leaf_of(k, d + k->offset[i], k->shape[i], ct_tensor_dtype(k->in[i]));
        if (ct__node(dot)) ct__arrive(&s, leaf[j].index, dot);
    }
    for (int o = 0; o < k->n_out; o++) ct__slot_of(&s, first.index + (uint32_t)o)->wanted = true;
    if (!k->tape->status) ct__run_rule(&s, first.index, k->op->jvp);
    bool ok = tape_fine(k);
    for (int o = 0; ok && o < k->n_out; o++)
        ok = read_value(k, ct__bar_of(&s, first.index + (uint32_t)o), y_dot + k->out_offset[o]);
    ct__sweep_close(&s);
    return ok;
}

bool ct__check_second(ct__check *k, const double *x, const double *c, const double *v, double *h_x,
                      double *h_c)
{
    ct_var leaf[CT_MAX_INPUTS + 1], x_bar[CT_MAX_INPUTS], h[CT_MAX_INPUTS + 1], first;
    if (!apply(k, x, leaf, &first)) return false;
    const int m = k->n_leaves;
    memset(h_x, 0, (size_t)k->N * sizeof *h_x);
    memset(h_c, 0, (size_t)k->M * sizeof *h_c);
    for (int o = 0; o < k->n_out; o++) {
        ct_var y = output(first, o);
        if (!ct_var_needs_grad(y)) continue;
        leaf[m] = leaf_of(k, c + k->out_offset[o], k->out_shape[o], k->out_dtype[o]);
        ct_grad(y, leaf[m], leaf, x_bar, m, CT_GRAD_RECORD);
        for (int j = 0; j < m; j++) {
            const int i = k->leaf[j];
            ct_var bar = x_bar[j];
            if (!ct_var_needs_grad(bar)) continue;
            ct_var direction = ct_stop_gradient(leaf_of(k, v + k->offset[i], k->shape[i], ct_var_dtype(bar)));
            ct_grad(bar, direction, leaf, h, m + 1, CT_GRAD_KEEP);
            if (!tape_fine(k) || !add_up(k, h, h_x)) return false;
            if (!add(k, h[m], h_c + k->out_offset[o], ct_shape_count(k->out_shape[o]))) return false;
        }
    }
    return tape_fine(k);
}

/* -- opening --------------------------------------------------------------------------------------------- */

static bool take_inputs(ct__check *k, ct_tensor *const *in, ct_dtype dtype)
{
    for (int i = 0; i < k->n; i++) {
        k->floating[i] = ct_tensor_dtype(in[i]) != CT_I64;
        if (k->floating[i]) k->leaf[k->n_leaves++] = i;
        k->shape[i] = ct_tensor_shape(in[i]);
        k->count[i] = k->floating[i] ? ct_tensor_count(in[i]) : 0;
        k->offset[i] = k->N;
        k->N += k->count[i];
        k->in[i] = k->floating[i] ? ct_tensor_cast(in[i], dtype) : ct_tensor_clone(in[i]);
        if (!k->in[i]) return ct__check_fail(k, ct_last_status(k->device));
        if (k->floating[i] && dtype == CT_F32) k->eps = FLT_EPSILON;
    }
    return true;
}

/* Applies the op once, to take the outputs' shapes and to see whether a gradient flows. */
static bool take_outputs(ct__check *k)
{
    ct_var leaf[CT_MAX_INPUTS], first;
    if (!apply(k, NULL, leaf, &first)) return false;
    if (ct_tape_status(k->tape) != CT_OK) return fail_as_tape(k);
    k->n_out = output_count(first);
    for (int o = 0; o < k->n_out; o++) {
        ct_var y = output(first, o);
        k->out_shape[o] = ct_var_shape(y);
        k->out_dtype[o] = ct_var_dtype(y);
        if (ct__is_half(k->out_dtype[o]))
            return ct__check_fail(
                k, ct__fail(k->device, CT_EDTYPE,
                            "gradcheck of %s: output %d is %s, too coarse for finite differences: "
                            "check it in f64",
                            k->op->name, o, ct_dtype_name(k->out_dtype[o])));
        k->out_offset[o + 1] = k->out_offset[o] + ct_shape_count(k->out_shape[o]);
        k->differentiable = k->differentiable || ct_var_needs_grad(y);
        if (k->out_dtype[o] == CT_F32) k->eps = FLT_EPSILON;
    }
    k->M = k->out_offset[k->n_out];
    k->x = ct__check_numbers(k, k->N);
    k->y = ct__check_numbers(k, k->M);
    k->work = ct__check_numbers(k, k->M > k->N ? k->M : k->N);
    if (k->status != CT_OK) return false;
    for (int i = 0; i < k->n; i++) {
        double *x = k->x + k->offset[i], squares = 0;
        if (k->floating[i] && !fetch(k, k->in[i], x)) return false;
        for (int64_t e = 0; e < k->count[i]; e++) squares += x[e] * x[e];
        k->scale[i] = squares > 0 && isfinite(squares) ? sqrt(squares / (double)k->count[i]) : 1;
    }
    return ct__check_evaluate(k, k->x, k->y);
}

ct_status ct__check_open(ct__check *k, const ct__job *job, ct_dtype dtype)
{
    *k = (ct__check){ .device = ct_tensor_device(job->in[0]),
                      .op = job->op,
                      .attr = job->attr,
                      .attr_size = job->attr_size,
                      .symmetric = job->symmetric,
                      .n = job->n,
                      .eps = DBL_EPSILON };
    if (job->options) k->options = *job->options;
    k->tape = ct_tape_new(k->device);
    if (!k->tape)
        ct__check_fail(k, ct_last_status(k->device));
    else if (take_inputs(k, job->in, dtype))
        take_outputs(k);
    return k->status;
}

void ct__check_close(ct__check *k)
{
    ct_tape_free(k->tape);
    for (int i = 0; i < k->n; i++) ct_release(k->in[i]);
    while (k->blocks) {
        struct ct__check_block *block = k->blocks;
        k->blocks = block->next;
        ct__host_free(k->device, block, block->bytes);
    }
}
