/* Checking a backward rule against finite differences of the forward (compare.c says how).
 *
 * f32 inputs are converted to f64, where differences are accurate enough. Then the f32 gradients are compared
 * with the f64 ones entry by entry. An op that refuses f64 is checked by differences in f32. */
#include <cotangent/gradcheck.h>

#include <float.h>

#include "compare.h"
#include "sample.h"

static void title(ct__report *r, const ct__job *j)
{
    ct__put(&r->text, "%s(", j->op->name);
    for (int i = 0; i < j->n; i++) {
        char text[96];
        ct__put(&r->text, "%s%s %s", i ? ", " : "",
                ct__shape_text(ct_tensor_shape(j->in[i]), text, sizeof text),
                ct_dtype_name(ct_tensor_dtype(j->in[i])));
    }
    ct__put(&r->text, ")\n");
}

static ct_status run_job(const ct__job *j, ct__report *r)
{
    bool single = false;
    for (int i = 0; i < j->n; i++) single = single || ct_tensor_dtype(j->in[i]) == CT_F32;
    double wanted = j->options ? j->options->tolerance : 0, tolerance = single || wanted <= 0 ? 1e-6 : wanted;
    double tolerance32 = wanted > 0 ? wanted : 2e-2;
    title(r, j);

    ct__check wide, narrow;
    ct__point at_wide, at_narrow;
    ct_status status = ct__check_open(&wide, j, CT_F64);
    bool refused = status != CT_OK && single;
    if (status == CT_OK && !wide.differentiable) ct__put(&r->text, "  no gradient flows: nothing to check\n");
    bool checked = status == CT_OK && wide.differentiable && ct__point_take(&wide, &at_wide) &&
                   ct__compare_all(&wide, r, wide.eps > DBL_EPSILON ? tolerance32 : tolerance, &at_wide);
    if (!refused) status = wide.status;
    if (single && (checked || refused)) {
        if (ct__check_open(&narrow, j, CT_F32) == CT_OK && narrow.differentiable) {
            if (checked)
                ct__compare_f32(&narrow, r, tolerance32, &at_wide);
            else if (ct__point_take(&narrow, &at_narrow))
                ct__compare_all(&narrow, r, tolerance32, &at_narrow);
        }
        status = narrow.status;
        ct__check_close(&narrow);
    }
    ct__check_close(&wide);
    return status;
}

/* Writes the report's last line and returns the verdict. */
static ct_status summary(ct_device *device, const char *name, ct__report *r, ct_status status)
{
    if (status)
        ct__put(&r->text, "  error: %s\n", ct_message(device));
    else
        ct__put(&r->text, "%d checks, %d failed\n", r->checks, r->failures);
    if (status != CT_OK || r->failures == 0) return status;
    return ct__fail(device, CT_ENUMERIC, "gradcheck of %s: %d of %d checks failed; the first: %s", name,
                    r->failures, r->checks, r->first);
}

ct_status ct_gradcheck(const ct_op *op, ct_tensor *const *in, int n, const void *attr, size_t attr_size,
                       uint64_t symmetric, const ct_gradcheck_options *options, char *text, size_t size)
{
    ct__report r = { .text = ct__text_at(text, size) };
    ct_device *device = in && n > 0 ? ct_tensor_device(in[0]) : NULL;
    if (!op) return ct__fail(device, CT_EINVAL, "gradcheck: the op is NULL");
    if (!device || n > CT_MAX_INPUTS)
        return ct__fail(device, CT_EINVAL, "gradcheck: needs 1 to %d inputs, got %d", CT_MAX_INPUTS, n);
    for (int i = 0; i < n; i++)
        if (!in[i]) return ct__fail(device, CT_EINVAL, "gradcheck of %s: input %d is NULL", op->name, i);
    for (int i = 0; i < n; i++) {
        ct_shape s = ct_tensor_shape(in[i]);
        if ((symmetric >> i & 1) && (s.ndim < 2 || s.dim[s.ndim - 1] != s.dim[s.ndim - 2]))
            return ct__fail(device, CT_ESHAPE,
                            "gradcheck of %s: input %d is said to be symmetric, but is not square", op->name,
                            i);
    }
    ct__job j = { op, in, n, attr, attr_size, symmetric, options };
    ct_status status = run_job(&j, &r);
    return summary(device, op->name, &r, status);
}

ct_status ct_gradcheck_op(ct_device *device, const ct_op *op, const ct_gradcheck_options *options, char *text,
                          size_t size)
{
    static const int64_t sizes[] = { 1, 3, 5 };
    ct__report r = { .text = ct__text_at(text, size) };
    if (!device || !op || !op->sample)
        return ct__fail(device, CT_EINVAL, "gradcheck: %s",
                        !device ? "no device"
                        : !op   ? "the op is NULL"
                                : "the op has no sample function");
    ct_status status = ct_device_status(device);
    for (int variant = 0, n_variants = 1; variant < n_variants && status == CT_OK; variant++)
        for (size_t at = 0; at < 2 * (sizeof sizes / sizeof *sizes) && status == CT_OK; at++) {
            bool batched = at % 2;
            ct_sample s = { .device = device,
                            .dtype = CT_F64,
                            .size = sizes[at / 2],
                            .batch = batched ? ct_shape1(2) : ct_shape0(),
                            .seed = options ? options->seed : 0,
                            .variant = variant };
            status = ct__sample_draw(&s, op);
            n_variants = s.n_variants;
            if (status == CT_OK && s.n_in > 0 && batched == s.batched && !s.kinks) {
                ct__job j = {
                    op, s.in, s.n_in, s.attr_size ? s.attr : NULL, s.attr_size, s.symmetric, options
                };
                ct__put(&r.text, "variant %d, size %lld%s: ", variant, (long long)s.size,
                        batched ? ", batch 2" : "");
                status = run_job(&j, &r);
            }
            ct__sample_clear(&s);
        }
    return summary(device, op->name, &r, status);
}
