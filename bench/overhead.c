/* The cost of the tape itself: chains of ops on 1x1 tensors, recorded, swept and reset. Target: 150 ns per
 * recorded op, forward and backward together. */
#include "bench.h"

#include <stdio.h>

enum { OPS = 1000 };

typedef struct chain {
    char kind;
    ct_tape *tape;
    ct_tensor *x;
    ct_status status;
    double y, x_bar;
} chain;

/* Records op number i. */
static ct_var link_of(char kind, int i, ct_var y, ct_var x)
{
    switch (kind == 'm' ? "+*t@"[i % 4] : kind) {
    case '+': return ct_add(y, x);
    case '*': return ct_mul(y, x);
    case 't': return ct_tanh(y);
    default: return ct_matmul(y, x);
    }
}

static void run(void *context)
{
    chain *c = context;
    ct_tape_reset(c->tape);
    ct_var x = ct_leaf(c->tape, c->x), y = x;
    for (int i = 0; i < OPS; i++) y = link_of(c->kind, i, y, x);
    c->status = ct_backward(y);
    c->y = ct_item(y);
    c->x_bar = ct_tensor_item(ct_cotangent(x));
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "add", "mul", "tanh", "matmul", "mixed" };
    static const char kinds[] = "+*t@m";
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    ct_device *dev = b.dev;
    ct_tensor *x = ct_full(dev, CT_F64, ct_shape2(1, 1), 0.999);
    ct_tape *tape = ct_tape_new(dev);
    int failed = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        chain c = { .kind = kinds[i], .tape = tape, .x = x };
        double seconds = bench_best(&b, run, &c, 20, 0.3);
        failed |= c.status;
        printf("bench=overhead case=%s who=cotangent n=1 dtype=f64 pass=training ns_per_op=%.1f%s\n",
               names[i], seconds / OPS * 1e9, b.where);
        printf("# case=%s y=%.15g x_bar=%.15g\n", names[i], c.y, c.x_bar);
        if (c.status) fprintf(stderr, "overhead: %s\n", ct_tape_message(tape));
    }
    ct_tape_free(tape);
    ct_release(x);
    bench_close(&b);
    return failed != 0;
}
