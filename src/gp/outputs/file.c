/* Saves and loads several outputs. Their file has
 *
 *     outputs       u32 kind, i64 p; for each output a column, f64 shift, scale; for EACH they are 0 and 1
 *     EACH:         p models; the others: the whole */
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "gp/file/archive.h"
#include "gp/file/columns_record.h"
#include "gp/file/fields.h"
#include "gp/file/records.h"
#include "gp/likelihood/factorise.h"
#include "whole.h"

static const ct__field head[] = { CT__FIELD(ENUM, ct_outputs, kind, 0, CT_OUTPUTS_COREGIONALISED),
                                  CT__FIELD(I64, ct_outputs, p, 1, CT_OUTPUTS_MOST) };

static void columns(ct__stream *s, ct_outputs *o)
{
    for (int64_t j = 0; j < o->p && !s->bad; j++) {
        ct__stream_column(s, &o->column[j]);
        ct__stream_reals(s, &o->shift[j], 1, false);
        ct__stream_reals(s, &o->scale[j], 1, true);
    }
}

/* -- saving ---------------------------------------------------------------------------------------------- */

ct_status ct_outputs_save(ct_outputs *o, const char *path, const ct_gp_save_options *options)
{
    if (!o) return CT_EINVAL;
    if (!path) return ct_device_fail(o->device, CT_EINVAL, "ct_outputs_save: the path is NULL");
    if (o->p == 1 && !o->whole) return ct_gp_save_with(o->model[0], path, options);
    const bool bare = options && options->no_factor;
    int64_t count;
    ct_gp **model = ct__outputs_fitted(o, &count);
    ct__stream s = { .device = o->device };
    ct_status status = CT_OK;
    for (int64_t j = 0; j < count && !bare && !status; j++) status = ct__gp_factorise(model[j]);
    if (!status) status = ct__archive_begin(&s, o->device, path);
    if (!status) {
        ct__stream_name(&s, "outputs");
        CT__STREAM_FIELDS(&s, o, head);
        columns(&s, o);
    }
    for (int64_t j = 0; j < count && !status; j++)
        status = ct__records_write(&s, model[j], bare ? CT__RECORDS_BARE : CT__RECORDS_ALL, path);
    return ct__archive_end(&s, status);
}

/* -- loading --------------------------------------------------------------------------------------------- */

/* Reads names and scales; NULL with s->bad. */
static ct_outputs *read_head(ct__stream *s)
{
    ct_outputs of = { .p = 0 };
    CT__STREAM_FIELDS(s, &of, head);
    if (s->bad) return NULL;
    ct_outputs *o = ct__outputs_blank(s->device, of.kind, of.p, 0, NULL);
    if (o)
        columns(s, o);
    else
        ct__stream_check(s, CT_ENOMEM);
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
        if (!ct__outputs_alike(o->model[j], o->model[0]) ||
            strcmp(ct_gp_output(o->model[j])->name, o->column[j].name) != 0)
            return false;
    }
    const ct_gp *w = o->whole;
    bool by_output = w && w->options.noise == CT_NOISE_BY_LEVEL && w->noise.n_levels == o->p && w->rows.d > 1;
    for (int64_t j = 0; j < o->p && by_output; j++) by_output = w->noise.level[j] == (double)j;
    by_output = by_output && of_outputs(o, w->noise.column) && of_outputs(o, &w->rows.column[w->rows.d - 1]);
    if (o->kind == CT_OUTPUTS_COREGIONALISED && !by_output) return false;
    return !w || (w->params.mean_at < 0 && !w->target.transform.kind && !w->mean.basis &&
                  w->target.shift == 0 && w->target.scale == 1 && w->target.spread > 0 &&
                  w->options.noise != CT_NOISE_GIVEN && w->options.noise != CT_NOISE_GIVEN_PLUS);
}

/* Reads the models; false with the reason on the device, or with s->bad. */
static bool read_models(ct__stream *s, ct_outputs *o, const char *path)
{
    const bool whole = o->kind != CT_OUTPUTS_EACH;
    char *word = NULL;
    for (int64_t j = 0; j < (whole ? 1 : o->p) && !s->bad; j++) {
        ct__stream_text(s, &word);
        s->bad |= !word || strcmp(word, "model") != 0;
        ct_gp *gp = s->bad ? NULL : ct__records_read(s, path, NULL);
        *(whole ? &o->whole : &o->model[j]) = gp;
        if (!gp) break;
        o->d = gp->rows.d;
    }
    free(word);
    if (s->bad || !(whole ? o->whole : o->model[o->p - 1])) return false;
    const ct_tensor *shared = o->whole ? o->whole->likelihood.outputs : NULL;
    s->bad |= !consistent(o) || ct__stream_left(s) || (o->kind == CT_OUTPUTS_SHARED) != (shared != NULL) ||
              (shared && ct_tensor_dim(shared, 1) != o->p);
    if (o->kind == CT_OUTPUTS_COREGIONALISED) o->d--;
    if (o->whole && !s->bad) ct__stream_check(s, ct__whole_complete(o, o->whole, NULL));
    return !s->bad;
}

static ct_outputs *read_file(ct__stream *s, const char *path)
{
    ct_outputs *o = read_head(s);
    bool good = o && read_models(s, o, path);
    if (s->no_memory) ct_device_fail(s->device, CT_ENOMEM, "%.200s: no memory for the outputs", path);
    if (s->bad) ct__archive_refuse(s, path, "the outputs' contents make no sense");
    if (!s->no_memory && !ct__archive_undamaged(s, path)) good = false;
    if (good) return o;
    ct_outputs_free(o);
    return NULL;
}

ct_outputs *ct_outputs_load(ct_device *device, const char *path)
{
    ct__stream s;
    if (ct_device_status(device)) return NULL;
    const char *kind = ct__archive_open(&s, device, path);
    const bool one = kind && !strcmp(kind, "model");
    ct_outputs *o = kind && !one ? read_file(&s, path) : NULL;
    ct__archive_close(&s);
    if (!one) return o;
    ct_gp *gp = ct_gp_load(device, path);
    if (gp && !(o = ct_outputs_of(&gp, 1))) ct_gp_free(gp);
    return o;
}
