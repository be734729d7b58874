/* Linear recurrences down the columns of matrices. */
#include "cpu.h"

/* Columns that are computed side by side, so that their sums do not wait for each other. */
enum { SIDE = 16 };

/* Strides of a, b and y down a column, negative in reverse, and across the columns. */
typedef struct steps {
    int64_t n, down[3], across[3];
} steps;
enum { A, B, Y };

/* `width` columns, at most SIDE. `sums`: all factors are 1, and are left out of the chain of operations. */
#define COLUMNS(T)                                                                                         \
    static inline void columns_##T(const steps *s, bool sums, int64_t width, const T *a, const T *b, T *y) \
    {                                                                                                      \
        double state[SIDE];                                                                                \
        for (int64_t j = 0; j < width; j++) {                                                              \
            y[j * s->across[Y]] = b[j * s->across[B]];                                                     \
            state[j] = (double)b[j * s->across[B]];                                                        \
        }                                                                                                  \
        for (int64_t k = 1; k < s->n; k++, a += s->down[A]) {                                              \
            b += s->down[B], y += s->down[Y];                                                              \
            for (int64_t j = 0; j < width; j++) {                                                          \
                if (!sums) state[j] *= (double)a[j * s->across[A]];                                        \
                state[j] += (double)b[j * s->across[B]];                                                   \
                y[j * s->across[Y]] = (T)state[j];                                                         \
            }                                                                                              \
        }                                                                                                  \
    }                                                                                                      \
    /* With the common widths as constants. */                                                             \
    static void any_##T(const steps *s, int64_t width, const void *a, const void *b, void *y)              \
    {                                                                                                      \
        const bool sums = s->n > 1 && !s->down[A] && !s->across[A] && *(const T *)a == 1;                  \
        if (width == 1 && sums)                                                                            \
            columns_##T(s, true, 1, a, b, y);                                                              \
        else if (width == 1)                                                                               \
            columns_##T(s, false, 1, a, b, y);                                                             \
        else if (width == SIDE)                                                                            \
            columns_##T(s, sums, SIDE, a, b, y);                                                           \
        else                                                                                               \
            columns_##T(s, sums, width, a, b, y);                                                          \
    }
COLUMNS(double)
COLUMNS(float)

/* The first row of v that is used: of n rows, the last one in reverse. */
static void *first_row(const ct_view *v, int64_t member, const ct_view *y, bool reverse)
{
    const int64_t n = v->dim[v->ndim - 2], row = reverse && n ? n - 1 : 0;
    return ct__at(v->data, v->dtype, ct__member_offset(v, y, member) + row * v->stride[v->ndim - 2]);
}

ct_status ct__cpu_recurrence(ct_device *dev, bool reverse, const ct_view *a, const ct_view *b, ct_view *y)
{
    const ct_view *const v[] = { a, b, y };
    const int d = y->ndim;
    const int64_t n = y->dim[d - 2], m = y->dim[d - 1], count = ct__count(y), per = (m + SIDE - 1) / SIDE;
    if (!count) return CT_OK;
    steps s = { .n = n };
    for (int k = A; k <= Y; k++) {
        s.down[k] = reverse ? -v[k]->stride[d - 2] : v[k]->stride[d - 2];
        s.across[k] = m > 1 ? v[k]->stride[d - 1] : 0;
    }
    const int64_t units = count / n / m * per;
    const int team = count > dev->tuning->grain ? ct__team(dev, dev->threads) : 1;
#pragma omp parallel for schedule(static) num_threads(team)
    for (int64_t unit = 0; unit < units; unit++) {
        const int64_t member = unit / per, j = unit % per * SIDE, width = ct__min(m - j, SIDE);
        void *at[3];
        for (int k = A; k <= Y; k++)
            at[k] = ct__at(first_row(v[k], member, y, reverse), y->dtype, j * s.across[k]);
        (y->dtype == CT_F64 ? any_double : any_float)(&s, width, at[A], at[B], at[Y]);
    }
    return CT_OK;
}
