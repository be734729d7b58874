/* ctgp info: advice. The options that it names are those of fit. */
#include "advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "noise.h"
#include "text.h"

/* With more rows than this, one factorisation for each column takes too long. */
enum { MOST_ROWS = 5000 };
/* A column or term can be dropped if the sum of the leave-one-out densities loses at most this many nats. */
#define NEGLIGIBLE 0.1

typedef struct adviser {
    ctgp *c;
    FILE *to;
    ct_gp *gp;
    bool any;
} adviser;

static const char *label(const adviser *a, int64_t i) { return param_label(a->c, a->gp, i); }

static void begin_line(adviser *a)
{
    if (!a->any) say(a->to, "advice:\n");
    a->any = true;
}

CT_PRINTF(2, 3) static void advise(adviser *a, const char *format, ...)
{
    char text[1024];
    va_list args;
    begin_line(a);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(a->to, "  %s\n", text);
}

/* -- columns and terms: judged by what leave-one-out loses without them -- */

/* The sum of the leave-one-out densities; NaN if that is unknown or takes too long. */
static double density(ct_gp *gp)
{
    double sum;
    return ct_gp_points(gp) > MOST_ROWS || ct_gp_loo_ablation(gp, NULL, 0, &sum) ? NAN : sum;
}

static bool is_noise(const ct_param *p) { return !strncmp(p->name, "noise.", 6); }

static bool is_length(const ct_param *p) { return strstr(p->name, "lengthscale") != NULL; }

/* The name of the lengthscale at its upper bound by which a part of the kernel ignores a column; NULL if
 * there is none. */
static const char *unseen_by(const adviser *a, int64_t column)
{
    for (int64_t i = 0; i < ct_gp_params(a->gp); i++) {
        const ct_param *p = ct_gp_param(a->gp, i);
        if (p->column == column && is_length(p) && ct_gp_at_bound(a->gp, i) > 0) return label(a, i);
    }
    return NULL;
}

static void print_drop(adviser *a, const int64_t *columns, int64_t count, double loss)
{
    begin_line(a);
    say(a->to, "  --drop ");
    for (int64_t k = 0; k < count; k++)
        say(a->to, "%s%s", k ? "," : "", ct_gp_input(a->gp, columns[k])->name);
    say(a->to, ": leave-one-out loses %.2g nats without %s\n", fmax(loss, 0), count == 1 ? "it" : "them");
}

/* Columns are dropped one after another, each judged without those already dropped, so that of two equivalent
 * columns one stays. */
static void advise_on_columns(adviser *a, int64_t *gone)
{
    int64_t count = 0, d = ct_gp_dims(a->gp);
    const double all = density(a->gp);
    double sum, loss = 0;
    for (int64_t j = 0; j < d; j++) {
        const char *by = unseen_by(a, j), *column = ct_gp_input(a->gp, j)->name;
        if (!by) continue;
        gone[count] = j;
        if (isnan(all)) {
            advise(a,
                   "%s is at its upper bound: this part of the kernel does not see %s; compare ctgp loo of "
                   "a fit with --drop %s",
                   by, column, column);
        } else if (ct_gp_loo_ablation(a->gp, gone, count + 1, &sum)) {
            advise(a, "%s matters, although %s is at its upper bound: without it there is no covariance",
                   column, by);
        } else if (all - sum > NEGLIGIBLE || count + 1 == d) {
            advise(a, "%s stays, although %s is at its upper bound: leave-one-out loses %.3g nats without it",
                   column, by, all - sum);
        } else {
            count++;
            loss = all - sum;
        }
    }
    if (count) print_drop(a, gone, count, loss);
}

/* What leave-one-out loses without the term of variance i. */
static double loss_without(ct_gp *gp, int64_t i)
{
    ct_gp *copy = ct_gp_copy(gp);
    ct_param p = *ct_gp_param(gp, i);
    p.lower = 0;
    p.value *= 1e-9;
    const double loss = copy && !ct_gp_set_param(copy, i, &p) ? density(gp) - density(copy) : NAN;
    ct_gp_free(copy);
    return loss;
}

static void advise_on_term(adviser *a, int64_t i)
{
    const char *name = label(a, i);
    const double loss = loss_without(a->gp, i);
    if (isnan(loss))
        advise(a, "%s is at its lower bound: compare ctgp loo of a fit whose --kernel leaves this term out",
               name);
    else if (loss > NEGLIGIBLE)
        advise(a, "%s is at its lower bound, yet leave-one-out loses %.3g nats without this term", name,
               loss);
    else
        advise(a,
               "--kernel without the term of %s, which is at its lower bound: leave-one-out loses %.2g nats",
               name, fmax(loss, 0));
}

/* -- bounds -- */

static void advise_on_noise(adviser *a, const ct_param *p, const char *name, int side)
{
    const ct_gp_noise kind = ct_gp_get_options(a->gp).noise;
    if (strstr(p->name, "slope"))
        advise(a, "%s is at its bound: the noise vanishes at one end of this input; --noise learned", name);
    else if (side > 0)
        advise(a, "%s is at its upper bound: the inputs explain nothing; look for others", name);
    else if (kind == CT_NOISE_GIVEN_PLUS)
        advise(a, "noise.variance is at its lower bound: the given noise suffices, without --noise learned");
    else if (kind != CT_NOISE_LEARNED)
        advise(a, "%s is at its lower bound: the model passes through its rows%s", name,
               p->prior.kind ? "" : ", against which there is --priors weak");
    else
        advise(a,
               "noise.variance is at its lower bound: the model passes through the data; if they are exact, "
               "--noise none%s",
               p->prior.kind ? "" : ", and if they are not, --priors weak");
}

/* The parameter rq#2.alpha is rq(alpha=...) in the kernel's text. */
static void advise_on_other(adviser *a, const ct_param *p, const char *name, int side)
{
    const char *dot = strchr(p->name, '.'), *own = dot ? dot + 1 : p->name;
    advise(a, "%s is at its %s bound: in --kernel %.*s(%s=VALUE) begins beyond it, and (%s=VALUE!) holds it",
           name, side < 0 ? "lower" : "upper", (int)strcspn(p->name, "#."), p->name, own, own);
}

/* Parameters that may end anywhere: W and κ of an index, and how much the levels of a category share. */
static bool may_end(const ct_param *p, int side)
{
    return p->any_sign || strstr(p->name, ".kappa[") || (side < 0 && !strncmp(p->name, "category", 8));
}

static void advise_on_bounds(adviser *a)
{
    for (int64_t i = 0; i < ct_gp_params(a->gp); i++) {
        const ct_param *p = ct_gp_param(a->gp, i);
        int side = ct_gp_at_bound(a->gp, i);
        const char *column = p->column >= 0 ? ct_gp_input(a->gp, p->column)->name : "its columns";
        if (!side) continue;
        if (is_noise(p))
            advise_on_noise(a, p, label(a, i), side);
        else if (may_end(p, side))
            continue;
        else if (is_length(p) && side < 0)
            advise(a, "%s is at its lower bound: the target jumps along %s; that may be noise%s", label(a, i),
                   column, p->prior.kind ? "" : ", against which there is --priors weak");
        else if (is_length(p) && p->column < 0)
            advise(a, "%s is at its upper bound: this part of the kernel does not see %s", label(a, i),
                   column);
        else if (!is_length(p) && side < 0 && strstr(p->name, "variance"))
            advise_on_term(a, i);
        else if (!is_length(p))
            advise_on_other(a, p, label(a, i), side);
    }
}

/* -- the covariance matrix -- */

const char *more_noise(const ct_gp *gp)
{
    const ct_gp_noise kind = ct_gp_get_options(gp).noise;
    if (kind == CT_NOISE_NONE || kind == CT_NOISE_GIVEN) return "--noise learned";
    if (kind == CT_NOISE_GIVEN_PLUS) return NULL; /* it has no prior */
    int64_t first = 0;
    while (!is_noise(ct_gp_param(gp, first))) first++;
    return ct_gp_param(gp, first)->prior.kind ? NULL : "--priors weak";
}

/* Whether some rows have next to no noise, given noise aside. */
static bool is_quiet(const ct_gp *gp)
{
    const ct_gp_noise kind = ct_gp_get_options(gp).noise;
    if (noise_is_given(kind)) return false;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        if (is_noise(p) && !strstr(p->name, "slope") && ct_gp_at_bound(gp, i) < 0) return true;
    }
    return kind == CT_NOISE_NONE;
}

static void advise_on_matrix(adviser *a, const ct_gp_numerics *q)
{
    const char *remedy = more_noise(a->gp), * or = remedy ? ", or " : "";
    const bool quiet = is_quiet(a->gp), narrow = ct_gp_dtype(a->gp) == CT_F32;
    if (!remedy) remedy = "";
    if (q->jitter > 0)
        advise(a, "the covariance is singular without the jitter of %.3g: %s%sleave out row %lld", q->jitter,
               remedy, or, (long long)q->pivot_row + 1);
    if (q->near_rows && quiet)
        advise(a, "rows are alike and there is next to no noise: %s%sleave out one of each pair", remedy, or);
    if (q->digits >= (narrow ? 1 : 4)) return;
    const char *how_many = q->digits < 1 ? "no" : "few";
    if (narrow)
        advise(a, "%s digits hold: --dtype f64", how_many);
    else
        advise(a, "%s digits hold: %s%sexpect no more of a prediction", how_many, remedy, or);
}

void print_advice(writer *w, ct_gp *gp, const ct_gp_numerics *numerics)
{
    adviser a = { .c = w->c, .to = w->to, .gp = gp };
    advise_on_matrix(&a, numerics);
    advise_on_bounds(&a);
    advise_on_columns(&a, take(w->c, ct_gp_dims(gp), sizeof(int64_t), "columns"));
}
