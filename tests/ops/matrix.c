#include "matrix.h"

#include <cotangent/gp.h>

const char *const layout_names[LAYOUTS] = { "contiguous", "transposed", "strided", "broadcast", "mixed" };

const axes matrix_all = { .sizes = (const int64_t[]){ 0, 1, 2, 3, 5, 17, 64, -1 },
                          .batches = (const int[]){ -1, 0, 1, 3, -2 },
                          .f32 = true };
const axes matrix_small = { .sizes = (const int64_t[]){ 0, 1, 3, -1 },
                            .batches = (const int[]){ -1, 3, -2 },
                            .f32 = true };

/* {0, 2, 33} × {none, 3} × {f64, f32}, for slow devices: one size on each side of a block. */
static const axes quick = { .sizes = (const int64_t[]){ 0, 2, 33, -1 },
                            .batches = (const int[]){ -1, 3, -2 },
                            .f32 = true };
/* {0, 3} × {none, 3} × {f64, f32} */
static const axes smaller = { .sizes = (const int64_t[]){ 0, 3, -1 },
                              .batches = (const int[]){ -1, 3, -2 },
                              .f32 = true };

/* -- counting -------------------------------------------------------------------------------------------- */

static int64_t checks, points, failures_of_op;

bool matrix_check(const point *p, bool ok, const char *format, ...)
{
    checks++;
    if (ok) return true;
    if (failures_of_op++ < 8) {
        char text[1024];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        print_error("%s: %s\n", p->name, text);
    }
    return false;
}

/* -- walking --------------------------------------------------------------------------------------------- */

static void (*visit_point)(point *p);
static const axes *chosen;

/* Under a sanitizer f32 has the small sizes, on its own. */
static bool in_f32(int64_t size, int batch)
{
    return chosen->f32 && (check_quick() < 2 || (size <= 3 && batch < 0));
}

static void walk_variants(ct_device *device, ct_tape *tape, const ct_op *op, ct_dtype dtype, int64_t size,
                          int batch)
{
    for (int variant = 0, n = 1; variant < n; variant++) {
        point p = { .device = device, .tape = tape, .op = op, .ref = reference_find(op->name) };
        p.s = (ct_sample){ .device = device,
                           .dtype = dtype,
                           .size = size,
                           .batch = batch < 0 ? ct_shape0() : ct_shape1(batch),
                           .seed = (uint64_t)size * 7919 + 11,
                           .variant = variant };
        char text[32] = "no batch";
        if (batch >= 0) snprintf(text, sizeof text, "batch %d", batch);
        snprintf(p.name, sizeof p.name, "%s on %s, %s, size %lld, %s, variant %d", op->name,
                 ct_device_name(device), ct_dtype_name(dtype), (long long)size, text, variant);
        bool drawn = ct__sample_draw(&p.s, op) == CT_OK;
        n = p.s.n_variants;
        if (matrix_check(&p, drawn, "its sample fails: %s", ct_message(device)) &&
            (batch >= 0) == p.s.batched) {
            points++;
            visit_point(&p);
        }
        ct__sample_clear(&p.s);
    }
}

static void walk_op(void **state)
{
    const ct_op *op = *state;
    failures_of_op = 0;
    point nowhere = { .op = op };
    snprintf(nowhere.name, sizeof nowhere.name, "%s", op->name);
    matrix_check(&nowhere, reference_find(op->name) != NULL,
                 "no reference: write its loops in tests/ops/reference and name it in the table there");
    matrix_check(&nowhere, op->sample != NULL, "no sample: the op cannot be checked");
    if (!failures_of_op) {
        ct_device *device = ct_device_open(check_device());
        ct_tape *tape = ct_tape_new(device);
        if (matrix_check(&nowhere, tape != NULL, "no tape on %s: %s", check_device(), ct_message(device)))
            for (const int64_t *size = chosen->sizes; *size >= 0; size++)
                for (const int *batch = chosen->batches; *batch >= -1; batch++)
                    for (int f32 = 0; f32 <= in_f32(*size, *batch); f32++)
                        walk_variants(device, tape, op, f32 ? CT_F32 : CT_F64, *size, *batch);
        ct_tape_free(tape);
        matrix_check(&nowhere, ct_memory(device).bytes_now == 0, "%llu bytes are still held at the end",
                     (unsigned long long)ct_memory(device).bytes_now);
        ct_device_close(device);
    }
    if (failures_of_op > 8)
        print_error("%s: %lld failed checks in all\n", op->name, (long long)failures_of_op);
    assert_int_equal(failures_of_op, 0);
}

int matrix_run(const char *title, void (*visit)(point *p), const axes *which)
{
    int n_ops = 0, n_gp = 0;
    const ct_op *const *ops = ct_op_list(&n_ops), *const *gp_ops = ct_gp_op_list(&n_gp);
    struct CMUnitTest *tests = calloc((size_t)(n_ops + n_gp), sizeof *tests);
    if (!tests) return 1;
    visit_point = visit;
    chosen = which;
    if (which == &matrix_all && check_quick()) chosen = &quick;
    if (which == &matrix_small && check_quick() > 1) chosen = &smaller;
    int m = 0;
    for (int i = 0; i < n_ops + n_gp; i++) {
        const ct_op *op = i < n_ops ? ops[i] : gp_ops[i - n_ops];
        tests[m++] = (struct CMUnitTest){ .name = op->name,
                                          .test_func = walk_op,
                                          .initial_state = (void *)(uintptr_t)op };
    }
    int failed = _cmocka_run_group_tests(title, tests, (size_t)m, NULL, NULL);
    free(tests);
    printf("# %s: %d ops, %lld points, %lld checks\n", title, m, (long long)points, (long long)checks);
    return failed;
}

/* -- layouts --------------------------------------------------------------------------------------------- */

static ct_tensor *strided(const point *p, const ct_tensor *t)
{
    ct_shape shape = ct_tensor_shape(t), room = shape;
    if (shape.ndim == 0) return NULL;
    for (int d = 0; d < shape.ndim; d++)
        room.dim[d] = d == shape.ndim - 1 ? 2 * shape.dim[d] + 3 : shape.dim[d] + 3;
    ct_tensor *view = ct_full(p->device, ct_tensor_dtype(t), room, ct_tensor_dtype(t) == CT_I64 ? -1e6 : NAN);
    for (int d = 0; d < shape.ndim && view; d++) {
        int64_t step = d == shape.ndim - 1 ? 2 : 1;
        ct_tensor *slice = ct_tensor_slice(view, d, 1, 1 + step * shape.dim[d], step);
        ct_release(view);
        view = slice;
    }
    if (view) ct_copy(t, view);
    return view;
}

static ct_tensor *transposed(const ct_tensor *t)
{
    if (ct_tensor_ndim(t) < 2) return NULL;
    ct_tensor *turned = ct_tensor_transpose(t), *memory = turned ? ct_tensor_clone(turned) : NULL;
    ct_tensor *view = memory ? ct_tensor_transpose(memory) : NULL;
    ct_release(turned);
    ct_release(memory);
    return view;
}

static ct_tensor *repeated(const point *p, int i)
{
    const ct_tensor *t = p->s.in[i];
    ct_shape shape = ct_tensor_shape(t);
    bool square = p->s.kind[i] == CT__SAMPLE_SPD || p->s.kind[i] == CT__SAMPLE_LOWER ||
                  p->s.kind[i] == CT__SAMPLE_UPPER || (p->ref->full_rank >> i & 1);
    if (shape.ndim < (square ? 3 : 1) || shape.dim[0] == 0) return NULL;
    ct_tensor *one = ct_tensor_slice(t, 0, 0, 1, 1), *own = one ? ct_tensor_clone(one) : NULL;
    ct_tensor *view = own ? ct_tensor_broadcast(own, shape) : NULL;
    ct_release(one);
    ct_release(own);
    return view;
}

ct_tensor *matrix_layout(const point *p, int i, layout l)
{
    ct_tensor *t = p->s.in[i];
    switch (l) {
    case TRANSPOSED: return transposed(t);
    case STRIDED: return strided(p, t);
    case BROADCAST: return repeated(p, i);
    case MIXED: return matrix_layout(p, i, (layout)((i + p->s.variant) % MIXED));
    default: return ct_retain(t);
    }
}

/* -- passes ---------------------------------------------------------------------------------------------- */

double *matrix_read(const ct_tensor *t)
{
    int64_t n = t ? ct_tensor_count(t) : 0;
    double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    if (!x) abort();
    ct_tensor *f64 = t ? ct_tensor_cast(t, CT_F64) : NULL;
    if (!f64 || ct_read(f64, x, (size_t)n * sizeof *x) != CT_OK)
        for (int64_t i = 0; i < n; i++) x[i] = NAN;
    ct_release(f64);
    return x;
}

static ct_var random_constant(ct_tape *tape, ct_dtype dtype, ct_shape shape)
{
    ct_tensor *wide = ct_rand_normal(ct_tape_device(tape), CT_F64, shape, 99, 0);
    ct_tensor *t = wide ? ct_tensor_cast(wide, dtype) : NULL;
    ct_var c = ct_constant(tape, t);
    ct_release(wide);
    ct_release(t);
    return c;
}

void pass_run(pass *r, const point *p, ct_tensor *const *in, int n, uint64_t leaves, const int *use,
              int n_use)
{
    *r = (pass){ .n_in = n };
    ct_tape_reset(p->tape);
    ct_var v[CT_MAX_INPUTS], arg[CT_MAX_INPUTS];
    for (int i = 0; i < n; i++) {
        bool leaf = (leaves >> i & 1) && ct_tensor_dtype(in[i]) != CT_I64;
        v[i] = leaf ? ct_leaf(p->tape, in[i]) : ct_constant(p->tape, in[i]);
        r->count[i] = ct_tensor_count(in[i]);
    }
    if (!use) n_use = n;
    for (int k = 0; k < n_use; k++) arg[k] = v[use ? use[k] : k];
    ct_var y = ct_apply_on(p->tape, p->op, arg, n_use, p->s.attr_size ? p->s.attr : NULL, p->s.attr_size);
    if (!check_at_once()) ct_tape_status(p->tape); /* else a later read would report the wrong index */
    ct_tensor *value = ct_value(y);
    if (value) {
        r->shape = ct_tensor_shape(value);
        r->dtype = ct_tensor_dtype(value);
        r->n = ct_tensor_count(value);
        r->y = matrix_read(value);
    }
    r->flows = value && ct_var_needs_grad(y);
    if (r->flows) {
        ct_var c = random_constant(p->tape, r->dtype, r->shape);
        ct_backward(ct_sum(ct_mul(y, c), CT_ALL, false));
        for (int i = 0; i < n; i++)
            if (ct_cotangent(v[i])) r->bar[i] = matrix_read(ct_cotangent(v[i]));
    }
    r->status = ct_tape_status(p->tape);
    snprintf(r->message, sizeof r->message, "%s", ct_tape_message(p->tape));
}

void pass_free(pass *r)
{
    free(r->y);
    for (int i = 0; i < r->n_in; i++) free(r->bar[i]);
    *r = (pass){ 0 };
}

ref_array matrix_reference(const point *p, ct_tensor *const *in)
{
    ref_array array[CT_MAX_INPUTS];
    for (int i = 0; i < p->s.n_in; i++) {
        double *x = matrix_read(in[i]);
        array[i] = (ref_array){ .shape = ct_tensor_shape(in[i]), .n = ct_tensor_count(in[i]) };
        array[i].x = malloc((size_t)(array[i].n + 1) * sizeof *array[i].x);
        if (!array[i].x) abort();
        for (int64_t e = 0; e < array[i].n; e++) array[i].x[e] = x[e];
        free(x);
    }
    ref_call call = { .attr = p->s.attr_size ? p->s.attr : NULL, .n_in = p->s.n_in, .in = array };
    p->ref->compute(&call);
    for (int i = 0; i < p->s.n_in; i++) free(array[i].x);
    return call.out;
}

double matrix_tolerance(ct_dtype dtype) { return dtype == CT_F32 ? 2e-5 : 1e-12; }

bool matrix_agree(const double *a, const double *b, int64_t n, double tolerance, int64_t *at)
{
    double largest = 0, worst = -1;
    *at = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(b[i])) largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < n; i++) {
        double d = a[i] == b[i] || (isnan(a[i]) && isnan(b[i])) ? 0 : fabs(a[i] - b[i]);
        if (isnan(d)) d = INFINITY;
        if (d > worst) worst = d, *at = i;
    }
    return worst <= tolerance * (1 + largest);
}
