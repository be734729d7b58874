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
 *     in dtype: X (n d), y (n), given noise (n, where options.noise says so), alpha (n), lower triangle of L
 *     by rows
 *     u64 CRC-64 of all before */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/io.h>

#include "crc64.h"
#include "gp/factor/packed.h"
#include "model.h"

static const char magic[8] = { '\211', 'C', 'T', 'G', 'P', '\r', '\n', '\032' };
enum { OLDEST = 2, VERSION = 3, LONGEST_TEXT = 1 << 20 };

/* -- one layout for both directions ---------------------------------------------------------------------- */

/* Writing: counts the bytes where data is NULL. Reading: `bad` from the first thing that does not fit. */
typedef struct stream {
    ct_device *device;
    unsigned char *data;
    size_t at, size;
    int version;
    bool reading, bad, no_memory;
} stream;

static void lack_memory(stream *s) { s->bad = s->no_memory = true; }

static void raw(stream *s, void *value, size_t bytes)
{
    if (s->bad || bytes > SIZE_MAX / 2 - s->at || (s->reading && bytes > s->size - s->at)) {
        s->bad = true;
        return;
    }
    if (s->reading)
        memcpy(value, s->data + s->at, bytes);
    else if (s->data)
        memcpy(s->data + s->at, value, bytes);
    s->at += bytes;
}

/* Element size 4 or 8, in little-endian order. */
static void numbers(stream *s, void *value, size_t count, size_t size)
{
    static const union {
        uint16_t word;
        unsigned char byte[2];
    } probe = { 1 };
    if (probe.byte[0] || (!s->reading && !s->data)) {
        raw(s, value, count * size);
        return;
    }
    unsigned char *v = value;
    for (size_t i = 0; i < count && !s->bad; i++) {
        unsigned char swapped[8];
        for (size_t b = 0; b < size; b++) swapped[b] = v[i * size + size - 1 - b];
        raw(s, swapped, size);
        for (size_t b = 0; s->reading && b < size; b++) v[i * size + size - 1 - b] = swapped[b];
    }
}

static void real(stream *s, double *v) { numbers(s, v, 1, 8); }

static void whole(stream *s, int64_t *v) { numbers(s, v, 1, 8); }

/* An int, an enum or a bool as u32 in [0, limit]. */
static int small(stream *s, int value, int limit)
{
    uint32_t v = (uint32_t)value;
    numbers(s, &v, 1, 4);
    if (v > (uint32_t)limit) s->bad = true;
    return s->bad ? 0 : (int)v;
}

static int count_of(stream *s, int value)
{
    int64_t v = value;
    whole(s, &v);
    if (v < 0 || v > INT32_MAX) s->bad = true;
    return s->bad ? 0 : (int)v;
}

/* *text is replaced by a new string when reading. */
static void text(stream *s, char **value)
{
    int length = small(s, *value ? (int)strlen(*value) : 0, LONGEST_TEXT);
    if (s->bad) return;
    if (s->reading) {
        if ((size_t)length > s->size - s->at) s->bad = true;
        char *fresh = s->bad ? NULL : ct__gp_alloc(s->device, (uint64_t)length + 1, 1);
        if (!fresh) {
            s->no_memory = !s->bad;
            s->bad = true;
            return;
        }
        free(*value);
        *value = fresh;
    }
    raw(s, *value, (size_t)length);
    if (s->reading && memchr(*value, 0, (size_t)length)) s->bad = true;
}

/* Everything between extents and data. Kernel text and parameters are there when it returns. */
static void middle(stream *s, ct_gp *gp, char **kernel)
{
    real(s, &gp->y_shift);
    real(s, &gp->y_scale);
    real(s, &gp->y_spread);
    real(s, &gp->given_mean);
    numbers(s, gp->shift, 3 * (size_t)gp->d, 8);
    for (int64_t j = 0; j <= gp->d && !s->bad; j++) text(s, &gp->name[j]);
    text(s, kernel);
}

static void parameters(stream *s, ct_gp *gp)
{
    int64_t count = gp->n_params;
    whole(s, &count);
    if (count != gp->n_params) s->bad = true;
    for (int64_t i = 0; i < gp->n_params && !s->bad; i++) {
        ct_param *p = &gp->param[i];
        real(s, &p->value);
        real(s, &p->lower);
        real(s, &p->upper);
        p->fixed = small(s, p->fixed, 1);
        p->start_given = small(s, p->start_given, 1);
        p->prior.kind = (ct_prior_kind)small(s, (int)p->prior.kind, CT_PRIOR_SOFT_LOWER);
        real(s, &p->prior.a);
        real(s, &p->prior.b);
    }
}

static void results(stream *s, ct_gp *gp)
{
    ct_fit_report *r = &gp->report;
    real(s, &gp->factor.jitter);
    real(s, &gp->factor.nlml);
    r->optimizer = (ct_optimizer)small(s, (int)r->optimizer, CT_OPTIMIZER_ADAM);
    real(s, &r->objective);
    real(s, &r->gradient_norm);
    real(s, &r->jitter);
    real(s, &r->seconds);
    int *count[] = { &r->jittered, &r->failed, &r->iterations, &r->evaluations, &r->best, &r->starts };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) *count[i] = count_of(s, *count[i]);
    r->precision = (ct_precision)small(s, (int)r->precision, CT_PRECISION_MIXED);
    real(s, &r->objective_error);
    if (s->version == OLDEST) return;
    r->end = (ct_fit_end)small(s, (int)r->end, CT_FIT_FAILED);
    r->objective_of = (ct_fit_objective)small(s, (int)r->objective_of, CT_OBJECTIVE_LOO);
}

/* Zero bytes up to a multiple of 8, so that what follows lies aligned in memory. */
static void align(stream *s)
{
    unsigned char zero[8] = { 0 };
    raw(s, zero, (8 - s->at % 8) % 8);
}

static bool has_given(const ct_gp *gp)
{
    return gp->options.noise == CT_NOISE_GIVEN || gp->options.noise == CT_NOISE_GIVEN_PLUS;
}

/* -- tensors --------------------------------------------------------------------------------------------- */

static void write_tensor(stream *s, const ct_tensor *t)
{
    size_t count = (size_t)ct_tensor_count(t), size = ct_dtype_size(ct_tensor_dtype(t));
    if (s->data && !s->bad) {
        void *host = s->data + s->at;
        if (ct_read(t, host, count * size)) s->bad = true;
        stream in_place = { .data = s->data, .at = s->at };
        numbers(&in_place, host, count, size);
    }
    s->at += count * size;
}

/* A model computes nothing from what is not finite. */
static void need_finite(stream *s, const void *host, size_t count, size_t size)
{
    for (size_t i = 0; i < count && !s->bad; i++)
        s->bad = !(size == 8 ? isfinite(((const double *)host)[i]) : isfinite(((const float *)host)[i]));
}

static ct_tensor *read_tensor(stream *s, ct_dtype dtype, ct_shape shape)
{
    int64_t count = ct_shape_count(shape);
    size_t size = ct_dtype_size(dtype);
    if (s->bad || count < 0 || (uint64_t)count > (s->size - s->at) / size) {
        s->bad = true;
        return NULL;
    }
    void *host = ct__gp_alloc(s->device, (uint64_t)count, size);
    if (host) numbers(s, host, (size_t)count, size);
    if (host && !s->bad) need_finite(s, host, (size_t)count, size);
    ct_tensor *t = host && !s->bad ? ct_from(s->device, dtype, shape, host) : NULL;
    free(host);
    if (!t && !s->bad) lack_memory(s);
    return t;
}

/* -- the factor, a row at a time ------------------------------------------------------------------------- */

/* Row i of L, of i + 1 numbers, to or from its two parts. */
static void move_row(ct_call *c, const ct__packed *L, int64_t i, const ct_tensor *row, bool reading)
{
    ct_view part[2];
    ct__packed_row(L, i, part);
    for (int64_t k = 0, at = 0, end; k < 2 && ct_is_view(part[k]); k++, at = end) {
        end = at + ct_view_dim(part[k], 1);
        ct_view piece = ct_view_slice(ct_view_of(row), 1, at, end, 1);
        ct_prim_copy(c, reading ? piece : part[k], reading ? part[k] : piece);
    }
}

/* One row of the file, NULL where it is no row of a factor. */
static ct_tensor *read_row(stream *s, ct_dtype dtype, int64_t i, unsigned char *host)
{
    size_t size = ct_dtype_size(dtype);
    double pivot = 0;
    float narrow = 0;
    numbers(s, host, (size_t)i + 1, size);
    if (s->bad) return NULL;
    memcpy(size == 8 ? (void *)&pivot : (void *)&narrow, host + (size_t)i * size, size);
    if (size == 4) pivot = (double)narrow;
    if (!(pivot > 0)) s->bad = true;
    need_finite(s, host, (size_t)i + 1, size);
    return s->bad ? NULL : ct_from(s->device, dtype, ct_shape2(1, i + 1), host);
}

static void move_rows(stream *s, ct_gp *gp, unsigned char *host)
{
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, "the factor's rows");
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    for (int64_t i = 0; i < gp->n && !s->bad; i++) {
        ct_tensor *row = s->reading ? read_row(s, gp->dtype, i, host)
                                    : ct_empty(s->device, gp->dtype, ct_shape2(1, i + 1));
        if (!row && !s->bad) lack_memory(s);
        if (!s->bad) move_row(c, &L, i, row, s->reading);
        if (!s->bad && !ct_call_fine(c)) lack_memory(s);
        if (!s->bad && !s->reading) write_tensor(s, row);
        ct_release(row);
    }
    ct_scope_close(c);
    ct_tape_reset(gp->tape);
}

static void write_triangle(stream *s, ct_gp *gp)
{
    if (s->data && !s->bad)
        move_rows(s, gp, NULL);
    else
        s->at += (size_t)gp->n * ((size_t)gp->n + 1) / 2 * ct_dtype_size(gp->dtype);
}

static void read_triangle(stream *s, ct_gp *gp)
{
    size_t size = ct_dtype_size(gp->dtype);
    if (s->bad || (uint64_t)gp->n * ((uint64_t)gp->n + 1) / 2 > (s->size - s->at) / size) {
        s->bad = true;
        return;
    }
    unsigned char *host = ct__gp_alloc(s->device, (uint64_t)gp->n, size);
    if (host) gp->factor.L = ct_zeros(s->device, gp->dtype, ct__packed_shape(gp->n));
    if (gp->factor.L)
        move_rows(s, gp, host);
    else
        lack_memory(s);
    free(host);
}

/* -- saving ---------------------------------------------------------------------------------------------- */

static void write_all(stream *s, ct_gp *gp, char *kernel)
{
    char head[sizeof magic];
    memcpy(head, magic, sizeof magic);
    raw(s, head, sizeof head);
    small(s, s->version, VERSION);
    small(s, (int)gp->dtype, CT_F32);
    whole(s, &gp->n);
    whole(s, &gp->d);
    small(s, (int)gp->options.mean, CT_MEAN_LINEAR);
    small(s, (int)gp->options.noise, CT_NOISE_NONE);
    small(s, (int)gp->options.standardize, CT_STANDARDIZE_OUTPUTS);
    middle(s, gp, &kernel);
    parameters(s, gp);
    results(s, gp);
    align(s);
    write_tensor(s, gp->X);
    write_tensor(s, gp->y);
    if (gp->given) write_tensor(s, gp->given);
    write_tensor(s, gp->factor.alpha);
    write_triangle(s, gp);
    uint64_t crc = s->data ? ct__crc64(s->data, s->at) : 0;
    numbers(s, &crc, 1, 8);
}

static char *kernel_text(ct_gp *gp)
{
    size_t length = ct_kernel_print(gp->kernel, false, NULL, 0) + 1;
    char *kernel = ct__gp_alloc(gp->device, length, 1);
    if (kernel) ct_kernel_print(gp->kernel, false, kernel, length);
    return kernel;
}

ct_status ct_gp_save(ct_gp *gp, const char *path)
{
    if (!gp) return CT_EINVAL;
    if (!path) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_save: the path is NULL");
    ct_status status = ct__gp_factorise(gp);
    if (status) return status;
    char *kernel = kernel_text(gp);
    if (!kernel) return CT_ENOMEM;
    stream s = { .device = gp->device, .version = VERSION };
    write_all(&s, gp, kernel);
    if (s.bad)
        status =
            ct_device_fail(gp->device, CT_EINVAL, "ct_gp_save: a name is longer than %d bytes", LONGEST_TEXT);
    else if (!(s.data = ct__gp_alloc(gp->device, s.at, 1)))
        status = CT_ENOMEM;
    s.at = 0;
    if (s.data) write_all(&s, gp, kernel);
    if (s.no_memory)
        status = ct_device_fail(gp->device, CT_ENOMEM, "%.200s: no memory for a row of the factor", path);
    else if (s.data)
        status = s.bad ? ct_last_status(gp->device) : ct_bytes_save(gp->device, path, s.data, s.at);
    free(s.data);
    free(kernel);
    return status;
}

/* -- loading --------------------------------------------------------------------------------------------- */

static bool finite_positive(const double *v, int64_t count, bool positive)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(v[i]) || (positive && !(v[i] > 0))) return false;
    return true;
}

/* Kernel from its text, with the parameters of the file. */
static void restore_kernel(stream *s, ct_gp *gp, const char *kernel)
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
    for (int64_t i = 0; i < gp->n_params && !s->bad; i++) {
        const ct_param *p = &gp->param[i];
        if (ct__gp_check_param(gp, i, p) || (i < gp->n_kernel && ct_kernel_set(gp->kernel, i, p)))
            s->bad = true;
    }
}

static void read_body(stream *s, ct_gp *gp)
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
    if (!s->bad) results(s, gp);
    align(s);
    gp->X = read_tensor(s, gp->dtype, ct_shape2(gp->n, gp->d));
    gp->y = read_tensor(s, gp->dtype, ct_shape2(gp->n, 1));
    if (has_given(gp)) gp->given = read_tensor(s, gp->dtype, ct_shape1(gp->n));
    gp->factor.alpha = read_tensor(s, gp->dtype, ct_shape2(gp->n, 1));
    read_triangle(s, gp);
    gp->factor.ready = !s->bad;
    if (s->at != s->size) s->bad = true;
}

static ct_gp *bad_file(ct_device *device, const char *path, const char *what)
{
    ct_device_fail(device, CT_EFORMAT, "%.200s: %s", path, what);
    return NULL;
}

/* The checksum has been seen to be right: what is wrong from here on was written so. */
static ct_gp *read_model(ct_device *device, const char *path, stream *s)
{
    char head[sizeof magic];
    raw(s, head, sizeof head);
    s->version = small(s, 0, VERSION);
    ct_dtype dtype = (ct_dtype)small(s, 0, CT_F32);
    int64_t n = 0, d = 0;
    whole(s, &n);
    whole(s, &d);
    ct_gp_options options = { .mean = (ct_gp_mean)small(s, 0, CT_MEAN_LINEAR),
                              .noise = (ct_gp_noise)small(s, 0, CT_NOISE_NONE),
                              .standardize = (ct_gp_standardize)small(s, 0, CT_STANDARDIZE_OUTPUTS) };
    if (s->bad || n < 1 || d < 1 || (uint64_t)n > s->size / 4 || (uint64_t)d > s->size / 24)
        return bad_file(device, path, "the model's header makes no sense");
    if (ct__gp_reserve(device, ct_gp_bytes_needed(n, d, dtype, false), false, "ct_gp_load: the model",
                       "load it on a device that may hold more"))
        return NULL;
    ct_gp *gp = ct__gp_blank(device, NULL, n, d, dtype, &options);
    if (!gp) return NULL;
    read_body(s, gp);
    if (!s->bad) return gp;
    ct_gp_free(gp);
    if (!s->no_memory) return bad_file(device, path, "the model's contents make no sense");
    ct_device_fail(device, CT_ENOMEM, "%.200s: no memory for the model", path);
    return NULL;
}

ct_gp *ct_gp_load(ct_device *device, const char *path)
{
    if (ct_device_status(device)) return NULL;
    if (!path) {
        ct_device_fail(device, CT_EINVAL, "ct_gp_load: the path is NULL");
        return NULL;
    }
    ct_bytes file;
    if (ct_bytes_load(device, path, &file)) return NULL;
    stream s = { .device = device, .data = file.data, .size = file.size, .reading = true };
    ct_gp *gp = NULL;
    uint64_t crc = 0;
    if (file.size < sizeof magic + 12 || memcmp(file.data, magic, sizeof magic) != 0) {
        bad_file(device, path, "not a cotangent model");
    } else {
        uint32_t version = 0;
        s.at = sizeof magic;
        numbers(&s, &version, 1, 4);
        s.at = file.size - 8;
        numbers(&s, &crc, 1, 8);
        s.at = 0;
        s.size = file.size - 8;
        if (crc != ct__crc64(file.data, s.size))
            bad_file(device, path, "the model is damaged or cut short: its checksum is wrong");
        else if (version < OLDEST || version > VERSION)
            ct_device_fail(device, CT_EFORMAT, "%.200s: a model of version %u, this library reads %d to %d",
                           path, (unsigned)version, OLDEST, VERSION);
        else
            gp = read_model(device, path, &s);
    }
    ct_bytes_free(device, &file);
    return gp;
}
