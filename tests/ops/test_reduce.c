/* Reductions of many numbers, which a GPU computes in pieces, over every axis and in every layout, against a
 * loop on the host. */
#include "one_tape.h"

typedef enum which { SUM, MAX, LOGSUMEXP, MIN, NORM, ARGMAX, ARGMIN, KINDS } which;

static double expected(which f, const double *x, int64_t count, int64_t step)
{
    int64_t high = 0, low = 0;
    long double sum = 0, squares = 0, exps = 0;
    for (int64_t i = 0; i < count; i++) {
        if (x[i * step] > x[high * step]) high = i;
        if (x[i * step] < x[low * step]) low = i;
    }
    const long double top = x[high * step];
    for (int64_t i = 0; i < count; i++) {
        sum += x[i * step];
        squares += (long double)x[i * step] * x[i * step];
        exps += expl(x[i * step] - top);
    }
    return (double)(long double[]){
        sum, top, top + logl(exps), x[low * step], sqrtl(squares), (long double)high, (long double)low
    }[f];
}

/* x is (outer, count, inner), reduced over the middle axis; turned: of a tensor (inner, count, outer) */
static void check_shape(int64_t outer, int64_t count, int64_t inner, bool turned, ct_dtype dtype)
{
    const int64_t all = outer * count * inner;
    ct_tensor *flat = ct_rand_normal(device, dtype, ct_shape1(all), 3, 1);
    ct_tensor *wide = ct_tensor_cast(flat, CT_F64);
    double *x = malloc((size_t)all * sizeof *x), *got = malloc((size_t)(outer * inner) * sizeof *got);
    assert_true(x && got);
    assert_ok(ct_read(wide, x, (size_t)all * sizeof *x), ct_message(device));
    ct_var v = ct_reshape(ct_constant(tape, flat),
                          turned ? ct_shape3(inner, count, outer) : ct_shape3(outer, count, inner));
    if (turned) v = ct_permute(v, (const int[]){ 2, 1, 0 });
    for (which f = SUM; f < KINDS; f++) {
        static ct_var (*const reduce[KINDS])(ct_var, int, bool) = { ct_sum,  ct_max,    ct_logsumexp, ct_min,
                                                                    ct_norm, ct_argmax, ct_argmin };
        ct_var y = reduce[f](v, 1, false);
        y = ct_reshape(ct_cast(y, CT_F64), ct_shape1(outer * inner));
        assert_ok(ct_check(y), ct_tape_message(tape));
        assert_ok(ct_read(ct_value(y), got, (size_t)(outer * inner) * sizeof *got), ct_message(device));
        const double rounding = dtype == CT_F32 ? 1e-7 : 1e-13;
        for (int64_t i = 0; i < outer; i++)
            for (int64_t j = 0; j < inner; j++) {
                const double *first = turned ? x + j * count * outer + i : x + i * count * inner + j;
                const double wanted = expected(f, first, count, turned ? outer : inner);
                if (!(fabs(got[i * inner + j] - wanted) <= rounding * (fabs(wanted) + sqrt((double)count))))
                    fail_msg("%d of (%d, %d, %d): %.17g is not %.17g", (int)f, (int)outer, (int)count,
                             (int)inner, got[i * inner + j], wanted);
            }
    }
    ct_tape_reset(tape);
    ct_release(flat);
    ct_release(wide);
    free(x);
    free(got);
}

static void many_numbers(void **state)
{
    (void)state;
    static const int64_t shape[][3] = { { 1, 1, 1 },      { 1, 63, 2 },    { 3, 65, 1 },     { 1, 16385, 1 },
                                        { 1, 900001, 1 }, { 3, 33000, 1 }, { 1, 20001, 33 }, { 2, 1000, 40 },
                                        { 40, 70, 3 },    { 2, 16, 40 },   { 2, 17, 40 },    { 1, 128, 1000 },
                                        { 3, 600, 32 },   { 1, 5000, 31 } };
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
        for (int variant = 0; variant < 4; variant++)
            check_shape(shape[k][0], shape[k][1], shape[k][2], variant % 2, variant / 2 ? CT_F32 : CT_F64);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(many_numbers) };
    return cmocka_run_group_tests_name("reduce", tests, open_tape, close_tape);
}
