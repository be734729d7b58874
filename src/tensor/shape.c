/* Shapes and dtypes, as plain values. Every product of extents is checked. */
#include "internal.h"

#include <stdio.h>

size_t ct_dtype_size(ct_dtype dtype)
{
    static const size_t size[] = { [CT_F64] = 8, [CT_F32] = 4, [CT_I64] = 8, [CT_BF16] = 2, [CT_F16] = 2 };
    return (unsigned)dtype <= CT_F16 ? size[dtype] : 0;
}

const char *ct_dtype_name(ct_dtype dtype)
{
    static const char *const name[] = {
        [CT_F64] = "f64", [CT_F32] = "f32", [CT_I64] = "i64", [CT_BF16] = "bf16", [CT_F16] = "f16"
    };
    return (unsigned)dtype <= CT_F16 ? name[dtype] : "unknown dtype";
}

ct_shape ct_shape_of(int ndim, const int64_t *dim)
{
    ct_shape s = { .ndim = ndim < 0 || ndim > CT_MAX_DIMS || (ndim && !dim) ? -1 : ndim };
    for (int i = 0; i < s.ndim; i++) s.dim[i] = dim[i];
    return s;
}

ct_shape ct_shape0(void) { return (ct_shape){ .ndim = 0 }; }
ct_shape ct_shape1(int64_t n) { return (ct_shape){ { n }, 1 }; }
ct_shape ct_shape2(int64_t rows, int64_t cols) { return (ct_shape){ { rows, cols }, 2 }; }

ct_shape ct_shape3(int64_t batch, int64_t rows, int64_t cols)
{
    return (ct_shape){ { batch, rows, cols }, 3 };
}

bool ct_shape_equal(ct_shape a, ct_shape b)
{
    if (a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim && i < CT_MAX_DIMS; i++)
        if (a.dim[i] != b.dim[i]) return false;
    return true;
}

int64_t ct_shape_count(ct_shape s) { return ct__shape_count(&s); }

ct_shape ct_shape_broadcast(ct_shape a, ct_shape b)
{
    ct_shape out = { .ndim = a.ndim > b.ndim ? a.ndim : b.ndim };
    if (a.ndim < 0 || b.ndim < 0 || out.ndim > CT_MAX_DIMS) return (ct_shape){ .ndim = -1 };
    for (int i = 1; i <= out.ndim; i++) {
        int64_t da = i <= a.ndim ? a.dim[a.ndim - i] : 1, db = i <= b.ndim ? b.dim[b.ndim - i] : 1;
        if (da != db && da != 1 && db != 1) return (ct_shape){ .ndim = -1 };
        out.dim[out.ndim - i] = da == 1 ? db : da;
    }
    return out;
}

const char *ct__shape_text(ct_shape s, char *buffer, size_t size)
{
    if (s.ndim > CT_MAX_DIMS) s.ndim = -1;
    snprintf(buffer, size, "%s", s.ndim < 0 ? "no shape" : s.ndim ? "" : "scalar");
    size_t at = 0;
    for (int i = 0; i < s.ndim && at < size; i++)
        at += (size_t)snprintf(buffer + at, size - at, i ? "x%lld" : "%lld", (long long)s.dim[i]);
    return buffer;
}
