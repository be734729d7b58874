/* Loads models from files. */
#include <math.h>
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/data/trend.h"
#include "gp/file/fingerprint.h"
#include "gp/likelihood/restricted.h"
#include "gp/likelihood/table.h"
#include "gp/model/memory.h"
#include "gp/model/param_units.h"
#include "gp/model/param_values.h"
#include "layout.h"

static bool finite_positive(const double *v, int64_t count, bool positive)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(v[i]) || (positive && !(v[i] > 0))) return false;
    return true;
}

/* The kernel from its text, with the parameters from the file. */
static void restore_kernel(ct__stream *s, ct_gp *gp, const char *kernel)
{
    gp->kernel = ct_kernel_parse(kernel);
    ct_status bound = gp->kernel ? ct_kernel_bind(gp->kernel, gp->rows.d) : CT_ENOMEM;
    if (!bound) bound = ct__gp_list_params(gp);
    if (bound) {
        s->bad = true;
        s->no_memory = bound == CT_ENOMEM;
        return;
    }
    ct__model_parameters(s, gp);
    for (int64_t i = 0; i < gp->params.count && !s->bad; i++)
        s->bad = ct__gp_check_param(gp, i, &gp->params.param[i]) || ct__gp_pass_on(gp, i);
}

/* The indices of levels must lie in the list. */
static void check_levels(ct__stream *s, const ct_gp *gp)
{
    double *index = s->bad ? NULL : ct__gp_doubles(gp->noise.given);
    if (!index && !s->bad) ct__stream_lacks_memory(s);
    for (int64_t i = 0; i < gp->rows.n && !s->bad; i++)
        s->bad = !(index[i] >= 0 && index[i] < (double)gp->noise.n_levels);
    free(index);
}

/* The transform's part of the likelihood. */
static void restore_slopes(ct__stream *s, ct_gp *gp)
{
    const ct_status status = ct__target_sum_slopes(&gp->target);
    s->bad = status;
    s->no_memory = status == CT_ENOMEM;
}

/* The basis on the data, and the trend's part of the factor. */
static void restore_trend(ct__stream *s, ct_gp *gp)
{
    ct_status status = ct__trend_make(&gp->mean, &gp->rows, gp->target.y, false);
    if (!status && gp->factor.L) status = ct__gp_restrict(gp, false);
    s->bad = status;
    s->no_memory = status == CT_ENOMEM;
}

static void read_body(ct__stream *s, ct_gp *gp)
{
    char *kernel = NULL;
    ct__model_middle(s, gp, &kernel);
    if (!s->bad &&
        (!finite_positive(gp->rows.shift, gp->rows.d, false) ||
         !finite_positive(gp->rows.scale, 2 * gp->rows.d, true) ||
         !finite_positive(&gp->target.shift, 1, false) || !finite_positive(&gp->target.scale, 1, true) ||
         !finite_positive(&gp->target.spread, 1, true) || !(gp->noise.mean >= 0)))
        s->bad = true;
    if (gp->options.noise == CT_NOISE_BY_LEVEL && !gp->noise.level) s->bad = true;
    if (!s->bad) restore_kernel(s, gp, kernel);
    free(kernel);
    ct__model_body(s, gp);
    if (gp->noise.level) check_levels(s, gp);
    if (!s->bad) restore_slopes(s, gp);
    if (!s->bad && gp->mean.basis) restore_trend(s, gp);
    ct__likelihood_take(gp, 0);
    gp->factor.ready = !s->bad;
    if (!gp->factor.L) ct__kept_drop(&gp->factor);
}

void *ct__stream_bad_file(const ct__stream *s, const char *path, const char *what)
{
    if (!s->broken) ct_device_fail(s->device, CT_EFORMAT, "%.200s: %s", path, what);
    return NULL;
}

ct_gp *ct__model_read(ct__stream *s, const char *path, ct_group *group)
{
    ct_dtype dtype = CT_F64;
    int64_t n = 0, d = 0;
    ct_gp_options options = { .group = group };
    s->version = ct__stream_small(s, 0, INT32_MAX);
    if (s->bad) return ct__stream_bad_file(s, path, "not a cotangent model");
    if (s->version < CT__OLDEST || s->version > CT__NEWEST) {
        ct_device_fail(s->device, CT_EFORMAT, "%.200s: a model of version %d, this library reads %d to %d",
                       path, s->version, CT__OLDEST, CT__NEWEST);
        return NULL;
    }
    ct__model_header(s, &dtype, &n, &d, &options);
    if (!s->bad && !ct__likelihood_for(s->device, ct__features_of(&options, dtype), NULL, path)) return NULL;
    const uint64_t left = ct__stream_left(s);
    if (s->bad || n < 1 || d < 1 || (uint64_t)n > left / 4 || (uint64_t)d > left / 24)
        return ct__stream_bad_file(s, path, "the model's header makes no sense");
    if (ct__gp_reserve(s->device, ct__gp_bytes(group, n, d, dtype, false), false, "ct_gp_load: the model",
                       "load it on a device that may hold more"))
        return NULL;
    ct_gp *gp = ct__gp_blank(s->device, NULL, n, d, dtype, &options);
    if (!gp) return NULL;
    read_body(s, gp);
    if (!s->bad) return gp;
    ct_gp_free(gp);
    if (!s->no_memory) return ct__stream_bad_file(s, path, "the model's contents make no sense");
    ct_device_fail(s->device, CT_ENOMEM, "%.200s: no memory for the model", path);
    return NULL;
}

bool ct__stream_undamaged(ct__stream *s, const char *path)
{
    s->bad = s->broken;
    ct__stream_skip(s);
    s->left += CT__CHECKSUM;
    ct__stream_seal(s);
    if (s->bad) ct__stream_bad_file(s, path, "the model is damaged or cut short: its checksum is wrong");
    return !s->bad;
}

char ct__stream_open(ct__stream *s, ct_device *device, const char *path)
{
    *s = (ct__stream){ .device = device, .reading = true };
    if (!path) ct_device_fail(device, CT_EINVAL, "ct_gp_load: the path is NULL");
    if (path) s->from = ct_file_reader_open(device, path);
    if (s->from) s->data = ct__gp_alloc(device, CT__STREAM_BUFFER, 1);
    const uint64_t size = ct_file_reader_size(s->from);
    s->left = size > CT__CHECKSUM ? size - CT__CHECKSUM : 0;
    const char kind = s->data ? ct__stream_magic(s, 0) : 0;
    if (!s->bad) return kind;
    ct__stream_bad_file(s, path, "not a cotangent model");
    return 0;
}

void ct__stream_close(ct__stream *s)
{
    ct_file_reader_close(s->from);
    free(s->data);
}

/* A wrong checksum takes precedence over earlier faults, as it explains them. In a group only process 0 reads
 * it. */
static ct_gp *read_file(ct__stream *s, const char *path, ct_group *group)
{
    ct_gp *gp = ct__model_read(s, path, group);
    if (ct_group_rank(group)) return gp;
    const bool all = !ct__stream_left(s) || !ct__group_is_one(group),
               undamaged = ct__stream_undamaged(s, path);
    if (undamaged && (all || !gp)) return gp;
    ct_gp_free(gp);
    return undamaged ? ct__stream_bad_file(s, path, "the model's contents make no sense") : NULL;
}

static ct_gp *load(ct_device *device, const char *path, ct_group *group)
{
    ct__stream s;
    if (ct_device_status(device)) return NULL;
    const char kind = ct__stream_open(&s, device, path);
    if (kind == 'O')
        ct_device_fail(device, CT_EFORMAT, "%.200s: a file of several outputs: load it with ct_outputs_load",
                       path);
    ct_gp *gp = kind == 'P' ? read_file(&s, path, group) : NULL;
    ct__stream_close(&s);
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
