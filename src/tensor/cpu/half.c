#include "half.h"
#include "half_rows.h"

void ct__widen(int isa, ct_dtype from, int64_t n, const uint16_t *x, float *y)
{
    const ct__half_rows *rows = ct__half_rows_f32(isa);
    (from == CT_F16 ? rows->widen_f16 : rows->widen_bf16)(n, x, y);
}

void ct__narrow(int isa, ct_dtype to, int64_t n, const float *x, uint16_t *y)
{
    const ct__half_rows *rows = ct__half_rows_f32(isa);
    (to == CT_F16 ? rows->narrow_f16 : rows->narrow_bf16)(n, x, y);
}

void ct__widen_tile(int isa, ct_dtype from, int64_t rows, int64_t cols, const uint16_t *x, int64_t rs,
                    int64_t cs, float *y, int64_t ld)
{
    for (int64_t i = 0; i < rows; i++, x += rs, y += ld) {
        if (cs == 1)
            ct__widen(isa, from, cols, x, y);
        else
            for (int64_t j = 0; j < cols; j++) y[j] = ct__from_half(from, x[j * cs]);
    }
}

void ct__narrow_tile(int isa, ct_dtype to, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     uint16_t *y, int64_t rs, int64_t cs)
{
    for (int64_t i = 0; i < rows; i++, x += ld, y += rs) {
        if (cs == 1)
            ct__narrow(isa, to, cols, x, y);
        else
            for (int64_t j = 0; j < cols; j++) y[j * cs] = ct__to_half(to, x[j]);
    }
}
