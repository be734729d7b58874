/* The model's file. All numbers are little-endian; text is a length and bytes.
 *
 *     magic "\211CTGP\r\n\032", u32 version, u32 dtype
 *     i64 n, d;  u32 mean, noise, standardize
 *     f64 y_shift, y_scale, y_spread, given_mean;  f64 shift[d], scale[d], spread[d]
 *     text names[d + 1];  text kernel
 *     i64 n_params, each: f64 value, lower, upper, u32 fixed, start_given, prior kind, f64 a, b
 *     f64 jitter, nlml
 *     report: u32 optimizer, f64 objective, gradient_norm, jitter, seconds, i64 jittered, failed, iterations,
 *             evaluations, best, starts, u32 precision, f64 objective_error;
 *             from version 3 on: u32 end, objective_of
 *     zero bytes up to a multiple of 8
 *     in dtype: X (n d), y (n), given noise (n, where options.noise says so);
 *             up to version 3: alpha (n), lower triangle of L by rows; version 4 is the file without a factor
 *     u64 CRC-64 of all before */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/io.h>

#include "model.h"
#include "stream.h"

static const char magic[8] = { '\211', 'C', 'T', 'G', 'P', '\r', '\n', '\032' };
enum { OLDEST = 2, WITH_FACTOR = 3, WITHOUT_FACTOR = 4 };
enum { BUFFER = 1 << 18 };

/* -- one layout for both directions ---------------------------------------------------------------------- */

static void begin(ct__stream *s)
{
    char first[sizeof magic];
    memcpy(first, magic, sizeof magic);
    ct__stream_bytes(s, first, sizeof first);
    s->version = ct__stream_small(s, s->version, INT32_MAX);
}

static void header(ct__stream *s, ct_dtype *dtype, int64_t *n, int64_t *d, ct_gp_options *o)
{
    *dtype = (ct_dtype)ct__stream_small(s, (int)*dtype, CT_F32);
    ct__stream_numbers(s, n, 1, 8);
    ct__stream_numbers(s, d, 1, 8);
    o->mean = (ct_gp_mean)ct__stream_small(s, (int)o->mean, CT_MEAN_LINEAR);
    o->noise = (ct_gp_noise)ct__stream_small(s, (int)o->noise, CT_NOISE_NONE);
    o->standardize = (ct_gp_standardize)ct__stream_small(s, (int)o->standardize, CT_STANDARDIZE_OUTPUTS);
}

static void reals(ct__stream *s, double *const *v, int count)
{
    for (int i = 0; i < count; i++) ct__stream_numbers(s, v[i], 1, 8);
}

/* Everything between extents and data. Kernel text and parameters are there when it returns. */
static void middle(ct__stream *s, ct_gp *gp, char **kernel)
{
    reals(s, (double *[]){ &gp->y_shift, &gp->y_scale, &gp->y_spread, &gp->given_mean }, 4);
    ct__stream_numbers(s, gp->shift, 3 * (size_t)gp->d, 8);
    for (int64_t j = 0; j <= gp->d && !s->bad; j++) ct__stream_text(s, &gp->name[j]);
    ct__stream_text(s, kernel);
}

static void parameters(ct__stream *s, ct_gp *gp)
{
    int64_t count = gp->n_params;
    ct__stream_numbers(s, &count, 1, 8);
    if (count != gp->n_params) s->bad = true;
    for (int64_t i = 0; i < gp->n_params && !s->bad; i++) {
        ct_param *p = &gp->param[i];
        reals(s, (double *[]){ &p->value, &p->lower, &p->upper }, 3);
        p->fixed = ct__stream_small(s, p->fixed, 1);
        p->start_given = ct__stream_small(s, p->start_given, 1);
        p->prior.kind = (ct_prior_kind)ct__stream_small(s, (int)p->prior.kind, CT_PRIOR_SOFT_LOWER);
        reals(s, (double *[]){ &p->prior.a, &p->prior.b }, 2);
    }
}

static void results(ct__stream *s, ct_gp *gp)
{
    ct_fit_report *r = &gp->report;
    reals(s, (double *[]){ &gp->factor.jitter, &gp->factor.nlml }, 2);
    r->optimizer = (ct_optimizer)ct__stream_small(s, (int)r->optimizer, CT_OPTIMIZER_ADAM);
    reals(s, (double *[]){ &r->objective, &r->gradient_norm, &r->jitter, &r->seconds }, 4);
    int *count[] = { &r->jittered, &r->failed, &r->iterations, &r->evaluations, &r->best, &r->starts };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        int64_t v = *count[i];
        ct__stream_numbers(s, &v, 1, 8);
        if (v < 0 || v > INT32_MAX) s->bad = true;
        *count[i] = s->bad ? 0 : (int)v;
    }
    r->precision = (ct_precision)ct__stream_small(s, (int)r->precision, CT_PRECISION_MIXED);
    reals(s, (double *[]){ &r->objective_error }, 1);
    if (s->version == OLDEST) return;
    r->end = (ct_fit_end)ct__stream_small(s, (int)r->end, CT_FIT_FAILED);
    r->objective_of = (ct_fit_objective)ct__stream_small(s, (int)r->objective_of, CT_OBJECTIVE_LOO);
}

static void data(ct__stream *s, ct_gp *gp)
{
    bool given = gp->options.noise == CT_NOISE_GIVEN || gp->options.noise == CT_NOISE_GIVEN_PLUS;
    ct__stream_tensor(s, &gp->X, gp->dtype, ct_shape2(gp->n, gp->d));
    ct__stream_tensor(s, &gp->y, gp->dtype, ct_shape2(gp->n, 1));
    if (given) ct__stream_tensor(s, &gp->given, gp->dtype, ct_shape1(gp->n));
}

static void body(ct__stream *s, ct_gp *gp)
{
    unsigned char zero[8] = { 0 };
    results(s, gp);
    ct__stream_bytes(s, zero,
                     (8 - (s->before + s->at) % 8) % 8); /* so that what follows lies aligned in memory */
    data(s, gp);
    if (s->version == WITHOUT_FACTOR) return;
    if (s->reading && !ct__group_is_one(gp->options.group)) { /* each process computes its share */
        s->at = s->size;
        return;
    }
    ct__stream_tensor(s, &gp->factor.alpha, gp->dtype, ct_shape2(gp->n, 1));
    ct__stream_factor(s, gp);
}

/* -- saving ---------------------------------------------------------------------------------------------- */

static void write_all(ct__stream *s, ct_gp *gp, char *kernel)
{
    begin(s);
    header(s, &gp->dtype, &gp->n, &gp->d, &gp->options);
    middle(s, gp, &kernel);
    parameters(s, gp);
    body(s, gp);
    ct__stream_seal(s);
    ct__stream_flush(s);
}

/* Lets `write` write, some bytes at a time. */
static ct_status serialise(ct__stream *s, ct_gp *gp, const char *what,
                           void (*write)(ct__stream *, ct_gp *, char *))
{
    size_t length = ct_kernel_print(gp->kernel, false, NULL, 0) + 1;
    char *kernel = ct__gp_alloc(gp->device, length, 1);
    s->size = BUFFER;
    s->data = ct__gp_alloc(gp->device, s->size, 1);
    ct_status status = kernel && s->data ? CT_OK : CT_ENOMEM;
    if (kernel) ct_kernel_print(gp->kernel, false, kernel, length);
    for (int64_t j = 0; j <= gp->d && !status; j++)
        if (gp->name[j] && strlen(gp->name[j]) > CT__STREAM_TEXT)
            status = ct_device_fail(gp->device, CT_EINVAL, "%.200s: a name is longer than %d bytes", what,
                                    CT__STREAM_TEXT);
    if (!status) write(s, gp, kernel);
    free(kernel);
    free(s->data);
    if (s->no_memory)
        return ct_device_fail(gp->device, CT_ENOMEM, "%.200s: no memory for rows of the factor", what);
    return status || !s->bad ? status : ct_last_status(gp->device);
}

/* All that a fit depends on but its options. */
static void write_data(ct__stream *s, ct_gp *gp, char *kernel)
{
    header(s, &gp->dtype, &gp->n, &gp->d, &gp->options);
    middle(s, gp, &kernel);
    parameters(s, gp);
    data(s, gp);
    ct__stream_flush(s);
}

ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print)
{
    ct__stream s = { .device = gp->device };
    ct_status status = serialise(&s, gp, "ct_gp_fit", write_data);
    *print = s.crc;
    return status;
}

ct_status ct__gp_compare(ct_gp *gp)
{
    uint64_t print = 0;
    if (ct__group_is_one(gp->options.group)) return CT_OK;
    ct_status s = ct__gp_fingerprint(gp, &print);
    if (s) return s;
    return ct__group_same(gp->options.group, gp->device, &print, sizeof print,
                          "the data, kernels or options");
}

ct_status ct_gp_save_with(ct_gp *gp, const char *path, const ct_gp_save_options *options)
{
    if (!gp) return CT_EINVAL;
    if (!path) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_save: the path is NULL");
    const bool bare = options && options->no_factor;
    ct__gp_enter(gp);
    ct__stream s = { .device = gp->device, .version = bare ? WITHOUT_FACTOR : WITH_FACTOR };
    ct_status status = bare ? CT_OK : ct__gp_factorise(gp);
    if (!status && ct_group_rank(gp->options.group) == 0 && !(s.file = ct_new_file_open(gp->device, path)))
        status = ct_last_status(gp->device);
    if (!status) status = serialise(&s, gp, path, write_all);
    return ct__gp_leave(gp, ct_new_file_end(s.file, status));
}

ct_status ct_gp_save(ct_gp *gp, const char *path) { return ct_gp_save_with(gp, path, NULL); }

/* -- loading --------------------------------------------------------------------------------------------- */

static bool finite_positive(const double *v, int64_t count, bool positive)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(v[i]) || (positive && !(v[i] > 0))) return false;
    return true;
}

/* Kernel from its text, with the parameters of the file. */
static void restore_kernel(ct__stream *s, ct_gp *gp, const char *kernel)
{
    gp->kernel = ct_kernel_parse(kernel);
    ct_status bound = gp->kernel ? ct_kernel_bind(gp->kernel, gp->d) : CT_ENOMEM;
    if (!bound) bound = ct__gp_list_params(gp);
    if (bound) {
        s->bad = true;
        s->no_memory = bound == CT_ENOMEM;
        return;
    }
    parameters(s, gp);
    for (int64_t i = 0; i < gp->n_params && !s->bad; i++)
        s->bad = ct__gp_check_param(gp, i, &gp->param[i]) || ct__gp_pass_on(gp, i);
}

static void read_body(ct__stream *s, ct_gp *gp)
{
    char *kernel = NULL;
    middle(s, gp, &kernel);
    if (!s->bad &&
        (!finite_positive(gp->shift, gp->d, false) || !finite_positive(gp->scale, 2 * gp->d, true) ||
         !finite_positive(&gp->y_shift, 1, false) || !finite_positive(&gp->y_scale, 1, true) ||
         !finite_positive(&gp->y_spread, 1, true) || !(gp->given_mean >= 0)))
        s->bad = true;
    if (!s->bad) restore_kernel(s, gp, kernel);
    free(kernel);
    body(s, gp);
    gp->factor.ready = !s->bad;
    if (!gp->factor.L) ct__gp_drop_factor(gp);
    if (s->at != s->size) s->bad = true;
}

static ct_gp *bad_file(ct_device *device, const char *path, const char *what)
{
    ct_device_fail(device, CT_EFORMAT, "%.200s: %s", path, what);
    return NULL;
}

/* The checksum has been seen to be right: what is wrong from here on was written so. */
static ct_gp *read_model(ct_device *device, const char *path, ct_group *group, ct__stream *s)
{
    ct_dtype dtype = CT_F64;
    int64_t n = 0, d = 0;
    ct_gp_options options = { .group = group };
    begin(s);
    if (s->version < OLDEST || s->version > WITHOUT_FACTOR) {
        ct_device_fail(device, CT_EFORMAT, "%.200s: a model of version %d, this library reads %d to %d", path,
                       s->version, OLDEST, WITHOUT_FACTOR);
        return NULL;
    }
    header(s, &dtype, &n, &d, &options);
    if (s->bad || n < 1 || d < 1 || (uint64_t)n > s->size / 4 || (uint64_t)d > s->size / 24)
        return bad_file(device, path, "the model's header makes no sense");
    if (ct__gp_reserve(device, ct__gp_bytes(group, n, d, dtype, false), false, "ct_gp_load: the model",
                       "load it on a device that may hold more"))
        return NULL;
    ct_gp *gp = ct__gp_blank(device, NULL, n, d, dtype, &options);
    if (!gp) return NULL;
    read_body(s, gp);
    if (!s->bad) return gp;
    ct_gp_free(gp);
    ct_device_fail(device, s->no_memory ? CT_ENOMEM : CT_EFORMAT, "%.200s: %s", path,
                   s->no_memory ? "no memory for the model" : "the model's contents make no sense");
    return NULL;
}

/* A checksum at the end, which is right. */
static bool undamaged(ct__stream *s)
{
    ct__stream at_end = *s;
    at_end.at = s->size -= 8;
    ct__stream_seal(&at_end);
    return !at_end.bad;
}

static ct_gp *load(ct_device *device, const char *path, ct_group *group)
{
    ct_bytes file;
    if (ct_device_status(device)) return NULL;
    if (path ? ct_bytes_load(device, path, &file)
             : ct_device_fail(device, CT_EINVAL, "ct_gp_load: the path is NULL"))
        return NULL;
    ct__stream s = { .device = device, .data = file.data, .size = file.size, .reading = true };
    ct_gp *gp = file.size < sizeof magic + 12 || memcmp(file.data, magic, sizeof magic) != 0
                    ? bad_file(device, path, "not a cotangent model")
                : undamaged(&s)
                    ? read_model(device, path, group, &s)
                    : bad_file(device, path, "the model is damaged or cut short: its checksum is wrong");
    ct_bytes_free(device, &file);
    return gp;
}

ct_gp *ct_gp_load(ct_device *device, const char *path) { return load(device, path, NULL); }

ct_gp *ct_gp_load_for(ct_device *device, const char *path, ct_group *group)
{
    ct__group_enter(group);
    ct_gp *gp = ct__group_usable(group, device) ? NULL : load(device, path, group);
    if (!ct__group_leave(group, device, gp ? ct__gp_compare(gp) : ct_last_status(device))) return gp;
    ct_gp_free(gp);
    return NULL;
}
