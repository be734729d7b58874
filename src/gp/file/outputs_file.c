/* The file of several outputs. Numbers and text are as in a model's file.
 *
 *     magic "\211CTGO\r\n\032", u32 version, u32 kind, i64 p
 *     for each output: text name, u32 kind, f64 shift, scale; for EACH these two are 0 and 1
 *     EACH:    p models, each as in its file from the version on
 *     SHARED:  the whole likewise; in dtype: the standardised outputs (n p)
 *     JOINT:   the whole likewise, of pairs
 *     u64 CRC-64 of all before */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/likelihood/factorise.h"
#include "gp/likelihood/joint.h"
#include "gp/likelihood/table.h"
#include "gp/outputs/outputs.h"
#include "layout.h"

enum { VERSION = 1 };

/* The part between the magic and the outputs' names. Reads or writes *p. */
static void head(ct__stream *s, ct_outputs_kind *kind, int64_t *p)
{
    if (ct__stream_small(s, VERSION, INT32_MAX) != VERSION) s->bad = true;
    *kind = (ct_outputs_kind)ct__stream_small(s, (int)*kind, CT_OUTPUTS_JOINT);
    ct__stream_numbers(s, p, 1, 8);
    if (*p < 1 || *p > CT_OUTPUTS_MOST) s->bad = true;
}

static void output(ct__stream *s, ct_column *c, double *shift, double *scale)
{
    ct__model_column(s, c);
    ct__stream_numbers(s, shift, 1, 8);
    ct__stream_numbers(s, scale, 1, 8);
    if (!s->bad && (!isfinite(*shift) || !(*scale > 0) || isinf(*scale))) s->bad = true;
}

/* -- saving ---------------------------------------------------------------------------------------------- */

static ct_status write_all(ct__stream *s, ct_outputs *o, bool bare, const char *path)
{
    ct_status status = ct__stream_buffer(s);
    if (status) return status;
    ct__stream_magic(s, 'O');
    head(s, &o->kind, &o->p);
    for (int64_t j = 0; j < o->p; j++) {
        double none = 0, one = 1;
        output(s, &o->column[j], o->whole ? &o->shift[j] : &none, o->whole ? &o->scale[j] : &one);
    }
    if (o->whole) status = ct__model_write(s, o->whole, bare, path);
    if (!status && o->kind == CT_OUTPUTS_SHARED)
        ct__stream_tensor(s, &o->whole->likelihood.outputs, o->whole->rows.dtype,
                          ct_tensor_shape(o->whole->likelihood.outputs));
    for (int64_t j = 0; j < o->p && !o->whole && !status; j++)
        status = ct__model_write(s, o->model[j], bare, path);
    return status ? status : ct__stream_end(s);
}

ct_status ct_outputs_save(ct_outputs *o, const char *path, const ct_gp_save_options *options)
{
    if (!o) return CT_EINVAL;
    if (!path) return ct_device_fail(o->device, CT_EINVAL, "ct_outputs_save: the path is NULL");
    if (o->p == 1 && !o->whole) return ct_gp_save_with(o->model[0], path, options);
    const bool bare = options && options->no_factor;
    ct__stream s = { .device = o->device };
    ct_status status = CT_OK;
    if (!bare && o->whole) status = ct__gp_factorise(o->whole);
    for (int64_t j = 0; j < o->p && !bare && !o->whole && !status; j++)
        status = ct__gp_factorise(o->model[j]);
    for (int64_t j = 0; j < o->p && !status; j++)
        if (strlen(o->column[j].name) > CT__STREAM_TEXT)
            status = ct_device_fail(o->device, CT_EINVAL, "%.200s: a name is longer than %d bytes", path,
                                    CT__STREAM_TEXT);
    if (!status && !(s.to = ct_file_writer_open(o->device, path))) status = ct_last_status(o->device);
    if (!status) status = write_all(&s, o, bare, path);
    free(s.data);
    return ct_file_writer_end(s.to, status);
}

/* -- loading --------------------------------------------------------------------------------------------- */

/* Reads names and scales; NULL with s->bad. */
static ct_outputs *read_head(ct__stream *s)
{
    ct_outputs_kind kind = CT_OUTPUTS_EACH;
    int64_t p = 0;
    head(s, &kind, &p);
    if (s->bad) return NULL;
    ct_column *columns = ct__gp_alloc(s->device, (uint64_t)p, sizeof *columns);
    double *scales = columns ? ct__gp_alloc(s->device, 2 * (uint64_t)p, sizeof *scales) : NULL;
    if (!scales) ct__stream_lacks_memory(s);
    for (int64_t j = 0; j < p && !s->bad; j++) output(s, &columns[j], &scales[j], &scales[p + j]);
    ct_outputs *o = s->bad ? NULL : ct__outputs_blank(s->device, kind, p, 0, columns);
    if (!s->bad && !o) ct__stream_lacks_memory(s);
    if (o) memcpy(o->shift, scales, 2 * (size_t)p * sizeof *scales);
    for (int64_t j = 0; j < p && columns; j++) ct__model_column_drop(&columns[j]);
    free(columns);
    free(scales);
    return o;
}

/* Whether the column's levels are the outputs. */
static bool of_outputs(const ct_outputs *o, const ct_column *c)
{
    bool same = c && c->kind == CT_COLUMN_CATEGORY && c->n_levels == o->p;
    for (int64_t j = 0; j < o->p && same; j++) same = !strcmp(c->levels[j], o->column[j].name);
    return same;
}

/* Whether the models fit the outputs. */
static bool consistent(const ct_outputs *o)
{
    for (int64_t j = 0; j < o->p; j++)
        if (ct_outputs_find(o, o->column[j].name) != j) return false;
    for (int64_t j = 0; j < o->p && !o->whole; j++) {
        const ct_gp *gp = o->model[j];
        bool same = gp->rows.dtype == o->model[0]->rows.dtype && gp->rows.d == o->d &&
                    !strcmp(ct_gp_output(gp)->name, o->column[j].name);
        for (int64_t k = 0; k < gp->rows.d && same; k++)
            same = !strcmp(gp->rows.column[k].name, o->model[0]->rows.column[k].name);
        if (!same) return false;
    }
    const ct_gp *w = o->whole;
    bool by_output = w && w->options.noise == CT_NOISE_BY_LEVEL && w->noise.n_levels == o->p && w->rows.d > 1;
    for (int64_t j = 0; j < o->p && by_output; j++) by_output = w->noise.level[j] == (double)j;
    by_output = by_output && of_outputs(o, w->noise.column) && of_outputs(o, &w->rows.column[w->rows.d - 1]);
    if (o->kind == CT_OUTPUTS_JOINT && !by_output) return false;
    return !w || (w->params.mean_at < 0 && !w->target.transform.kind && !w->mean.basis &&
                  w->target.shift == 0 && w->target.scale == 1 && w->target.spread > 0 &&
                  w->options.noise != CT_NOISE_GIVEN && w->options.noise != CT_NOISE_GIVEN_PLUS);
}

/* Reads what the whole has besides its model. */
static void read_rest(ct__stream *s, ct_outputs *o)
{
    ct_gp *w = o->whole;
    if (o->kind == CT_OUTPUTS_SHARED) {
        ct__stream_tensor(s, &w->likelihood.outputs, w->rows.dtype, ct_shape2(w->rows.n, o->p));
        for (int64_t j = 0; j < o->p; j++) w->target.log_units += (double)w->rows.n * log(o->scale[j]);
        ct__likelihood_take(w, CT__SHARED_OUTPUTS);
        return;
    }
    double *level = ct__gp_doubles(w->noise.given);
    int64_t rows[CT_OUTPUTS_MOST] = { 0 };
    if (!level || ct__joint_find_grid(w)) ct__stream_lacks_memory(s);
    ct__likelihood_take(w, CT__JOINT_OUTPUTS);
    for (int64_t i = 0; i < w->rows.n && level; i++) {
        w->target.log_units += log(o->scale[(int64_t)level[i]]);
        rows[(int64_t)level[i]]++;
    }
    for (int64_t j = 0; j < o->p; j++) s->bad |= !rows[j];
    free(level);
    o->d = w->rows.d - 1;
}

/* Reads the models; false with the reason on the device. */
static bool read_models(ct__stream *s, ct_outputs *o, const char *path)
{
    const bool whole = o->kind != CT_OUTPUTS_EACH;
    for (int64_t j = 0; j < (whole ? 1 : o->p); j++) {
        ct_gp *gp = ct__model_read(s, path, NULL);
        if (!gp) return false;
        *(whole ? &o->whole : &o->model[j]) = gp;
        o->d = gp->rows.d;
    }
    if (o->whole && consistent(o)) read_rest(s, o);
    if (s->no_memory)
        ct_device_fail(o->device, CT_ENOMEM, "%.200s: no memory for the outputs", path);
    else if (s->bad || !consistent(o) || ct__stream_left(s))
        ct__stream_bad_file(s, path, "the outputs' contents make no sense");
    else
        return true;
    return false;
}

/* A wrong checksum takes precedence over earlier faults, as it explains them. */
static ct_outputs *read_file(ct__stream *s, const char *path)
{
    ct_outputs *o = read_head(s);
    bool good = o && read_models(s, o, path);
    if (!o && s->no_memory)
        ct_device_fail(s->device, CT_ENOMEM, "%.200s: no memory for the outputs", path);
    else if (!o)
        ct__stream_bad_file(s, path, "the outputs' header makes no sense");
    if (!s->no_memory && !ct__stream_undamaged(s, path)) good = false;
    if (good) return o;
    ct_outputs_free(o);
    return NULL;
}

ct_outputs *ct_outputs_load(ct_device *device, const char *path)
{
    ct__stream s;
    if (ct_device_status(device)) return NULL;
    const char kind = ct__stream_open(&s, device, path);
    ct_outputs *o = kind == 'O' ? read_file(&s, path) : NULL;
    ct__stream_close(&s);
    if (kind != 'P') return o;
    ct_gp *gp = ct_gp_load(device, path);
    if (gp && !(o = ct_outputs_of(&gp, 1))) ct_gp_free(gp);
    return o;
}
