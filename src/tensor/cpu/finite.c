/* Where an array has an element that is infinite or no number. */
#include "cpu.h"

#include <math.h>

/* The first of n elements that is not finite; n where there is none. x 0 is 0 for those that are, else NaN. */
#define FIRST(name, T)                                                                              \
    static int64_t name(const T *x, int64_t n, int64_t step)                                        \
    {                                                                                               \
        T sum = 0;                                                                                  \
        if (step == 1) {                                                                            \
            _Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < n; i++) sum += x[i] * 0; \
        } else {                                                                                    \
            sum = NAN;                                                                              \
        }                                                                                           \
        int64_t i = sum == 0 ? n : 0;                                                               \
        while (i < n && isfinite(x[i * step])) i++;                                                 \
        return i;                                                                                   \
    }
FIRST(first_f64, double)
FIRST(first_f32, float)
#undef FIRST

ct_status ct__cpu_finite(ct_device *dev, const ct_tensor *x, const char *what, const char *why,
                         ct_failure *failure)
{
    (void)dev;
    int last = x->ndim - 1;
    int64_t count = ct__count(x), width = last < 0 ? 1 : x->dim[last], step = last < 0 ? 1 : x->stride[last];
    for (int64_t at = 0; at < count && !failure->set; at += width) {
        int64_t offset = 0, rest = at / width;
        for (int d = last - 1; d >= 0; rest /= x->dim[d--]) offset += rest % x->dim[d] * x->stride[d];
        const void *row = ct__at(x->data, x->dtype, offset);
        int64_t i = x->dtype == CT_F64 ? first_f64(row, width, step) : first_f32(row, width, step);
        if (i == width) continue;
        failure->set = true;
        failure->member = 0;
        failure->detail = at + i;
        failure->what = what;
        failure->why = why;
    }
    return CT_OK;
}
