/* The lower triangle of matrices as a vector, row by row. */
#include "cpu.h"

/* The member's packed numbers v, `step` apart, and its matrix A. */
#define PACKED(T)                                                                                     \
    static void pack_##T(int64_t n, const void *A_, int64_t rs, int64_t cs, void *v_, int64_t step)   \
    {                                                                                                 \
        const T *A = A_;                                                                              \
        T *v = v_;                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                               \
            for (int64_t j = 0; j <= i; j++, v += step) *v = A[i * rs + j * cs];                      \
    }                                                                                                 \
    static void unpack_##T(int64_t n, void *A_, int64_t rs, int64_t cs, const void *v_, int64_t step) \
    {                                                                                                 \
        const T *v = v_;                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                             \
            T *row = (T *)A_ + i * rs;                                                                \
            for (int64_t j = 0; j <= i; j++, v += step) row[j * cs] = *v;                             \
            for (int64_t j = i + 1; j < n; j++) row[j * cs] = 0;                                      \
        }                                                                                             \
    }
PACKED(double)
PACKED(float)

/* One member; `back` unpacks. */
static void pack(bool back, const ct_view *A, const ct_view *v, const ct_view *out, int64_t member)
{
    const int64_t n = A->dim[A->ndim - 1], rs = A->stride[A->ndim - 2], cs = A->stride[A->ndim - 1],
                  step = v->stride[v->ndim - 2];
    void *matrix = ct__at(A->data, A->dtype, ct__member_offset(A, out, member)),
         *packed = ct__at(v->data, v->dtype, ct__member_offset(v, out, member));
    if (back)
        (A->dtype == CT_F64 ? unpack_double : unpack_float)(n, matrix, rs, cs, packed, step);
    else
        (A->dtype == CT_F64 ? pack_double : pack_float)(n, matrix, rs, cs, packed, step);
}

static ct_status pack_all(ct_device *dev, bool back, const ct_view *A, const ct_view *v, const ct_view *out)
{
    const int64_t n = A->dim[A->ndim - 1], count = ct__count(out);
    if (!count) return CT_OK;
    const int64_t members = count / (out->dim[out->ndim - 2] * out->dim[out->ndim - 1]);
    const int team = members > dev->tuning->grain / (n * n) ? ct__team(dev, dev->threads) : 1;
#pragma omp parallel for schedule(static) num_threads(team)
    for (int64_t member = 0; member < members; member++) pack(back, A, v, out, member);
    return CT_OK;
}

ct_status ct__cpu_pack_lower(ct_device *dev, const ct_view *A, ct_view *v)
{
    return pack_all(dev, false, A, v, v);
}

ct_status ct__cpu_unpack_lower(ct_device *dev, const ct_view *v, ct_view *A)
{
    return pack_all(dev, true, A, v, A);
}
