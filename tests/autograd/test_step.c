/* Replayed steps: the bits are those of calling the function, on every device; what a step must not do is
 * refused; memory and errors. */
#include "alloc.h"
#include "check.h"

#include <cotangent/gp.h>
#include <cotangent/io.h>
#include <cotangent/ops.h>
#include <cotangent/step.h>
#include <unistd.h>

enum { ROWS = 12, COLS = 5, STEPS = 6 };

/* A linear model with weights w and a positive definite S. It has products, sums, a factorisation and an
 * index. */
typedef struct model {
    ct_tensor *x, *y, *w, *S, *rate, *rows;
    ct_var loss, w_bar;
    int calls;
    int wrong; /* what the function does although a step must not */
    ct_tensor *kept;
} model;

static void fill(double *v, int n, int seed)
{
    for (int i = 0; i < n; i++) v[i] = cos(1.7 * i + seed);
}

static void make(model *m, ct_device *d)
{
    double v[ROWS * COLS];
    const int64_t rows[4] = { 3, 0, 2, 2 };
    *m = (model){ 0 };
    fill(v, ROWS * COLS, 1);
    m->x = assert_tensor(ct_from(d, CT_F64, ct_shape2(ROWS, COLS), v), d);
    fill(v, ROWS, 2);
    m->y = assert_tensor(ct_from(d, CT_F64, ct_shape2(ROWS, 1), v), d);
    fill(v, COLS, 3);
    m->w = assert_tensor(ct_from(d, CT_F64, ct_shape2(COLS, 1), v), d);
    fill(v, COLS * COLS, 4);
    for (int i = 0; i < COLS; i++) v[i * COLS + i] = 6;
    m->S = assert_tensor(ct_from(d, CT_F64, ct_shape2(COLS, COLS), v), d);
    m->rate = assert_tensor(ct_full(d, CT_F64, ct_shape0(), .05), d);
    m->rows = assert_tensor(ct_from(d, CT_I64, ct_shape1(4), rows), d);
}

static void drop(model *m)
{
    ct_tensor *all[] = { m->x, m->y, m->w, m->S, m->rate, m->rows, m->kept };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
}

enum { RIGHT, READS, ITEM, ASKS, MOVES, NESTED, FAILS, MISFITS, UPLOADS, KEEPS };

static ct_status train(ct_tape *tape, void *context);

static ct_status misbehave(ct_tape *tape, model *m)
{
    double v[1];
    static char large[1 << 17];
    ct_tensor *moved;
    switch (m->wrong) {
    case READS: return ct_read(ct_value(m->loss), v, sizeof v);
    case ITEM: return ct_item(m->loss) < 1e300 ? CT_OK : CT_OK;
    case ASKS: return ct_tape_status(tape);
    case MOVES:
        moved = ct_tensor_to(m->w, ct_tape_device(tape));
        ct_release(moved);
        return ct_npy_save(m->w, "no-such-folder/w.npy");
    case NESTED:
        ct_step_free(ct_step_capture(ct_tape_device(tape), train, m));
        return ct_last_status(ct_tape_device(tape));
    case FAILS: return CT_ESTOPPED;
    case MISFITS: ct_matmul(ct_constant(tape, m->w), ct_constant(tape, m->x)); return CT_OK;
    case UPLOADS:
        moved = ct_from(ct_tape_device(tape), CT_F64, ct_shape1(sizeof large / 8), large);
        ct_release(moved);
        return moved ? CT_OK : ct_last_status(ct_tape_device(tape));
    default: return CT_OK;
    }
}

/* loss = mse(x w, y) + |L⁻¹ w|² + Σ w[rows], S = L Lᵀ; w -= rate * w_bar */
static ct_status train(ct_tape *tape, void *context)
{
    model *m = context;
    m->calls++;
    ct_var w = ct_leaf(tape, m->w), L = ct_cholesky(ct_constant(tape, m->S));
    ct_var fit = ct_mse(ct_matmul(ct_constant(tape, m->x), w), ct_constant(tape, m->y));
    ct_var spread = ct_sum(ct_square(ct_tri_solve(L, w, 0)), CT_ALL, false);
    ct_var few = ct_sum(ct_gather(w, ct_constant(tape, m->rows)), CT_ALL, false);
    double host[3] = { .5, .25, .125 };
    ct_tensor *weight = ct_from(ct_tape_device(tape), CT_F64, ct_shape1(3), host);
    ct_var p = ct_constant(tape, weight);
    ct_release(weight);
    m->loss = ct_add(ct_add(fit, ct_mul(spread, ct_scalar(tape, CT_F64, .1))),
                     ct_mul(few, ct_sum(ct_square(p), CT_ALL, false)));
    ct_status s = ct_backward(m->loss);
    if (!s) s = misbehave(tape, m);
    m->w_bar = ct_constant(tape, ct_cotangent(w));
    if (m->wrong == KEEPS && !m->kept) m->kept = ct_retain(ct_cotangent(w));
    ct_no_grad_begin(tape);
    ct_var moved = ct_sub(w, ct_mul(ct_constant(tape, m->rate), m->w_bar));
    ct_no_grad_end(tape);
    return s ? s : ct_copy(ct_value(moved), m->w);
}

static void read_w(const model *m, double *w)
{
    assert_ok(ct_read(m->w, w, COLS * sizeof *w), ct_message(ct_tensor_device(m->w)));
}

/* Writes the data and the rate of step i in place. */
static void change(model *m, int i)
{
    double v[ROWS], rate = .05 / (1 + i);
    fill(v, ROWS, 10 + i);
    assert_ok(ct_write(m->y, v, sizeof v), "");
    assert_ok(ct_write(m->rate, &rate, sizeof rate), "");
}

static void replays_are_steps(void **state)
{
    (void)state;
    ct_device *d = ct_device_open(check_device());
    assert_ok(ct_device_status(d), ct_message(d));
    model eager, stepped;
    make(&eager, d);
    make(&stepped, d);
    ct_tape *tape = ct_tape_new(d);
    ct_step *step = NULL;
    for (int i = 0; i < STEPS; i++) {
        double a[COLS], b[COLS];
        change(&eager, i);
        change(&stepped, i);
        ct_tape_reset(tape);
        assert_ok(train(tape, &eager), ct_tape_message(tape));
        if (i)
            assert_ok(ct_step_replay(step), ct_message(d));
        else
            assert_non_null(step = ct_step_capture(d, train, &stepped));
        /* what is computed between replays does not touch what the step holds */
        ct_tensor *other = ct_full(d, CT_F64, ct_shape2(COLS, COLS), 1e300);
        read_w(&eager, a);
        read_w(&stepped, b);
        ct_release(other);
        assert_memory_equal(a, b, sizeof a);
        assert_true(ct_item(eager.loss) == ct_item(stepped.loss));
        assert_ok(ct_tape_status(ct_step_tape(step)), ct_tape_message(ct_step_tape(step)));
        /* ops on the step's values are the caller's, and gone at the next replay */
        assert_close(ct_item(ct_scale(stepped.loss, 2)), 2 * ct_item(eager.loss), 1e-12, 0);
    }
    bool graph = strcmp(ct_device_name(d), "cpu") != 0;
    assert_int_equal(stepped.calls, graph ? 2 : STEPS);
    assert_non_null(strstr(ct_step_description(step), graph ? "a graph of " : "called again"));
    ct_step_free(step);
    ct_tape_free(tape);
    drop(&eager);
    drop(&stepped);
    assert_int_equal(ct_memory(d).bytes_now, 0);
    ct_device_close(d);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        int wrong;
        ct_status status;
        const char *says;
    } cases[] = {
        { READS, CT_EUNSUPPORTED, "ct_read waits for the device, which is not possible inside a step" },
        { ITEM, CT_EUNSUPPORTED, "ct_item waits for the device" },
        { ASKS, CT_EUNSUPPORTED, "ct_tape_status waits" },
        { MOVES, CT_EUNSUPPORTED, "ct_npy_save waits" },
        { NESTED, CT_EINVAL, "a step within a step" },
        { FAILS, CT_ESTOPPED, "the step returned CT_ESTOPPED" },
        { MISFITS, CT_ESHAPE, "matmul(5x1, 12x5)" },
    };
    ct_device *d = ct_device_open(check_device());
    model m;
    make(&m, d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        m.wrong = cases[i].wrong;
        assert_null(ct_step_capture(d, train, &m));
        assert_int_equal(ct_last_status(d), cases[i].status);
        if (!strstr(ct_message(d), cases[i].says))
            print_error("\"%s\" has no \"%s\"\n", ct_message(d), cases[i].says);
        assert_non_null(strstr(ct_message(d), cases[i].says));
        /* the same from the second call on */
        m.wrong = RIGHT;
        ct_step *step = ct_step_capture(d, train, &m);
        assert_non_null(step);
        m.wrong = cases[i].wrong;
        double before[COLS], after[COLS];
        read_w(&m, before);
        assert_int_equal(ct_step_replay(step), cases[i].status);
        assert_non_null(strstr(ct_message(d), cases[i].says));
        read_w(&m, after);
        m.wrong = RIGHT;
        if (strcmp(ct_device_name(d), "cpu")) {
            assert_memory_equal(before, after, sizeof before);
            assert_int_equal(ct_step_replay(step), cases[i].status);
            assert_non_null(strstr(ct_message(d), "could not be recorded"));
        } else {
            assert_ok(ct_step_replay(step), ct_message(d));
        }
        ct_step_free(step);
    }
    /* reading is allowed again */
    double w[COLS];
    read_w(&m, w);
    assert_null(ct_step_capture(NULL, train, &m));
    assert_null(ct_step_capture(d, NULL, NULL));
    assert_non_null(strstr(ct_message(d), "function is NULL"));
    assert_int_equal(ct_step_replay(NULL), CT_EINVAL);
    assert_null(ct_step_tape(NULL));
    ct_step_free(NULL);
    drop(&m);
    ct_device_close(d);
}

/* A factorisation fails, and an index is out of range, at one replay and not at the next. */
static void failures_of_a_replay(void **state)
{
    (void)state;
    ct_device *d = ct_device_open(check_device());
    model m;
    make(&m, d);
    double good[COLS * COLS], bad[COLS * COLS], w[COLS];
    assert_ok(ct_read(m.S, good, sizeof good), ct_message(d));
    memcpy(bad, good, sizeof bad);
    bad[2 * COLS + 2] = -6;
    ct_step *step = ct_step_capture(d, train, &m);
    assert_non_null(step);
    for (int i = 0; i < 3; i++) {
        read_w(&m, w);
        assert_ok(ct_write(m.S, i == 1 ? bad : good, sizeof good), ct_message(d));
        ct_status s = ct_step_replay(step), seen = ct_tape_status(ct_step_tape(step));
        assert_int_equal(s ? s : seen, i == 1 ? CT_ENUMERIC : CT_OK);
        if (i == 1) {
            assert_non_null(strstr(ct_tape_message(ct_step_tape(step)), "leading minor 3"));
            assert_ok(ct_write(m.w, w, sizeof w), ct_message(d));
        }
    }
    int64_t rows[4] = { 3, 0, 7, 2 };
    for (int i = 0; i < 3; i++) {
        rows[2] = i == 1 ? 7 : 2;
        read_w(&m, w);
        assert_ok(ct_write(m.rows, rows, sizeof rows), ct_message(d));
        ct_status s = ct_step_replay(step), seen = ct_tape_status(ct_step_tape(step));
        assert_int_equal(s ? s : seen, i == 1 ? CT_EINDEX : CT_OK);
        if (i == 1) assert_ok(ct_write(m.w, w, sizeof w), ct_message(d));
    }
    assert_true(isfinite(ct_item(m.loss)));
    ct_tape_reset(ct_step_tape(step));
    assert_int_equal(ct_tape_status(ct_step_tape(step)), CT_EINVAL);
    assert_ok(ct_step_replay(step), ct_message(d));
    assert_ok(ct_tape_status(ct_step_tape(step)), "");
    ct_step_free(step);
    drop(&m);
    ct_device_close(d);
}

/* A tensor that the caller keeps from a step outlives the step; the step's memory goes back to the pool. */
static void memory(void **state)
{
    (void)state;
    ct_device *d = ct_device_open(check_device());
    model m;
    make(&m, d);
    uint64_t before = ct_memory(d).bytes_now;
    m.wrong = KEEPS;
    ct_step *step = ct_step_capture(d, train, &m);
    assert_non_null(step);
    assert_ok(ct_step_replay(step), ct_message(d));
    ct_memory_info held = ct_memory(d);
    for (int i = 0; i < 5; i++) assert_ok(ct_step_replay(step), ct_message(d));
    assert_true(ct_memory(d).bytes_now == held.bytes_now);
    double v[COLS], again[COLS];
    assert_ok(ct_read(m.kept, v, sizeof v), ct_message(d));
    ct_step_free(step);
    ct_tensor *other = ct_full(d, CT_F64, ct_shape2(COLS, 1), 1e300);
    assert_ok(ct_read(m.kept, again, sizeof again), ct_message(d));
    assert_memory_equal(v, again, sizeof v);
    ct_release(other);
    ct_release(m.kept);
    m.kept = NULL;
    assert_true(ct_memory(d).bytes_now == before);
    drop(&m);
    assert_int_equal(ct_memory(d).bytes_now, 0);
    /* the device lives as long as the step */
    make(&m, d);
    assert_non_null(step = ct_step_capture(d, train, &m));
    drop(&m);
    ct_device_close(d);
    ct_step_free(step);
}

static void no_memory(void **state)
{
    (void)state;
    for (int64_t k = 1, failed = 1; failed; k++) {
        ct_device *d = ct_device_open(check_device());
        model m;
        make(&m, d);
        alloc_fail_at(k);
        ct_step *step = ct_step_capture(d, train, &m);
        ct_status s = step ? CT_OK : ct_last_status(d);
        for (int i = 0; i < 2 && !s; i++) s = ct_step_replay(step);
        failed = alloc_refused();
        alloc_unwatch();
        if (s) {
            assert_int_equal(s, CT_ENOMEM);
            assert_true(ct_message(d)[0]);
        }
        assert_true(failed || !s);
        ct_step_free(step);
        drop(&m);
        assert_int_equal(ct_memory(d).bytes_now, 0);
        ct_device_close(d);
    }
}

/* -- batches and sorts ----------------------------------------------------------------------------------- */

/* A batch of matrices, and a sum over groups of rows: one group has half of the rows, the others few. */
typedef struct batches {
    ct_tensor *A, *x, *index;
    ct_var sum, A_bar;
} batches;

static ct_status of_batches(ct_tape *tape, void *context)
{
    batches *b = context;
    ct_var A = ct_leaf(tape, b->A), x = ct_constant(tape, b->x), index = ct_constant(tape, b->index),
           X = ct_tri_solve(A, ct_lstsq(A, ct_inverse(A)), 0),
           groups = ct_mul(ct_scatter_add(x, index, 3000), ct_sum(ct_slogdet(A, NULL), CT_ALL, false));
    b->sum = ct_add(ct_sum(ct_square(X), CT_ALL, false), ct_sum(ct_square(groups), CT_ALL, false));
    ct_status s = ct_backward(b->sum);
    b->A_bar = ct_constant(tape, ct_cotangent(A));
    return s;
}

static void batched_factors_and_a_sort(void **state)
{
    (void)state;
    enum { MEMBERS = 6, N = 20, SIZE = MEMBERS * N * N, LONG = 5000 };
    double v[SIZE], x[LONG], bar[2][SIZE];
    int64_t index[LONG];
    ct_device *d = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(d);
    fill(v, SIZE, 1);
    fill(x, LONG, 2);
    for (int i = 0; i < SIZE; i++) v[i] += i % (N * N) % (N + 1) ? 0 : 9;
    for (int i = 0; i < LONG; i++) index[i] = i % 2 ? 7 : i * 37 % 3000;
    batches b = { .A = assert_tensor(ct_from(d, CT_F64, ct_shape3(MEMBERS, N, N), v), d),
                  .x = assert_tensor(ct_from(d, CT_F64, ct_shape1(LONG), x), d),
                  .index = assert_tensor(ct_from(d, CT_I64, ct_shape1(LONG), index), d) };
    batches eager = b;
    ct_step *step = NULL;
    for (int k = 0; k < 3; k++) {
        v[k * N * N] += k, x[2 * k] -= k, index[2 * k] = 7 - k;
        assert_ok(ct_write(b.A, v, sizeof v), "");
        assert_ok(ct_write(b.x, x, sizeof x), "");
        assert_ok(ct_write(b.index, index, sizeof index), "");
        ct_tape_reset(tape);
        assert_ok(of_batches(tape, &eager), ct_tape_message(tape));
        if (k)
            assert_ok(ct_step_replay(step), ct_message(d));
        else
            assert_non_null(step = ct_step_capture(d, of_batches, &b));
        assert_true(ct_item(b.sum) == ct_item(eager.sum));
        assert_ok(ct_read(ct_value(eager.A_bar), bar[0], sizeof *bar), "");
        assert_ok(ct_read(ct_value(b.A_bar), bar[1], sizeof *bar), "");
        assert_memory_equal(bar[0], bar[1], sizeof *bar);
    }
    ct_step_free(step);
    ct_tape_free(tape);
    ct_release(b.A), ct_release(b.x), ct_release(b.index);
    assert_int_equal(ct_memory(d).bytes_now, 0);
    ct_device_close(d);
}

/* -- ops that read numbers of the host's ----------------------------------------------------------------- */

typedef struct readers {
    ct_tensor *A;
    ct_var A_bar;
} readers;

/* On a CPU these choose a form by the numbers, in a step, too. */
static ct_status of_readers(ct_tape *tape, void *context)
{
    readers *r = context;
    ct_var A = ct_leaf(tape, r->A), D = ct_add_diag(A, ct_scalar(tape, CT_F64, 4));
    ct_var P = ct_ridge_solve(A, D, ct_scalar(tape, CT_F64, 1));
    ct_var sum = ct_add(ct_sum(ct_expm(A), CT_ALL, false), ct_sum(P, CT_ALL, false));
    ct_status s = ct_backward(check_at_once() ? ct_add(sum, ct_det(D)) : sum);
    r->A_bar = ct_constant(tape, ct_cotangent(A));
    return s;
}

static void ops_that_read_numbers(void **state)
{
    (void)state;
    enum { N = 5 };
    double v[N * N], bar[2][N * N];
    ct_device *d = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(d);
    fill(v, N * N, 1);
    readers r = { .A = assert_tensor(ct_from(d, CT_F64, ct_shape2(N, N), v), d) }, eager = r;
    assert_ok(of_readers(tape, &eager), ct_tape_message(tape));
    ct_step *step = ct_step_capture(d, of_readers, &r);
    if (!step) fail_msg("%s", ct_message(d));
    assert_ok(ct_step_replay(step), ct_message(d));
    assert_ok(ct_read(ct_value(eager.A_bar), bar[0], sizeof *bar), "");
    assert_ok(ct_read(ct_value(r.A_bar), bar[1], sizeof *bar), "");
    assert_memory_equal(bar[0], bar[1], sizeof *bar);
    ct_step_free(step);
    ct_tape_free(tape);
    ct_release(r.A);
    ct_device_close(d);
}

/* x <- sin(x) ∘ w + row t of the sequence, over 9 steps; then w moves along the gradient of Σ x. */
typedef struct loop {
    ct_tensor *x, *w, *sequence;
    int calls;
} loop;

static void advance(ct_tape *tape, int64_t t, const ct_var *in, ct_var *out, void *context)
{
    (void)tape, (void)context;
    *out = ct_add(ct_mul(ct_sin(in[0]), in[1]), ct_row(in[2], t));
}

static ct_status walk(ct_tape *tape, void *context)
{
    loop *l = context;
    ct_var w = ct_leaf(tape, l->w), x;
    l->calls++;
    ct_scan((ct_var[]){ ct_constant(tape, l->x), w, ct_constant(tape, l->sequence) }, 3, &x, 1, 9, advance,
            NULL);
    const ct_status s = ct_backward(ct_sum(x, CT_ALL, false));
    ct_no_grad_begin(tape);
    ct_var moved = ct_lincomb((double[]){ 1, -.1 }, (ct_var[]){ w, ct_constant(tape, ct_cotangent(w)) }, 2);
    ct_no_grad_end(tape);
    return s ? s : ct_copy(ct_value(moved), l->w);
}

/* All of a scan's steps and of its sweep are one graph. */
static void a_scan_is_replayed(void **state)
{
    (void)state;
    ct_device *d = ct_device_open(check_device());
    double v[9 * COLS], w[2][COLS];
    loop l[2] = { 0 };
    fill(v, 9 * COLS, 1);
    for (int i = 0; i < 2; i++) {
        l[i].x = assert_tensor(ct_from(d, CT_F64, ct_shape1(COLS), v + 3), d);
        l[i].w = assert_tensor(ct_from(d, CT_F64, ct_shape1(COLS), v + 7), d);
        l[i].sequence = assert_tensor(ct_from(d, CT_F64, ct_shape2(9, COLS), v), d);
    }
    ct_tape *tape = ct_tape_new(d);
    ct_step *step = ct_step_capture(d, walk, &l[1]);
    if (!step) fail_msg("%s", ct_message(d));
    for (int i = 0; i < STEPS; i++) {
        if (i) assert_ok(ct_step_replay(step), ct_message(d));
        ct_tape_reset(tape);
        assert_ok(walk(tape, &l[0]), ct_tape_message(tape));
        for (int k = 0; k < 2; k++) assert_ok(ct_read(l[k].w, w[k], sizeof w[k]), ct_message(d));
        assert_memory_equal(w[0], w[1], sizeof w[0]);
    }
    assert_int_equal(l[1].calls, strcmp(ct_device_name(d), "cpu") ? 2 : STEPS);
    ct_step_free(step);
    ct_tape_free(tape);
    for (int i = 0; i < 2; i++) ct_release(l[i].x), ct_release(l[i].w), ct_release(l[i].sequence);
    assert_int_equal(ct_memory(d).bytes_now, 0);
    ct_device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_are_steps),
        cmocka_unit_test(a_scan_is_replayed),
        cmocka_unit_test(batched_factors_and_a_sort),
        cmocka_unit_test(ops_that_read_numbers),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(failures_of_a_replay),
        cmocka_unit_test(memory),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
