#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/internal.h"

struct ct__check_block {
    struct ct__check_block *next;
    size_t bytes;
    double data[];
};

static bool fail(ct__check *k, ct_status status)
{
    if (k->status == CT_OK) k->status = status != CT_OK ? status : CT_EINVAL;
    return false;
}

/* The tape's error becomes the check's, and the device's message. */
static bool fail_as_tape(ct__check *k)
{
    return fail(k, ct__fail(k->device, ct_tape_status(k->tape), "%s", ct_tape_message(k->tape)));
}

double *ct__check_numbers(ct__check *k, int64_t n)
{
    if (k->status != CT_OK) return NULL;
    size_t bytes = sizeof(struct ct__check_block) + (size_t)(n > 0 ? n : 1) * sizeof(double);
    struct ct__check_block *block = n < INT64_MAX / 16 ? ct__host_alloc(k->device, bytes) : NULL;
    if (!block) {
        fail(k, ct__fail(k->device, CT_ENOMEM, "gradcheck of %s: no memory for %lld numbers", k->op->name,
                         (long long)n));
        return NULL;
    }
    memset(block, 0, bytes);
    *block = (struct ct__check_block){ .next = k->blocks, .bytes = bytes };
    k->blocks = block;
    return block->data;
}

/* -- between host doubles and tensors -------------------------------------------------------------------- */

static bool fetch(ct__check *k, const ct_tensor *t, double *out)
{
    int64_t n = ct_tensor_count(t);
    ct_status status;
    switch (ct_tensor_dtype(t)) {
    case CT_F64: status = ct_read(t, out, (size_t)n * sizeof(double)); break;
    case CT_F32: {
        float *x = k->staging;
        status = ct_read(t, x, (size_t)n * sizeof(float));
        for (int64_t i = 0; i < n && status == CT_OK; i++) out[i] = x[i];
        break;
    }
    default: {
        int64_t *x = k->staging;
        status = ct_read(t, x, (size_t)n * sizeof(int64_t));
        for (int64_t i = 0; i < n && status == CT_OK; i++) out[i] = (double)x[i];
    }
    }
    return status == CT_OK || fail(k, status);
}

/* data[0..count(t)) in t's dtype: itself, or the staging area. */
static const void *rounded(ct__check *k, ct_dtype dtype, const double *data, int64_t n)
{
    if (dtype == CT_F64) return data;
    float *x = k->staging;
    for (int64_t i = 0; i < n; i++) x[i] = (float)data[i];
    return x;
}

static bool store(ct__check *k, const double *data, ct_tensor *t)
{
    int64_t n = ct_tensor_count(t);
    ct_status status =
        ct_write(t, rounded(k, ct_tensor_dtype(t), data, n), (size_t)n * ct_dtype_size(ct_tensor_dtype(t)));
    return status == CT_OK || fail(k, status);
}

static ct_var leaf_of(ct__check *k, const double *data, ct_shape shape, ct_dtype dtype)
{
    ct_tensor *t = ct_from(k->device, dtype, shape, rounded(k, dtype, data, ct_shape_count(shape)));
    if (!t) fail(k, ct_last_status(k->device));
    ct_var v = t ? ct_leaf(k->tape, t) : (ct_var){ 0 };
    ct_release(t);
    return v;
}

/* -- outputs --------------------------------------------------------------------------------------------- */

/* Without those for the rule. */
static int output_count(ct_var first)
{
    const ct_node *node = ct__node(first);
    int n = node && node->part == 0 && node->n_out > 1 ? node->n_out : 1;
    while (n > 1 && node[n - 1].flags & NODE_RULE) n--;
    return n;
}

static ct_var output(ct_var first, int o) { return o == 0 ? first : ct_output(first, o); }

/* -- evaluations ----------------------------------------------------------------------------------------- */

/* Resets the tape and applies the op at x: leaves in v[0..n), output 0 returned. */
static bool apply(ct__check *k, const double *x, bool leaves, ct_var *v, ct_var *y)
{
    if (k->status != CT_OK) return false;
    ct_tape_reset(k->tape);
    for (int i = 0; i < k->n; i++) {
        if (x && k->floating[i] && !store(k, x + k->offset[i], k->in[i])) return false;
        v[i] = leaves && k->floating[i] ? ct_leaf(k->tape, k->in[i]) : ct_constant(k->tape, k->in[i]);
    }
    *y = ct_apply_on(k->tape, k->op, v, k->n, k->attr, k->attr_size);
    return true;
}

static bool tape_fine(ct__check *k)
{
    ct_status status = ct_tape_status(k->tape);
    return status == CT_OK || status == CT_ENUMERIC || fail_as_tape(k);
}

bool ct__check_evaluate(ct__check *k, const double *x, double *y)
{
    ct_var v[CT_MAX_INPUTS], first;
    if (!apply(k, x, false, v, &first) || !tape_fine(k)) return false;
    for (int o = 0; o < k->n_out; o++) {
        ct_tensor *t = ct_value(output(first, o));
        if (!t) return fail_as_tape(k);
        if (!fetch(k, t, y + k->out_offset[o])) return false;
    }
    return true;
}

/* sum[i] += the values of bar[i] */
static bool add_up(ct__check *k, const ct_var *bar, double *work, double *sum)
{
    for (int i = 0, j = 0; i < k->n; i++) {
        if (!k->floating[i]) continue;
        ct_tensor *t = ct_value(bar[j++]);
        if (!t) return fail_as_tape(k);
        if (!ct_shape_equal(ct_tensor_shape(t), k->shape[i])) {
            char got[96], wanted[96];
            return fail(k, ct__fail(k->device, CT_ESHAPE,
                                    "gradcheck of %s: the cotangent of input %d is %s, not %s", k->op->name,
                                    i, ct__shape_text(ct_tensor_shape(t), got, sizeof got),
                                    ct__shape_text(k->shape[i], wanted, sizeof wanted)));
        }
        if (!fetch(k, t, work)) return false;
        for (int64_t e = 0; e < k->count[i]; e++) sum[k->offset[i] + e] += work[e];
    }
    return true;
}

/* The floating inputs among v, in order. */
static int leaves_of(const ct__check *k, const ct_var *v, ct_var *leaf)
{
    int m = 0;
    for (int i = 0; i < k->n; i++)
        if (k->floating[i]) leaf[m++] = v[i];
    return m;
}

bool ct__check_gradient(ct__check *k, const double *x, const double *c, double *bar)
{
    ct_var v[CT_MAX_INPUTS], leaf[CT_MAX_INPUTS], x_bar[CT_MAX_INPUTS], first;
    if (!apply(k, x, true, v, &first)) return false;
    int m = leaves_of(k, v, leaf);
    memset(bar, 0, (size_t)k->N * sizeof *bar);
    for (int o = 0; o < k->n_out; o++) {
        ct_var y = output(first, o);
        if (!ct_var_needs_grad(y)) continue;
        ct_var y_bar = ct_stop_gradient(leaf_of(k, c + k->out_offset[o], k->out_shape[o], k->out_dtype[o]));
        ct_grad(y, y_bar, leaf, x_bar, m, CT_GRAD_KEEP);
        if (!tape_fine(k) || !add_up(k, x_bar, k->work, bar)) return false;
    }
    return tape_fine(k);
}

bool ct__check_second(ct__check *k, const double *x, const double *c, const double *v, double *h_x,
                      double *h_c)
{
    ct_var in[CT_MAX_INPUTS], leaf[CT_MAX_INPUTS + 1], x_bar[CT_MAX_INPUTS], h[CT_MAX_INPUTS + 1], first;
    if (!apply(k, x, true, in, &first)) return false;
    int m = leaves_of(k, in, leaf);
    memset(h_x, 0, (size_t)k->N * sizeof *h_x);
    memset(h_c, 0, (size_t)k->M * sizeof *h_c);
    for (int o = 0; o < k->n_out; o++) {
        ct_var y = output(first, o);
        if (!ct_var_needs_grad(y)) continue;
        leaf[m] = leaf_of(k, c + k->out_offset[o], k->out_shape[o], k->out_dtype[o]);
        ct_grad(y, leaf[m], leaf, x_bar, m, CT_GRAD_RECORD);
        for (int i = 0, j = 0; i < k->n; i++) {
            if (!k->floating[i]) continue;
            ct_var bar = x_bar[j++];
            if (!ct_var_needs_grad(bar)) continue;
            ct_var direction = ct_stop_gradient(leaf_of(k, v + k->offset[i], k->shape[i], ct_var_dtype(bar)));
            ct_grad(bar, direction, leaf, h, m + 1, CT_GRAD_KEEP);
            if (!tape_fine(k) || !add_up(k, h, k->work, h_x)) return false;
            ct_tensor *t = ct_value(h[m]);
            if (!t) return fail_as_tape(k);
            if (!fetch(k, t, k->work)) return false;
            for (int64_t e = 0; e < ct_tensor_count(t); e++) h_c[k->out_offset[o] + e] += k->work[e];
        }
    }
    return tape_fine(k);
}

/* -- opening --------------------------------------------------------------------------------------------- */

static bool take_inputs(ct__check *k, ct_tensor *const *in, ct_dtype dtype)
{
    for (int i = 0; i < k->n; i++) {
        k->floating[i] = ct_tensor_dtype(in[i]) != CT_I64;
        k->shape[i] = ct_tensor_shape(in[i]);
        k->count[i] = k->floating[i] ? ct_tensor_count(in[i]) : 0;
        k->offset[i] = k->N;
        k->N += k->count[i];
        k->in[i] = k->floating[i] ? ct_tensor_cast(in[i], dtype) : ct_tensor_clone(in[i]);
        if (!k->in[i]) return fail(k, ct_last_status(k->device));
        if (k->floating[i] && dtype == CT_F32) k->eps = FLT_EPSILON;
    }
    return true;
}

/* Applies the op once: the outputs' shapes, and whether a gradient flows. */
static bool take_outputs(ct__check *k)
{
    ct_var v[CT_MAX_INPUTS], first;
    if (!apply(k, NULL, true, v, &first)) return false;
    if (ct_tape_status(k->tape) != CT_OK) return fail_as_tape(k);
    k->n_out = output_count(first);
    int64_t largest = k->N;
    for (int o = 0; o < k->n_out; o++) {
        ct_var y = output(first, o);
        k->out_shape[o] = ct_var_shape(y);
        k->out_dtype[o] = ct_var_dtype(y);
        if (ct__is_half(k->out_dtype[o]))
            return fail(k, ct__fail(k->device, CT_EDTYPE,
                                    "gradcheck of %s: output %d is %s, whose rounding no difference sees "
                                    "through: check it in f64",
                                    k->op->name, o, ct_dtype_name(k->out_dtype[o])));
        k->out_offset[o + 1] = k->out_offset[o] + ct_shape_count(k->out_shape[o]);
        k->differentiable = k->differentiable || ct_var_needs_grad(y);
        if (k->out_dtype[o] == CT_F32) k->eps = FLT_EPSILON;
    }
    k->M = k->out_offset[k->n_out];
    if (k->M > largest) largest = k->M;
    k->x = ct__check_numbers(k, k->N);
    k->y = ct__check_numbers(k, k->M);
    k->staging = ct__check_numbers(k, largest);
    k->work = ct__check_numbers(k, largest);
    if (k->status != CT_OK) return false;
    for (int i = 0; i < k->n; i++) {
        if (!k->floating[i]) continue;
        double *x = k->x + k->offset[i], squares = 0;
        if (!fetch(k, k->in[i], x)) return false;
        for (int64_t e = 0; e < k->count[i]; e++) squares += x[e] * x[e];
        k->scale[i] = squares > 0 && isfinite(squares) ? sqrt(squares / (double)k->count[i]) : 1;
    }
    return ct__check_evaluate(k, k->x, k->y);
}

ct_status ct__check_open(ct__check *k, const ct_op *op, ct_tensor *const *in, int n, const void *attr,
                         size_t attr_size, uint64_t symmetric, const ct_gradcheck_options *options,
                         ct_dtype dtype)
{
    *k = (ct__check){ .device = ct_tensor_device(in[0]),
                      .op = op,
                      .attr = attr,
                      .attr_size = attr_size,
                      .symmetric = symmetric,
                      .n = n,
                      .eps = DBL_EPSILON };
    if (options) k->options = *options;
    k->tape = ct_tape_new(k->device);
    if (!k->tape)
        fail(k, ct_last_status(k->device));
    else if (take_inputs(k, in, dtype))
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

/* -- random numbers, places ------------------------------------------------------------------------------ */

void ct__check_normal(ct__check *k, uint64_t stream, double *out, int64_t n)
{
    ct_tensor *t =
        ct_rand_normal(k->device, CT_F64, ct_shape1(n), k->options.seed, ((uint64_t)1 << 32) + stream);
    if (!t || ct_read(t, out, (size_t)n * sizeof *out) != CT_OK) fail(k, ct_last_status(k->device));
    ct_release(t);
}

void ct__check_direction(ct__check *k, int which, uint64_t stream, double *out)
{
    ct__check_normal(k, stream, out, k->N);
    for (int i = 0; i < k->n; i++) {
        if (!k->floating[i]) continue;
        double *d = out + k->offset[i], factor = which < 0 || which == i ? k->scale[i] : 0;
        for (int64_t e = 0; e < k->count[i]; e++) d[e] *= factor;
        if (!(k->symmetric >> i & 1)) continue;
        int64_t n = ct_tensor_dim(k->in[i], -1);
        for (int64_t e = 0; e < k->count[i]; e++) {
            int64_t row = e / n % n, col = e % n, mirror = e + (col - row) * n + row - col;
            if (col < row) d[e] = d[mirror] = 0.5 * (d[e] + d[mirror]);
        }
    }
}

const char *ct__check_place(ct_shape shape, int64_t at, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = 0;
    if (at < 0 || ct_shape_count(shape) <= 0) return buffer;
    for (int d = 0; d < shape.ndim; d++) {
        int64_t inner = 1;
        for (int e = d + 1; e < shape.ndim; e++) inner *= shape.dim[e];
        int n = snprintf(buffer + used, size - used, "%c%lld", d ? ',' : '[',
                         (long long)(at / inner % shape.dim[d]));
        if (n < 0 || (size_t)n + 2 >= size - used) break;
        used += (size_t)n;
    }
    if (shape.ndim > 0) snprintf(buffer + used, size - used, "]");
    return buffer;
}
