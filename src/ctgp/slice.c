/* A slice of a model: its function over one or two inputs, while the others are held. */
#include "slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "context.h"
#include "failure.h"
#include "learned.h"
#include "names.h"
#include "numbers.h"

/* -- inputs ---------------------------------------------------------------------------------------------- */

/* The values are sorted. */
static double most_frequent(const double *values, int64_t n)
{
    double best = values[0];
    for (int64_t i = 0, from = 0, longest = 0; i < n; i++) {
        if (values[i] != values[from]) from = i;
        if (i - from + 1 > longest) longest = i - from + 1, best = values[i];
    }
    return best;
}

/* Sets the shortest wave and the step that shows it: ten steps to a lengthscale, twenty to a period p, and
 * in a periodic kernel also ten to l p / 2π, over which that falls as an rbf does over a lengthscale. A
 * parameter that columns share counts in standard deviations of theirs, `spread`. */
static void find_waves(const ct_gp *gp, int64_t j, double spread, span *s)
{
    double round_lengthscale = INFINITY;
    s->step = s->wave = INFINITY;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        const bool lengthscale = strstr(p->name, ".lengthscale"), period = strstr(p->name, ".period");
        const double size = p->column < 0 ? p->value * spread : p->value;
        if (!strncmp(p->name, "linear", 6) || !strncmp(p->name, "poly", 4)) continue;
        if (lengthscale && p->unit != CT_UNIT_INPUT)
            round_lengthscale = p->value; /* comes before its period */
        if (p->unit != CT_UNIT_INPUT || (p->column >= 0 && p->column != j)) continue;
        if (period) s->wave = fmin(s->wave, size), s->step = fmin(s->step, size / 20);
        if (period && !strncmp(p->name, "periodic", 8))
            s->step = fmin(s->step, round_lengthscale * size / (2 * acos(-1)) / 10);
        if (lengthscale) s->wave = fmin(s->wave, 2 * size), s->step = fmin(s->step, size / 10);
    }
}

/* Whether x[0], x[stride], ..., n of them, are the ends of a span, but for the rounding of the model's scales
 * of its inputs. */
static bool are_ends(const span *s, const double *x, int64_t n, int64_t stride)
{
    const double slack = 1e-6 * (s->hi - s->lo);
    int64_t i = 0;
    while (i < n && (fabs(x[i * stride] - s->lo) <= slack || fabs(x[i * stride] - s->hi) <= slack)) i++;
    return i == n && s->lo < s->hi;
}

static void set_two(ctgp *c, span *s)
{
    const char **names = take(c, s->levels = 2, sizeof *names, "levels");
    names[0] = number_text(c, s->first = s->lo), names[1] = number_text(c, s->hi);
    s->gap = s->hi - s->lo, s->names = names;
}

span *spans_of(ctgp *c, const frame *f, ct_gp *gp)
{
    const int64_t d = ct_gp_dims(gp), n = f->n_rows;
    const double *model = model_inputs(c, gp);
    span *all = take(c, d, sizeof *all, "inputs");
    for (int64_t j = 0; j < d; j++) {
        span *s = &all[j];
        double *values = frame_values(c, f, &f->cols[1 + j], 1);
        qsort(values, (size_t)n, sizeof *values, ascending);
        *s = (span){ .input = ct_gp_input(gp, j), .lo = values[0], .hi = values[n - 1] };
        const bool category = s->input->kind == CT_COLUMN_CATEGORY;
        if (!isfinite(s->hi - s->lo))
            fail(c, CODE_DATA, "%s: the numbers of '%s' are too large for an axis", f->path, s->input->name);
        s->held = category ? most_frequent(values, n) : 0.5 * values[(n - 1) / 2] + 0.5 * values[n / 2];
        const ct_gp_standardize how = ct_gp_get_options(gp).standardize;
        const bool scaled = how == CT_STANDARDIZE_BOTH || how == CT_STANDARDIZE_INPUTS;
        find_waves(gp, j, scaled ? sqrt(moments_of(model + j, ct_gp_points(gp), d).variance) : 1, s);
        s->gap = 1, s->levels = s->input->n_levels, s->names = s->input->levels;
        if (is_number(s->input) && are_ends(s, values, n, 1) && are_ends(s, model + j, ct_gp_points(gp), d))
            set_two(c, s);
    }
    return all;
}

double span_level(const span *s, int64_t i) { return s->first + (double)i * s->gap; }

int64_t spans_choose(ctgp *c, const span *s, int64_t d, const char *option, const char *names,
                     int64_t which[2])
{
    const name_list list = split_names(c, names);
    int64_t n = 0;
    for (int64_t j = 0; j < d && !names; j++)
        if (s[j].lo < s[j].hi && n++ < 2) which[n - 1] = j;
    for (; n < list.n && n < 2; n++) {
        for (which[n] = 0; which[n] < d && strcmp(s[which[n]].input->name, list.name[n]);) which[n]++;
        if (which[n] == d) fail(c, CODE_USAGE, "%s: the model has no input '%s'", option, list.name[n]);
    }
    if (n < list.n || (names && n == 2 && which[0] == which[1]))
        fail(c, CODE_USAGE, "%s: '%s' are not one or two inputs", option, names);
    return n;
}

/* -- the function ---------------------------------------------------------------------------------------- */

side side_make(ctgp *c, const span *s, int64_t j, double lo, double hi, int64_t n)
{
    side e = { .j = j, .n = s->levels ? s->levels : n };
    e.at = take(c, e.n, sizeof *e.at, "points of a picture");
    for (int64_t i = 0; i < e.n; i++) {
        const double t = e.n > 1 ? (double)i / (double)(e.n - 1) : 0;
        e.at[i] = s->levels ? span_level(s, i) : (1 - t) * lo + t * hi;
    }
    return e;
}

/* Keeps the moments alone, as the points of many inputs take much memory. */
prediction slice_predict(ctgp *c, ct_gp *gp, const span *s, const side *a, const side *b, bool noise)
{
    const int64_t d = ct_gp_dims(gp), inner = b ? b->n : 1, n = a->n * inner;
    double *kept = take(c, n, 2 * sizeof *kept, "points of a picture");
    const owned *before = c->owned;
    double *x = take(c, n, (size_t)d * sizeof *x, "points of a picture"); /* (n, d) */
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d; k++) x[i * d + k] = s[k].held;
        x[i * d + a->j] = a->at[i / inner];
        if (b) x[i * d + b->j] = b->at[i % inner];
    }
    prediction p = { .data.n_rows = n };
    prediction_at(c, &p, gp, own_tensor(c, ct_from(c->device, CT_F64, ct_shape2(n, d), x)), NULL, noise);
    p.mean = memcpy(kept, p.mean, (size_t)n * sizeof *kept);
    p.std = memcpy(kept + n, p.std, (size_t)n * sizeof *kept);
    give_back(c, before);
    return p;
}
