/* Elementwise functions: each line of the tables in maps.h becomes a loop for each type and instruction
 * set. */
#include "half.h"
#include "map_rows.h"

void ct__vector_exp(int isa, int64_t n, double *x)
{
    static const int64_t step[] = { 1, 1 };
    ct__maps_of(isa, CT_F64)->value1[CT_MAP_exp](1, n, (void *const[]){ x, x }, step, step, NULL);
}

/* -- half precision -------------------------------------------------------------------------------------- */

/* Strips of the operands are converted to f32, the f32 kernel runs on them, and the result is rounded. */
typedef struct half_map {
    ct__kernel kernel;
    const void *context;
    ct_dtype dtype;
    int isa, operands;
} half_map;

static void run_half(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                     const void *context)
{
    static const int64_t zero[CT__OPERANDS] = { 0 }, one[CT__OPERANDS] = { 1, 1, 1, 1 };
    const half_map *h = context;
    float strip[CT__OPERANDS][CT__MAP_STRIP];
    void *const at[] = { strip[0], strip[1], strip[2], strip[3] };
    for (int64_t j = 0; j < n1; j++)
        for (int64_t i = 0; i < n0; i += CT__MAP_STRIP) {
            int64_t n = n0 - i < CT__MAP_STRIP ? n0 - i : CT__MAP_STRIP;
            for (int k = 1; k < h->operands; k++)
                ct__widen_tile(h->isa, h->dtype, 1, n, (const uint16_t *)data[k] + j * s1[k] + i * s0[k], 0,
                               s0[k], strip[k], 0);
            h->kernel(1, n, at, zero, one, h->context);
            ct__narrow_tile(h->isa, h->dtype, 1, n, strip[0], 0, (uint16_t *)data[0] + j * s1[0] + i * s0[0],
                            0, s0[0]);
        }
}

/* -- primitives ------------------------------------------------------------------------------------------ */

/* Runs a kernel over n operands of t[0]'s dtype; for bf16 and f16 it is the f32 kernel. */
static ct_status run(ct_device *dev, int n, const ct_view *const *t, ct__kernel kernel, const void *context,
                     int64_t grain)
{
    const ct_dtype dtype = t[0]->dtype;
    if (ct__is_half(dtype))
        ct__loop(dev, n, t, run_half, &(half_map){ kernel, context, dtype, dev->isa, n }, grain);
    else
        ct__loop(dev, n, t, kernel, context, grain);
    return CT_OK;
}

ct_status ct__cpu_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, ct_view *out)
{
    const ct__maps *t = ct__maps_of(dev->isa, out->dtype);
    return run(dev, 2, (const ct_view *[]){ out, x }, t->any_value[f] ? t->any_value[f] : t->value1[f], p,
               dev->tuning->map_grain);
}

ct_status ct__cpu_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, const ct_view *y,
                           const ct_view *g, ct_view *out)
{
    const ct__maps *t = ct__maps_of(dev->isa, out->dtype);
    return run(dev, 4, (const ct_view *[]){ out, x, y, g }, t->any_bar[f] ? t->any_bar[f] : t->bar1[f], p,
               dev->tuning->map_grain);
}

ct_status ct__cpu_map2(ct_device *dev, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out)
{
    const ct_view *t[] = { out, a, b };
    return run(dev, 3, t, ct__maps_of(CT__ISA_BASE, out->dtype)->value2[f], NULL, dev->tuning->grain);
}

ct_status ct__cpu_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_view *a, const ct_view *b,
                           const ct_view *g, ct_view *out)
{
    const ct_view *t[] = { out, a, b, g };
    return run(dev, 4, t, ct__maps_of(CT__ISA_BASE, out->dtype)->bar2[f][side], NULL, dev->tuning->grain);
}

/* -- single elements ------------------------------------------------------------------------------------- */

/* The kernel's result for one element of each operand. */
static double one(ct__kernel kernel, void *const *data, const void *context)
{
    static const int64_t step[CT__OPERANDS] = { 1, 1, 1, 1 };
    kernel(1, 1, data, step, step, context);
    return *(const double *)data[0];
}

double ct__cpu_number1(const ct_device *dev, ct_map1 f, const double p[2], double x)
{
    const ct__maps *t = ct__maps_of(dev->isa, CT_F64);
    return one(t->any_value[f] ? t->any_value[f] : t->value1[f], (void *const[]){ &x, &x }, p);
}

double ct__cpu_number1_bar(const ct_device *dev, ct_map1 f, const double p[2], double x, double y, double g)
{
    const ct__maps *t = ct__maps_of(dev->isa, CT_F64);
    return one(t->any_bar[f] ? t->any_bar[f] : t->bar1[f], (void *const[]){ &g, &x, &y, &g }, p);
}

double ct__cpu_number2(const ct_device *dev, ct_map2 f, double a, double b)
{
    (void)dev;
    return one(ct__maps_of(CT__ISA_BASE, CT_F64)->value2[f], (void *const[]){ &a, &a, &b }, NULL);
}

double ct__cpu_number2_bar(const ct_device *dev, ct_map2 f, int side, double a, double b, double g)
{
    (void)dev;
    return one(ct__maps_of(CT__ISA_BASE, CT_F64)->bar2[f][side], (void *const[]){ &g, &a, &b, &g }, NULL);
}

/* -- a x + b y ------------------------------------------------------------------------------------------- */

ct_status ct__cpu_axpby(ct_device *dev, double a, const ct_view *x, double b, const ct_view *y, ct_view *out)
{
    const ct_view *t[] = { out, x, y };
    ct__loop(dev, 3, t, ct__maps_of(CT__ISA_BASE, out->dtype)->axpby, (double[]){ a, b }, dev->tuning->grain);
    return CT_OK;
}
