/* scan:  x_{t+1} = f(t, x_t, w) from x_0, over `steps` steps. The steps are cut into blocks of about √steps,
 * each a checkpoint, so that the tape holds √steps blocks and a sweep the steps of one.  [Griewank & Walther
 * 2000] */
#include "support.h"

#include <math.h>

/* Steps first .. first + count - 1 */
typedef struct block {
    ct_scan_fn *f;
    void *context;
    int64_t first, count;
    int n, m;
} block;

static void run(ct_tape *tape, const ct_var *in, ct_var *out, void *context)
{
    const block *b = context;
    ct_var at[CT_MAX_INPUTS];
    for (int i = 0; i < b->n; i++) at[i] = in[i];
    for (int64_t t = 0; t < b->count && !tape->status; t++) {
        for (int k = 0; k < b->m; k++) out[k] = ct_none();
        b->f(tape, b->first + t, at, out, b->context);
        for (int k = 0; k < b->m; k++) {
            if (out[k].tape != tape)
                ct_tape_fail(tape, CT_EINVAL, "ct_scan: f has not set output %d in step %lld", k,
                             (long long)(b->first + t));
            at[k] = out[k];
        }
    }
}

ct_status ct_scan(const ct_var *in, int n, ct_var *out, int m, int64_t steps, ct_scan_fn *f, void *context)
{
    ct_tape *tape = in && n > 0 ? in[0].tape : NULL;
    ct_var at[CT_MAX_INPUTS];
    if (n < 1 || n > CT_MAX_INPUTS || m < 1 || m > CT_MAX_OUTPUTS || m > n || steps < 0)
        ct_tape_fail(tape, CT_EINVAL,
                     "ct_scan: %d inputs, %d of them carried, %lld steps: at most %d, %d, none below 0", n, m,
                     (long long)steps, CT_MAX_INPUTS, CT_MAX_OUTPUTS);
    else if (!out || !f)
        ct_tape_fail(tape, CT_EINVAL, "ct_scan: %s is NULL", f ? "out" : "f");
    if (!tape || tape->status) {
        for (int k = 0; out && k < m && k < CT_MAX_OUTPUTS; k++) out[k] = ct__poisoned(tape);
        return tape ? tape->status : CT_EINVAL;
    }
    const int64_t length = (int64_t)ceil(sqrt((double)steps));
    for (int i = 0; i < n; i++) at[i] = in[i];
    for (int64_t t = 0; t < steps && !tape->status; t += length) {
        block *b = ct__arena(tape, sizeof *b);
        if (!b) break;
        *b = (block){ f, context, t, ct__min(length, steps - t), n, m };
        ct_checkpoint(at, n, at, m, run, b);
    }
    for (int k = 0; k < m; k++) out[k] = tape->status ? ct__poisoned(tape) : at[k];
    return tape->status ? tape->status : tape->failure.set ? CT_ENUMERIC : CT_OK;
}
