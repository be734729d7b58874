/* Linear recurrences down the columns of matrices. A thread computes a sequence, or a piece of one if there
 * are few: all pieces in parallel from a state of 0, then the states between them in order, then the pieces
 * again. */
#include "batch.cuh"

#include <math.h>

typedef struct pieces {
    int64_t n, columns, length, count; /* steps and number of columns; steps of a piece; pieces of a column */
    int64_t reverse;
} pieces;

/* What a piece does to the state before it: state = factor 2^exponent state + sum. The exponent is separate,
 * because a product of many factors may leave the range of numbers where their product with the state does
 * not. */
typedef struct effect {
    double factor, exponent, sum;
} effect;

/* Step k of a column; from the end in reverse. The factor that leads to it, for k > 0, and b. */
template <typename T> struct column {
    const T *a, *b;
    T *y;
    int64_t a_step, b_step, y_step;
    __device__ column(const ct__batch &j, const ct__matrix &A, const ct__matrix &B, const ct__matrix &Y,
                      const pieces &p, int64_t number)
    {
        const int64_t member = number / Y.cols, col = number % Y.cols, sign = p.reverse ? -1 : 1;
        const int64_t last = p.reverse ? p.n - 1 : 0, link = p.reverse && p.n > 1 ? p.n - 2 : 0;
        a = (const T *)A.data + ct__member_at(j, A, member) + col * A.cs + link * A.rs;
        b = (const T *)B.data + ct__member_at(j, B, member) + col * B.cs + last * B.rs;
        y = (T *)Y.data + ct__member_at(j, Y, member) + col * Y.cs + last * Y.rs;
        a_step = sign * A.rs, b_step = sign * B.rs, y_step = sign * Y.rs;
    }
    __device__ double factor(int64_t k) const { return k ? (double)a[(k - 1) * a_step] : 0; }
    __device__ double term(int64_t k) const { return (double)b[k * b_step]; }
};

template <typename T>
static __global__ void effects_kernel(ct__batch j, ct__matrix A, ct__matrix B, ct__matrix Y, pieces p,
                                      effect *effects)
{
    CT__EACH(e, p.count * p.columns)
    {
        const column<T> c(j, A, B, Y, p, e % p.columns);
        const int64_t first = e / p.columns * p.length, end = first + p.length < p.n ? first + p.length : p.n;
        double factor = 1, exponent = 0, sum = 0;
        for (int64_t k = first; k < end; k++) {
            int power = 0;
            factor = frexp(factor * c.factor(k), &power);
            exponent += power;
            sum = k ? c.factor(k) * sum + c.term(k) : c.term(k);
        }
        effects[e] = effect{ factor, exponent, sum };
    }
}

/* Replaces each piece's sum by the state before the piece. */
static __global__ void states_kernel(pieces p, effect *effects)
{
    CT__EACH(number, p.columns)
    {
        double state = 0;
        for (int64_t i = 0; i < p.count; i++) {
            effect &e = effects[i * p.columns + number];
            const double bounded = fmax(-8192., fmin(8192., e.exponent)),
                         next = ldexp(e.factor * state, (int)bounded) + e.sum;
            e.sum = state;
            state = next;
        }
    }
}

/* effects: the states before the pieces; NULL if a column is one piece. */
template <typename T>
static __global__ void recurrence_kernel(ct__batch j, ct__matrix A, ct__matrix B, ct__matrix Y, pieces p,
                                         const effect *effects)
{
    CT__EACH(e, p.count * p.columns)
    {
        const column<T> c(j, A, B, Y, p, e % p.columns);
        const int64_t first = e / p.columns * p.length, end = first + p.length < p.n ? first + p.length : p.n;
        double state = effects ? effects[e].sum : 0;
        for (int64_t k = first; k < end; k++) {
            state = k ? c.factor(k) * state + c.term(k) : c.term(k);
            c.y[k * c.y_step] = (T)state;
        }
    }
}

ct_status ct__cuda_recurrence(ct_device *dev, bool reverse, const ct_view *a, const ct_view *b, ct_view *y)
{
    const ct__matrices<3> j(dev, { y, a, b });
    const ct__matrix Y = j.m[0], A = j.m[1], B = j.m[2];
    pieces p = { Y.rows, j.members * Y.cols, Y.rows, 1, reverse };
    if (!p.n || !p.columns) return CT_OK;
    if (p.columns < CT__RECURRENCE_FULL) { /* as many pieces as steps in a piece */
        p.length = ct__max(CT__RECURRENCE_LEAST, (int64_t)ceil(sqrt((double)p.n)));
        p.count = ct__divide_up(p.n, p.length);
    }
    const bool divided = p.count > 1;
    const int64_t threads = p.count * p.columns;
    ct__workspace kept(j, divided ? threads * (int64_t)sizeof(effect) : 0);
    effect *effects = divided ? (effect *)kept : NULL;
    if (divided) {
        CT__BATCH_EACH("recurrence", j, effects_kernel, threads, A, B, Y, p, effects);
        CT__DO(j, CT__RUN_EACH(dev, "recurrence", states_kernel, p.columns, p, effects));
    }
    return CT__BATCH_EACH("recurrence", j, recurrence_kernel, threads, A, B, Y, p, effects);
}
