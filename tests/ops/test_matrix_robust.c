/* Robustness, over the small matrix: bad shapes, dtypes and handles; NaN; NaN where nothing may be read;
 * exhausted memory; no allocations in the steady state; the same bits in a second run. */
#include "matrix.h"

#include "alloc.h"
#include "tensor/internal.h"

static bool floating(const point *p, int i) { return p->s.kind[i] != CT__SAMPLE_INDEX; }

/* -- bad inputs ------------------------------------------------------------------------------------------ */

/* Numbers in (½, 3/2), inside every domain; zeros for indices. */
static ct_tensor *harmless(const point *p, ct_dtype dtype, ct_shape shape)
{
    if (dtype == CT_I64) return ct_zeros(p->device, dtype, shape);
    ct_tensor *u = ct_rand_uniform(p->device, dtype, shape, 3, 0),
              *half = ct_full(p->device, dtype, shape, 0.5);
    ct_tape *tape = ct_tape_new(p->device);
    ct_tensor *sum = ct_retain(ct_value(ct_add(ct_constant(tape, u), ct_constant(tape, half))));
    ct_tape_free(tape);
    ct_release(u);
    ct_release(half);
    return sum;
}

/* The message names the op and the shapes of its inputs. */
static bool tells(const point *p, const char *message, ct_tensor *const *in)
{
    if (!strstr(message, p->op->name)) return false;
    for (int i = 0; i < p->s.n_in && i < 6; i++) {
        char text[96];
        if (!strstr(message, ct__shape_text(ct_tensor_shape(in[i]), text, sizeof text))) return false;
    }
    return true;
}

/* Checks the gradient of an accepted broadcast. */
static void check_broadcast_gradient(const point *p, ct_tensor *const *in, const char *what, int i)
{
    if (p->s.kinks) return;
    ct_gradcheck_options options = { .jacobian = 256 };
    ct_status status = ct_gradcheck(p->op, in, p->s.n_in, p->s.attr_size ? p->s.attr : NULL, p->s.attr_size,
                                    p->s.symmetric, &options, NULL, 0);
    matrix_check(p, status == CT_OK, "%s of input %d: %s", what, i, ct_message(p->device));
}

/* With input i replaced: the reference's value (a valid broadcast), or a sticky error that says what is
 * wrong. `part`: t is part of the sample, so its gradient can be checked, too. */
static void check_replaced(const point *p, int i, ct_tensor *t, bool part, const char *what)
{
    if (!matrix_check(p, t != NULL, "%s of input %d: %s", what, i, ct_message(p->device))) return;
    ct_tensor *in[CT_MAX_INPUTS];
    for (int k = 0; k < p->s.n_in; k++) in[k] = k == i ? t : p->s.in[k];
    pass r;
    pass_run(&r, p, in, p->s.n_in, UINT64_MAX, NULL, 0);
    if (r.status == CT_EINDEX &&
        strstr(r.message, "waiting for the device")) { /* found where the value is read */
        matrix_check(p, strstr(r.message, "is outside [") != NULL, "%s of input %d: %s", what, i, r.message);
    } else if (r.status == CT_ENUMERIC) {
        matrix_check(p, r.y != NULL, "%s of input %d: a failure of the numbers, but no value", what, i);
    } else if (r.status == CT_OK) {
        matrix_check(p, r.y != NULL, "%s of input %d: accepted, but without a value", what, i);
        ref_array wanted = matrix_reference(p, in);
        bool ok = r.y && ct_shape_equal(r.shape, wanted.shape);
        double *y = malloc((size_t)(wanted.n + 1) * sizeof *y);
        for (int64_t e = 0; y && e < wanted.n; e++) y[e] = (double)wanted.x[e];
        int64_t at;
        ok = ok && y && matrix_agree(r.y, y, wanted.n, 10 * matrix_tolerance(p->s.dtype), &at);
        matrix_check(p, ok, "%s of input %d: accepted, but the value is not the reference's", what, i);
        free(y);
        free(wanted.x);
        if (part && p->s.dtype == CT_F64) check_broadcast_gradient(p, in, what, i);
    } else {
        matrix_check(p, !r.y, "%s of input %d: %s, but there is a value", what, i, ct_status_name(r.status));
        matrix_check(p, tells(p, r.message, in), "%s of input %d: the message does not tell: %s", what, i,
                     r.message);
        ct_var y = ct_scalar(p->tape, CT_F64, 1);
        matrix_check(p, ct_backward(y) == r.status && isnan(ct_item(y)),
                     "%s of input %d: the error does not stick", what, i);
    }
    pass_free(&r);
    ct_release(t);
}

static void check_bad_shapes(const point *p)
{
    for (int i = 0; i < p->s.n_in; i++) {
        ct_shape shape = ct_tensor_shape(p->s.in[i]);
        ct_dtype dtype = ct_tensor_dtype(p->s.in[i]);
        if (shape.ndim > 0 && shape.dim[0] > 0) {
            ct_tensor *first = ct_tensor_slice(p->s.in[i], 0, 0, 1, 1);
            check_replaced(p, i, ct_tensor_squeeze(first, 0), true, "a dimension less");
            ct_release(first);
        }
        for (int d = 0; d < shape.ndim; d++) {
            ct_shape grown = shape;
            grown.dim[d]++;
            check_replaced(p, i, harmless(p, dtype, grown), false, "an extent more");
        }
    }
}

static void check_bad_dtypes(const point *p)
{
    for (int i = 0; i < p->s.n_in; i++)
        for (ct_dtype dtype = CT_F64; dtype <= CT_I64; dtype++) {
            if (dtype == ct_tensor_dtype(p->s.in[i])) continue;
            ct_tensor *in[CT_MAX_INPUTS];
            for (int k = 0; k < p->s.n_in; k++) in[k] = p->s.in[k];
            in[i] = ct_tensor_cast(p->s.in[i], dtype);
            pass r;
            pass_run(&r, p, in, p->s.n_in, UINT64_MAX, NULL, 0);
            bool fine = r.status == CT_OK ? r.y != NULL : strstr(r.message, p->op->name) != NULL;
            matrix_check(p, fine, "input %d as %s: %s: %s", i, ct_dtype_name(dtype), ct_status_name(r.status),
                         r.message);
            if (r.status != CT_OK)
                matrix_check(p, r.status == CT_EDTYPE, "input %d as %s: %s, not CT_EDTYPE: %s", i,
                             ct_dtype_name(dtype), ct_status_name(r.status), r.message);
            pass_free(&r);
            ct_release(in[i]);
        }
}

/* A handle of another tape, a poisoned one, one from before a reset. */
static void check_bad_handles(const point *p)
{
    ct_tape *other = ct_tape_new(p->device);
    for (int i = 0; i < p->s.n_in; i++)
        for (int kind = 0; kind < 3; kind++) {
            ct_tape_reset(p->tape);
            ct_tape_reset(other);
            ct_var v[CT_MAX_INPUTS], old = ct_constant(p->tape, p->s.in[i]);
            ct_tape_reset(p->tape);
            for (int k = 0; k < p->s.n_in; k++) v[k] = ct_constant(p->tape, p->s.in[k]);
            v[i] = kind == 0 ? ct_constant(other, p->s.in[i]) : kind == 1 ? (ct_var){ NULL, 0, 0 } : old;
            ct_var y =
                ct_apply_on(p->tape, p->op, v, p->s.n_in, p->s.attr_size ? p->s.attr : NULL, p->s.attr_size);
            ct_status status = ct_tape_status(p->tape);
            matrix_check(p,
                         status == (kind == 2 ? CT_ESTALE : CT_EINVAL) && !ct_value(y) && isnan(ct_item(y)),
                         "input %d %s: %s", i,
                         kind == 0   ? "of another tape"
                         : kind == 1 ? "poisoned"
                                     : "from before a reset",
                         ct_status_name(status));
            matrix_check(p, *ct_tape_message(p->tape) != 0, "a bad handle as input %d: no message", i);
        }
    ct_tape_free(other);
    ct_tape_reset(p->tape);
    ct_var none = ct_apply(p->op, NULL, 0, NULL, 0);
    matrix_check(p, !ct_value(none), "without inputs: there is a value");
}

/* Calls without attributes, or with one input more or less. */
static void check_bad_calls(const point *p)
{
    for (int kind = 0; kind < 3; kind++) {
        ct_tape_reset(p->tape);
        int n = p->s.n_in + kind - 1;
        ct_var v[CT_MAX_INPUTS + 1];
        for (int k = 0; k < n; k++) v[k] = ct_constant(p->tape, p->s.in[k < p->s.n_in ? k : 0]);
        bool attr = kind != 1 && p->s.attr_size > 0;
        ct_var y = ct_apply_on(p->tape, p->op, v, n, attr ? p->s.attr : NULL, attr ? p->s.attr_size : 0);
        ct_status status = ct_tape_status(p->tape);
        bool may_work = p->op->n_in < 0 || kind == 1;
        matrix_check(
            p, may_work ? !ct_value(y) == (status != CT_OK && status != CT_ENUMERIC) : status == CT_EINVAL,
            "%d inputs, %s attributes: %s", n, attr ? "with" : "no", ct_status_name(status));
    }
}

/* -- NaN and poison -------------------------------------------------------------------------------------- */

static bool has_nan(const pass *r)
{
    for (int64_t e = 0; e < r->n; e++)
        if (isnan(r->y[e])) return true;
    return false;
}

/* A copy of t with NaN where `where` says so. */
static ct_tensor *spoiled(const point *p, const ct_tensor *t,
                          bool (*where)(int64_t at, int64_t n, const void *), const void *context)
{
    int64_t count = ct_tensor_count(t), n = ct_tensor_dim(t, -1);
    double *x = matrix_read(t);
    for (int64_t e = 0; e < count; e++)
        if (where(e, n, context)) x[e] = NAN;
    ct_tensor *wide = ct_from(p->device, CT_F64, ct_tensor_shape(t), x);
    ct_tensor *out = ct_tensor_cast(wide, ct_tensor_dtype(t));
    ct_release(wide);
    free(x);
    return out;
}

static bool everywhere(int64_t at, int64_t n, const void *context)
{
    (void)at, (void)n, (void)context;
    return true;
}

static bool at_one_place(int64_t at, int64_t n, const void *context)
{
    (void)n;
    return at == *(const int64_t *)context;
}

static void check_nan(const point *p)
{
    for (int i = 0; i < p->s.n_in; i++) {
        int64_t count = ct_tensor_count(p->s.in[i]), places[] = { 0, count / 2, count - 1 };
        if (!floating(p, i) || count == 0) continue;
        for (int place = -1; place < 3; place++) {
            ct_tensor *in[CT_MAX_INPUTS];
            for (int k = 0; k < p->s.n_in; k++) in[k] = p->s.in[k];
            in[i] = place < 0 ? spoiled(p, p->s.in[i], everywhere, NULL)
                              : spoiled(p, p->s.in[i], at_one_place, &places[place]);
            pass r;
            pass_run(&r, p, in, p->s.n_in, UINT64_MAX, NULL, 0);
            ref_array wanted = matrix_reference(p, in);
            bool expected = place < 0 && wanted.n > 0 && !(p->ref->swallows_nan >> i & 1);
            for (int64_t e = 0; e < wanted.n; e++) expected = expected || isnan((double)wanted.x[e]);
            matrix_check(p, !expected || r.status != CT_OK || (r.y && has_nan(&r)),
                         "input %d is NaN %s: a clean value comes out", i,
                         place < 0 ? "all over" : "at one place");
            free(wanted.x);
            pass_free(&r);
            ct_release(in[i]);
        }
    }
}

static bool unread(int64_t at, int64_t n, const void *context)
{
    int64_t row = at / n % n, col = at % n;
    switch (*(const ref_part *)context) {
    case REF_LOWER: return col > row;
    case REF_UPPER: return col < row;
    case REF_STRICT_LOWER: return col >= row;
    case REF_STRICT_UPPER: return col <= row;
    default: return false;
    }
}

static void check_poison(const point *p)
{
    const void *attr = p->s.attr_size ? p->s.attr : NULL;
    for (int i = 0; i < p->s.n_in; i++) {
        bool triangular = p->s.kind[i] == CT__SAMPLE_SPD || p->s.kind[i] == CT__SAMPLE_LOWER ||
                          p->s.kind[i] == CT__SAMPLE_UPPER;
        ref_part part = p->ref->reads ? p->ref->reads(attr, i) : REF_ALL;
        matrix_check(p, !triangular || part != REF_ALL,
                     "the reference does not say which triangle of input %d is read", i);
        if (part == REF_ALL) continue;
        ct_tensor *in[CT_MAX_INPUTS];
        for (int k = 0; k < p->s.n_in; k++) in[k] = p->s.in[k];
        in[i] = spoiled(p, p->s.in[i], unread, &part);
        pass clean, r;
        pass_run(&clean, p, p->s.in, p->s.n_in, UINT64_MAX, NULL, 0);
        pass_run(&r, p, in, p->s.n_in, UINT64_MAX, NULL, 0);
        bool ok = r.status == CT_OK && clean.y && r.y && memcmp(r.y, clean.y, (size_t)r.n * sizeof *r.y) == 0;
        matrix_check(p, ok, "poison in the unread part of input %d reaches the value: %s", i, r.message);
        for (int k = 0; k < p->s.n_in; k++)
            matrix_check(
                p,
                !r.bar[k] == !clean.bar[k] &&
                    (!r.bar[k] || memcmp(r.bar[k], clean.bar[k], (size_t)r.count[k] * sizeof(double)) == 0),
                "poison in the unread part of input %d reaches the cotangent of input %d", i, k);
        for (int64_t e = 0; r.bar[i] && e < r.count[i] && !(p->s.symmetric >> i & 1); e++)
            if (unread(e, ct_tensor_dim(in[i], -1), &part))
                matrix_check(p, r.bar[i][e] == 0, "input %d has a cotangent where it is not read", i);
        pass_free(&clean);
        pass_free(&r);
        ct_release(in[i]);
    }
}

/* -- memory ---------------------------------------------------------------------------------------------- */

/* Leaves NaN in the pool's blocks, so that uninitialised memory shows. */
static void dirty(ct_device *device)
{
    enum { BLOCKS = 6, SIZES = 12 };
    ct_tensor *t[BLOCKS * SIZES];
    for (int i = 0; i < BLOCKS * SIZES; i++)
        t[i] = ct_full(device, CT_F64, ct_shape1((int64_t)1 << (i % SIZES)), NAN);
    for (int i = 0; i < BLOCKS * SIZES; i++) ct_release(t[i]);
}

static void check_same_bits(const point *p)
{
    pass a, b;
    pass_run(&a, p, p->s.in, p->s.n_in, UINT64_MAX, NULL, 0);
    ct_tape_reset(p->tape);
    dirty(p->device);
    pass_run(&b, p, p->s.in, p->s.n_in, UINT64_MAX, NULL, 0);
    bool ok = a.status == CT_OK && b.status == CT_OK && a.n == b.n &&
              memcmp(a.y, b.y, (size_t)a.n * sizeof *a.y) == 0;
    matrix_check(p, ok, "the value has other bits in a second run, on used memory");
    for (int i = 0; i < p->s.n_in; i++)
        matrix_check(p,
                     !a.bar[i] == !b.bar[i] &&
                         (!a.bar[i] || memcmp(a.bar[i], b.bar[i], (size_t)a.count[i] * sizeof(double)) == 0),
                     "the cotangent of input %d has other bits in a second run", i);
    pass_free(&a);
    pass_free(&b);
}

/* Forward and backward, without an allocation of the test's own. c has y's shape; NULL stands for ones. */
static ct_status plain_step(ct_tape *tape, const ct_op *op, const ct_sample *s, ct_var *v, ct_var *y)
{
    for (int i = 0; i < s->n_in; i++)
        v[i] = s->kind[i] == CT__SAMPLE_INDEX ? ct_constant(tape, s->in[i]) : ct_leaf(tape, s->in[i]);
    *y = ct_apply_on(tape, op, v, s->n_in, s->attr_size ? s->attr : NULL, s->attr_size);
    if (ct_var_needs_grad(*y)) ct_backward(ct_sum(ct_square(*y), CT_ALL, false));
    return ct_tape_status(tape);
}

static void check_steady_state(const point *p)
{
    ct_var v[CT_MAX_INPUTS], y;
    ct_memory_info before = { 0 }, after = { 0 };
    ct_status status = CT_OK;
    for (int round = 0; round < 3 && status == CT_OK; round++) {
        ct_tape_reset(p->tape);
        if (round == 2) {
            before = ct_memory(p->device);
            alloc_watch();
        }
        status = plain_step(p->tape, p->op, &p->s, v, &y);
    }
    int64_t calls = alloc_calls();
    alloc_unwatch();
    after = ct_memory(p->device);
    matrix_check(p, status == CT_OK, "the third round fails: %s", ct_tape_message(p->tape));
    matrix_check(p, calls == 0, "the third round allocates %lld times", (long long)calls);
    uint64_t requests = after.requests - before.requests, served = after.from_pool - before.from_pool;
    matrix_check(p, requests == served, "of %llu requests in the third round the pool serves %llu",
                 (unsigned long long)requests, (unsigned long long)served);
}

enum { ROOM = 4096 };

typedef struct numbers {
    double y[ROOM], bar[4][ROOM];
    int64_t n, count[4];
} numbers;

static int64_t read_into(const ct_tensor *t, double *x)
{
    if (!t || ct_tensor_dtype(t) != CT_F64 || ct_tensor_count(t) > ROOM) return -1;
    return ct_read(t, x, (size_t)ct_tensor_count(t) * sizeof *x) == CT_OK ? ct_tensor_count(t) : -1;
}

/* The whole life of a computation, from opening the device to closing it. */
static ct_status whole_life(const point *p, numbers *out, char *message, size_t size)
{
    ct_device *device = ct_device_open(ct_device_name(p->device));
    ct_tape *tape = ct_tape_new(device);
    ct_status status = ct_device_status(device);
    if (!tape && !status) status = ct_last_status(device);
    snprintf(message, size, "%s", ct_message(device));
    if (tape) {
        ct_sample s = { .device = device,
                        .dtype = p->s.dtype,
                        .size = p->s.size,
                        .batch = p->s.batch,
                        .seed = p->s.seed,
                        .variant = p->s.variant };
        status = ct__sample_draw(&s, p->op);
        snprintf(message, size, "%s", ct_message(device));
        if (!status) {
            ct_var v[CT_MAX_INPUTS], y;
            status = plain_step(tape, p->op, &s, v, &y);
            snprintf(message, size, "%s", ct_tape_message(tape));
            if (!status) {
                out->n = read_into(ct_value(y), out->y);
                for (int i = 0; i < s.n_in && i < 4; i++)
                    out->count[i] = read_into(ct_cotangent(v[i]), out->bar[i]);
                status = ct_last_status(device);
            }
        }
        ct__sample_clear(&s);
    }
    ct_tape_free(tape);
    ct_device_close(device);
    return status;
}

static bool equal_numbers(const numbers *a, const numbers *b)
{
    if (a->n != b->n || (a->n > 0 && memcmp(a->y, b->y, (size_t)a->n * sizeof *a->y))) return false;
    for (int i = 0; i < 4; i++)
        if (a->count[i] != b->count[i] ||
            (a->count[i] > 0 && memcmp(a->bar[i], b->bar[i], (size_t)a->count[i] * sizeof(double))))
            return false;
    return true;
}

/* The k-th allocation fails, alone or with all after it, for every k. */
static void check_no_memory(const point *p)
{
    static numbers wanted, got;
    char message[512];
    memset(&wanted, 0, sizeof wanted);
    ct_status status = whole_life(p, &wanted, message, sizeof message);
    if (!matrix_check(p, status == CT_OK, "a fresh device: %s", message)) return;
    for (int forever = 0; forever < 2; forever++)
        for (int64_t k = 1;; k++) {
            memset(&got, 0, sizeof got);
            forever ? alloc_fail_from(k) : alloc_fail_at(k);
            status = whole_life(p, &got, message, sizeof message);
            bool refused = alloc_refused();
            int64_t live = alloc_live();
            alloc_unwatch();
            matrix_check(p, live == 0, "%lld blocks leak where allocation %lld fails", (long long)live,
                         (long long)k);
            if (!refused) break;
            bool ok = status == CT_OK ? equal_numbers(&got, &wanted) : status == CT_ENOMEM;
            matrix_check(p, ok, "allocation %lld fails: %s%s", (long long)k, ct_status_name(status),
                         status == CT_OK ? ", with other numbers" : message);
            matrix_check(p, status == CT_OK || *message || !strcmp(ct_status_name(status), "CT_ENOMEM"),
                         "allocation %lld fails without a message", (long long)k);
            if (!matrix_check(p, k < 2000, "allocation %lld still fails", (long long)k)) break;
        }
}

static void visit(point *p)
{
    check_bad_shapes(p);
    check_bad_dtypes(p);
    check_bad_handles(p);
    check_bad_calls(p);
    check_nan(p);
    check_poison(p);
    check_same_bits(p);
    check_steady_state(p);
    /* Opening a simulated GPU for every allocation takes minutes; tests/cudasim/test_failing.c lets calls
     * fail there. */
    if (p->s.size == 3 && p->s.dtype == CT_F64 && check_at_once()) check_no_memory(p);
}

int main(void) { return matrix_run("op matrix: what must not go wrong", visit, &matrix_small); }
