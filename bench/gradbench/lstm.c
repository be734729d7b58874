/* The language model of ADBench [Srajer et al. 2018]: m layers of LSTM cells with diagonal weights on 14
 * characters, over n steps. x holds, as rows of 14: for each layer 4 rows of weights and 4 of biases, then
 * the scales of input and output and the output's bias. */
#include "gradbench.h"

enum { B = 14, GATES = 4 };

static void setup(problem *p)
{
    p->x = sines(p->device, ct_shape2(2 * GATES * p->m + 3, B), 1, 0.5);
    p->constant[0] = sines(p->device, ct_shape2(p->n, B), 0.5, 1);      /* the sequence    */
    p->constant[1] = sines(p->device, ct_shape2(2 * p->m, B), 0.25, 1); /* hidden and cell */
}

static void cell(const ct_var *w, const ct_var *b, ct_var in, ct_var *hidden, ct_var *memory)
{
    ct_var forget = ct_sigmoid(ct_add(ct_mul(in, w[0]), b[0]));
    ct_var ingate = ct_sigmoid(ct_add(ct_mul(*hidden, w[1]), b[1]));
    ct_var outgate = ct_sigmoid(ct_add(ct_mul(in, w[2]), b[2]));
    ct_var change = ct_tanh(ct_add(ct_mul(*hidden, w[3]), b[3]));
    *memory = ct_add(ct_mul(*memory, forget), ct_mul(ingate, change));
    *hidden = ct_mul(outgate, ct_tanh(*memory));
}

static void run(problem *p)
{
    enum { LAYERS = 8, ROWS = 2 * GATES };
    ct_var x = ct_leaf(p->tape, p->x), row[ROWS * LAYERS + 3], hidden[LAYERS], memory[LAYERS];
    for (int i = 0; i < ROWS * p->m + 3; i++) row[i] = ct_row(x, i);
    for (int i = 0; i < p->m; i++)
        hidden[i] = ct_row(constant(p, 1), 2 * i), memory[i] = ct_row(constant(p, 1), 2 * i + 1);
    const ct_var *last = row + ROWS * p->m, sequence = constant(p, 0);
    ct_var total = ct_scalar(p->tape, CT_F64, 0), now = ct_row(sequence, 0);
    for (int64_t t = 0; t + 1 < p->n; t++) {
        ct_var in = ct_mul(now, last[0]);
        for (int i = 0; i < p->m; i++) {
            cell(row + ROWS * i, row + ROWS * i + GATES, in, &hidden[i], &memory[i]);
            in = hidden[i];
        }
        ct_var y = ct_add(ct_mul(in, last[1]), last[2]);
        ct_var norm = ct_log(ct_shift(ct_sum(ct_exp(y), 0, false), 2));
        now = ct_row(sequence, t + 1);
        total = ct_add(total, ct_sum(ct_mul(now, ct_sub(y, norm)), 0, false));
    }
    finish(p, x, ct_scale(total, -1.0 / (double)(B * (p->n - 1))));
}

const problem lstm = { .name = "lstm", .setup = setup, .run = run };
