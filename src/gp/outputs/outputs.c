/* Several outputs as an object, and the models of single outputs. With SHARED such a model has the whole's X
 * and factor, its own y and α = C⁻¹y, and the whole's parameters in its own units. */
#include "outputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/columns.h"
#include "gp/data/numbers.h"
#include "gp/likelihood/factorise.h"
#include "gp/likelihood/table.h"
#include "gp/model/param_units.h"
#include "gp/model/param_values.h"

/* -- building -------------------------------------------------------------------------------------------- */

/* Copies of the columns, or numbered ones. */
static ct_column *copy_columns(ct_device *device, int64_t p, const ct_column *columns)
{
    ct_column own[CT_OUTPUTS_MOST];
    char name[CT_OUTPUTS_MOST][24];
    for (int64_t j = 0; j < p; j++) {
        snprintf(name[j], sizeof name[j], "y%lld", (long long)j);
        own[j] = columns ? columns[j] : (ct_column){ .name = name[j] };
    }
    return ct__columns_copy(device, own, p - 1, &own[p - 1]);
}

ct_outputs *ct__outputs_blank(ct_device *device, ct_outputs_kind kind, int64_t p, int64_t d,
                              const ct_column *columns)
{
    ct_outputs *o = ct__gp_alloc(device, 1, sizeof *o);
    if (!o) return NULL;
    *o = (ct_outputs){ .device = device, .kind = kind, .p = p, .d = d };
    for (int64_t j = 0; j < p; j++) o->scale[j] = 1;
    o->column = copy_columns(device, p, columns);
    if (o->column) return o;
    ct_outputs_free(o);
    return NULL;
}

void ct__outputs_changed(ct_outputs *o)
{
    for (int64_t j = 0; j < o->p; j++) {
        ct_gp_free(o->model[j]);
        o->model[j] = NULL;
    }
    o->of = NULL;
}

bool ct__outputs_alike(const ct_gp *a, const ct_gp *b)
{
    bool same = a->device == b->device && a->rows.dtype == b->rows.dtype && a->rows.d == b->rows.d;
    for (int64_t k = 0; k < a->rows.d && same; k++)
        same = !strcmp(a->rows.column[k].name, b->rows.column[k].name);
    return same;
}

void ct_outputs_free(ct_outputs *o)
{
    if (!o) return;
    ct__outputs_changed(o);
    ct_gp_free(o->whole);
    ct__columns_free(o->column, o->p);
    free(o);
}

/* -- properties ------------------------------------------------------------------------------------------ */

int64_t ct_outputs_count(const ct_outputs *o) { return o ? o->p : 0; }
ct_outputs_kind ct_outputs_kind_of(const ct_outputs *o) { return o ? o->kind : CT_OUTPUTS_EACH; }
ct_device *ct_outputs_device(const ct_outputs *o) { return o ? o->device : NULL; }
ct_gp *ct_outputs_joint_model(const ct_outputs *o) { return o ? o->whole : NULL; }

const char *ct_outputs_name(const ct_outputs *o, int64_t j)
{
    return o && j >= 0 && j < o->p ? o->column[j].name : NULL;
}

int64_t ct_outputs_find(const ct_outputs *o, const char *name)
{
    for (int64_t j = 0; o && name && j < o->p; j++)
        if (!strcmp(o->column[j].name, name)) return j;
    return -1;
}

int64_t ct_outputs_values(const ct_outputs *o)
{
    int64_t sum = 0;
    if (o && o->whole) return o->whole->rows.n * (o->kind == CT_OUTPUTS_SHARED ? o->p : 1);
    for (int64_t j = 0; o && j < o->p; j++) sum += o->model[j]->rows.n;
    return sum;
}

/* -- a single one ---------------------------------------------------------------------------------------- */

/* The prior of v' = origin + r v, given that of v. */
static ct_prior moved(ct_prior prior, double origin, double r)
{
    switch (prior.kind) {
    case CT_PRIOR_NORMAL: return (ct_prior){ prior.kind, origin + r * prior.a, r * prior.b };
    case CT_PRIOR_LOG_NORMAL: return (ct_prior){ prior.kind, prior.a + log(r), prior.b };
    case CT_PRIOR_GAMMA: return (ct_prior){ prior.kind, prior.a, prior.b / r };
    case CT_PRIOR_HALF_CAUCHY:
    case CT_PRIOR_SOFT_LOWER:
    case CT_PRIOR_CAUCHY_LOWER: return (ct_prior){ prior.kind, r * prior.a, prior.b };
    case CT_PRIOR_NONE: break;
    }
    return prior;
}

/* Converts gp's parameters from the whole's units to its own. Their s coordinates keep their bits. */
static ct_status change_units(ct_gp *gp, const ct_gp *whole)
{
    ct_status s = CT_OK;
    for (int64_t i = 0; i < gp->params.count && !s; i++) {
        ct_param *p = &gp->params.param[i];
        const double r = ct__gp_unit(gp, i) / ct__gp_unit(whole, i),
                     origin = ct__gp_origin(gp, i) - r * ct__gp_origin(whole, i), kept = gp->params.s[i];
        p->value = origin + r * p->value;
        p->lower = fmin(origin + r * p->lower, p->value);
        p->upper = fmax(origin + r * p->upper, p->value);
        p->prior = moved(p->prior, origin, r);
        s = ct__gp_check_param(gp, i, p);
        if (!s) s = ct__gp_pass_on(gp, i);
        gp->params.s[i] = kept;
    }
    return s;
}

/* Takes y of output j from the whole's outputs, and computes α with the shared factor. */
static ct_status take_column(const ct_outputs *o, ct_gp *gp, int64_t j)
{
    double *y = ct__gp_doubles(o->whole->likelihood.outputs);
    if (!y) return ct_last_status(o->device);
    for (int64_t i = 0; i < gp->rows.n; i++) y[i] = y[i * o->p + j];
    ct_release(gp->target.y);
    ct_release(gp->likelihood.outputs);
    ct_release(gp->factor.alpha);
    gp->likelihood.outputs = gp->factor.alpha = NULL;
    ct__likelihood_take(gp, 0);
    gp->target.y = ct__gp_tensor(o->device, gp->rows.dtype, ct_shape2(gp->rows.n, 1), y);
    free(y);
    gp->factor.ready = false;
    const ct_status s = gp->target.y ? ct__gp_complete(gp) : ct_last_status(o->device);
    if (s != CT_ENUMERIC) return s;
    return ct_device_fail(o->device, s, "output '%.64s': its likelihood is not finite", o->column[j].name);
}

/* Turns gp, a copy of the whole, into the model of output j. */
static ct_status extract(const ct_outputs *o, ct_gp *gp, int64_t j)
{
    ct_column *columns = ct__columns_copy(o->device, gp->rows.column, gp->rows.d, &o->column[j]);
    if (!columns) return CT_ENOMEM;
    ct__columns_free(gp->rows.column, gp->rows.d + 1);
    gp->rows.column = columns;
    const bool inputs = gp->options.standardize == CT_STANDARDIZE_INPUTS;
    gp->options.standardize = inputs ? CT_STANDARDIZE_BOTH : CT_STANDARDIZE_OUTPUTS;
    gp->target.shift = o->shift[j];
    gp->target.scale = gp->target.spread = o->scale[j];
    gp->target.log_units =
        o->kind == CT_OUTPUTS_SHARED ? 0 : gp->target.log_units - (double)gp->rows.n * log(gp->target.scale);
    ct_status s = change_units(gp, o->whole);
    if (s || o->kind == CT_OUTPUTS_SHARED) return s ? s : take_column(o, gp, j);
    free(gp->one_output);
    gp->one_output = ct__one_output_new(gp->noise.given, j);
    return gp->one_output ? CT_OK : ct_last_status(o->device);
}

/* A copy of the whole as the model of output j. */
static ct_gp *extract_copy(const ct_outputs *o, int64_t j)
{
    ct_gp *gp = ct_gp_copy(o->whole);
    if (!gp || !extract(o, gp, j)) return gp;
    ct_gp_free(gp);
    return NULL;
}

ct_gp *ct_outputs_model(ct_outputs *o, int64_t j)
{
    if (!o) return NULL;
    if (j < 0 || j >= o->p) {
        ct_device_fail(o->device, CT_EINDEX, "ct_outputs_model: output %lld of %lld", (long long)j,
                       (long long)o->p);
        return NULL;
    }
    if (!o->whole) return o->model[j];
    if (ct__gp_factorise(o->whole)) return NULL;
    if (o->of != o->whole->factor.L) ct__outputs_changed(o);
    o->of = o->whole->factor.L;
    if (!o->model[j]) o->model[j] = extract_copy(o, j);
    return o->model[j];
}

/* -- all of them ----------------------------------------------------------------------------------------- */

double ct_outputs_nlml(ct_outputs *o)
{
    double sum = 0;
    if (o && o->kind == CT_OUTPUTS_COREGIONALISED) return ct_gp_nlml_value(o->whole);
    for (int64_t j = 0; o && j < o->p; j++) sum += ct_gp_nlml_value(ct_outputs_model(o, j));
    return o ? sum : NAN;
}

ct_status ct_outputs_fit(ct_outputs *o, const ct_fit_options *options)
{
    int64_t count;
    if (!o) return CT_EINVAL;
    if (o->whole) ct__outputs_changed(o);
    ct_gp **model = ct__outputs_fitted(o, &count);
    return ct_gp_fit_many(model, count, options, NULL);
}
