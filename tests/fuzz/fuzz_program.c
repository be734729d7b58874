/* libFuzzer: bytes as a program over the ops, on leaves of small shapes in several layouts, with its
 * gradient. An operand that an op would refuse is mostly made to fit first. The program runs twice, and once
 * more as a captured step that is replayed on other data; the same data must give the same bits. A recorded
 * sweep must give the same gradient, and its result is swept again. A refusal must stay and say why, and no
 * memory may be held at the end. */
#include <math.h>
#include <stdio.h>

#include "program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENTRIES = 128 };

/* The results of one run: y and the leaves' cotangents, NaN where there is none. */
typedef struct outcome {
    ct_status status;
    double y, x_bar[LEAVES][ENTRIES];
} outcome;

static void read_values(const ct_tensor *t, double out[ENTRIES])
{
    for (int i = 0; i < ENTRIES; i++) out[i] = NAN;
    ct_tensor *wide = t ? ct_tensor_cast(t, CT_F64) : NULL;
    if (wide) MUST(!ct_read(wide, out, (size_t)ct_tensor_count(wide) * sizeof *out));
    ct_release(wide);
}

static void read_outcome(outcome *o, const machine *m, ct_var y)
{
    o->y = ct_item(y);
    for (int i = 0; i < LEAVES; i++) read_values(ct_cotangent(m->leaf[i]), o->x_bar[i]);
}

static bool same_values(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) && !(isnan(a[i]) && isnan(b[i]))) return false;
    return true;
}

static bool same(const outcome *a, const outcome *b)
{
    return same_values(&a->y, &b->y, 1) && same_values(a->x_bar[0], b->x_bar[0], LEAVES * ENTRIES);
}

static void refusal_says_why(const char *message) { MUST(*message && !strchr(message, '\n')); }

/* -- the runs -------------------------------------------------------------------------------------------- */

static void run_plain(const input *in, ct_tape *tape, outcome *o)
{
    machine m;
    ct_var y = machine_run(&m, in, tape);
    o->status = ct_backward(y);
    MUST(o->status == ct_tape_status(tape) && ct_grad_enabled(tape));
    read_outcome(o, &m, y);
    if (o->status) {
        refusal_says_why(ct_tape_message(tape));
        MUST(o->status == CT_ENUMERIC || ct_backward(y) == o->status); /* a failed factor is no misuse */
    }
    char text[256];
    ct_tape_print(tape, text, sizeof text);
    ct_tape_dot(tape, text, sizeof text);
    ct_tape_reset(tape);
    MUST(ct_tape_length(tape) == 0 && ct_tape_status(tape) == CT_OK && ct_backward(y) == CT_ESTALE);
    ct_tape_reset(tape);
}

/* The derivative of y in a direction of leaf i, by differences; NaN where two step sizes disagree. */
static double by_differences(const input *in, ct_tape *tape, int i)
{
    double slope[2];
    for (int k = 0; k < 2; k++) {
        double h = k ? 1e-4 : 1e-5, y[2];
        machine m;
        for (int side = 0; side < 2; side++) {
            input_shift(in, i, side ? h : -h);
            y[side] = ct_item(machine_run(&m, in, tape));
            ct_tape_reset(tape);
            input_fill(in, 0);
        }
        slope[k] = (y[1] - y[0]) / (2 * h);
    }
    return fabs(slope[0] - slope[1]) < 1e-3 * (1 + fabs(slope[0])) ? slope[0] : NAN;
}

static bool close_to(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * (1 + fabs(a) + fabs(b));
}

/* Two sweeps may disagree where rounding is magnified, but not where the differences of y agree with one of
 * them. */
static void judge(const input *in, ct_tape *tape, const double plain[LEAVES], const double recorded[LEAVES])
{
    for (int i = 0; i < LEAVES; i++) {
        double a = plain[i], b = recorded[i];
        if (!isfinite(a) || !isfinite(b) || fmax(fabs(a), fabs(b)) > 1e3 || close_to(a, b, 0.02)) continue;
        double slope = by_differences(in, tape, i);
        MUST(!close_to(slope, a, 1e-3) && !close_to(slope, b, 1e-3));
    }
}

/* NaN where the sum may be the rounding error of terms that cancel. */
static double total(const double values[ENTRIES], int64_t n)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < n; i++) sum += values[i], size += fabs(values[i]);
    return size < 1e6 ? sum : NAN;
}

/* A recorded sweep and a sweep of its gradient. */
static void run_twice_differentiated(const input *in, ct_tape *tape, const outcome *o)
{
    machine m;
    double values[ENTRIES], plain[LEAVES] = { 0 }, recorded[LEAVES] = { 0 };
    ct_var y = machine_run(&m, in, tape), first[LEAVES], second[LEAVES];
    ct_status status = ct_grad(y, (ct_var){ 0 }, m.leaf, first, LEAVES, CT_GRAD_RECORD);
    if (!status) {
        ct_var z = ct_scalar(tape, in->dtype, 0);
        for (int i = 0; i < LEAVES; i++) {
            z = ct_add(z, ct_sum(ct_square(first[i]), CT_ALL, false));
            read_values(ct_value(first[i]), values);
            int64_t n = ct_shape_count(ct_var_shape(first[i]));
            plain[i] = total(o->x_bar[i], n), recorded[i] = total(values, n);
        }
        status = ct_grad(z, (ct_var){ 0 }, m.leaf, second, LEAVES, CT_GRAD_KEEP);
        for (int i = 0; i < LEAVES && !status; i++)
            MUST(ct_shape_equal(ct_var_shape(second[i]), ct_var_shape(m.leaf[i])));
    }
    if (status) refusal_says_why(ct_tape_message(tape));
    ct_tape_reset(tape);
    if (in->dtype == CT_F64 && o->status == CT_OK && fabs(o->y) < 1e3 && !m.rounded)
        judge(in, tape, plain, recorded);
}

typedef struct captured {
    const input *in;
    machine m;
    ct_var y;
} captured;

static ct_status one_step(ct_tape *tape, void *context)
{
    captured *c = context;
    c->y = machine_run(&c->m, c->in, tape);
    return ct_backward(c->y);
}

static void run_replayed(const input *in, ct_tape *tape, const outcome *plain)
{
    captured c = { .in = in };
    outcome replayed, direct;
    ct_step *step = ct_step_capture(in->dev, one_step, &c);
    if (!step) {
        refusal_says_why(ct_message(in->dev));
        return;
    }
    read_outcome(&replayed, &c.m, c.y);
    MUST(plain->status || same(plain, &replayed));
    for (uint64_t round = 1; round < 3; round++) {
        input_fill(in, round);
        if (ct_step_replay(step)) break;
        read_outcome(&replayed, &c.m, c.y);
        run_plain(in, tape, &direct);
        MUST(direct.status || same(&direct, &replayed));
    }
    ct_step_free(step);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ct_device *dev;
    if (!dev) dev = ct_device_open("cpu");
    input in;
    outcome first, again;
    input_open(&in, dev, data, size);
    ct_tape *tape = ct_tape_new(dev);
    run_plain(&in, tape, &first);
    run_plain(&in, tape, &again);
    MUST(first.status == again.status && same(&first, &again));
    run_twice_differentiated(&in, tape, &first);
    run_replayed(&in, tape, &first);
    ct_tape_free(tape);
    input_close(&in);
    MUST(ct_memory(dev).bytes_now == 0);
    return 0;
}
