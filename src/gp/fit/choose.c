/* The choice of a covariance: the one with the lowest
 *     AICc = 2 (objective + m n / (n - m - 1))         [Akaike 1974; Hurvich & Tsai 1989]
 * with m free parameters (twice as many by leave-one-out); AICc is infinite for n <= m + 1. A covariance that
 * only fits the noise loses, and a table with few rows for its columns gets few parameters. The largest
 * default is searched twice, from its usual start and from the optimum of the previous candidate, because
 * either search alone gets stuck on some tables. docs/gp.md evaluates the choice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/gp/loo.h>

#include "candidates.h"
#include "evaluate.h"
#include "fit.h"
#include "forecast.h"
#include "gp/data/rows.h"
#include "gp/file/fingerprint.h"
#include "gp/model/model.h"
#include "gp/model/param_values.h"

enum { SOME = 1000 }; /* of more rows, as many are used for the choice */
/* The last search, on all rows from there, ends when five steps change the objective by less: far less than
 * the posterior of a parameter varies. */
#define ENOUGH 0.01

typedef struct choosing {
    const ct_tensor *X, *y; /* all rows */
    ct_gp_options model;
    ct_gp_choose_options how;
    ct_gp_choice *choice;
    /* For each candidate: the one to start from, or -1; its round, 0 or one more than that one's. */
    int from[CT_GP_CANDIDATES], round[CT_GP_CANDIDATES];
    ct_gp *gp[CT_GP_CANDIDATES]; /* owned */
    ct__checkpoint *checkpoint;  /* of all searches; NULL: none, or not open yet */
    uint64_t print;              /* of the model of all rows, if only some make the choice */
    int list[CT_GP_CANDIDATES];  /* the indices of the current fit's models in the choice's list */
    bool stopped;                /* the callback has asked to stop */
    double begun;
} choosing;

/* -- candidates ------------------------------------------------------------------------------------------ */

/* Sets which candidate each starts from, and in which round. */
static ct_status order_candidates(choosing *c, ct_device *device)
{
    for (int k = 0; k < c->choice->count; k++) {
        const ct_gp_tried *t = c->choice->tried;
        int j = t[k].from ? k - 1 : -1;
        while (j >= 0 && strcmp(t[k].from, t[j].kernel) != 0) j--;
        if (t[k].from && j < 0)
            return ct_device_fail(
                device, CT_EINVAL,
                "ct_gp_choose: candidate %d begins from \"%.200s\", which is not an earlier one", k,
                t[k].from);
        c->from[k] = j;
        c->round[k] = j < 0 ? 0 : c->round[j] + 1;
    }
    return CT_OK;
}

/* 2 m n / (n - m - 1) */
static double penalty(const ct_gp *gp, ct_fit_objective objective)
{
    double n = (double)gp->rows.n,
           m = (double)ct__gp_free_params(gp) * (objective == CT_OBJECTIVE_LOO ? 2 : 1);
    return n > m + 1 ? 2 * m * n / (n - m - 1) : INFINITY;
}

/* Creates the models, and marks those that AICc rules out, except one of the smallest. */
static ct_status open_candidates(choosing *c, const ct_tensor *X, const ct_tensor *y,
                                 const ct_gp_options *model)
{
    int64_t fewest = INT64_MAX;
    for (int k = 0; k < c->choice->count; k++) {
        ct_gp_tried *t = &c->choice->tried[k];
        c->gp[k] = ct_gp_new(X, y, ct_kernel_parse(t->kernel), model);
        if (!c->gp[k]) return ct_last_status(ct_tensor_device(X));
        *t = (ct_gp_tried){ .kernel = t->kernel,
                            .from = t->from,
                            .status = CT_ESTOPPED,
                            .end = CT_FIT_NOT_STARTED,
                            .parameters = ct__gp_free_params(c->gp[k]),
                            .objective = INFINITY,
                            .criterion = INFINITY };
        if (t->parameters < fewest) fewest = t->parameters;
    }
    for (int k = 0; k < c->choice->count; k++) {
        ct_gp_tried *t = &c->choice->tried[k];
        if (t->parameters == fewest || isfinite(penalty(c->gp[k], c->how.fit.objective))) continue;
        t->too_few_rows = true;
        t->status = CT_EINVAL;
    }
    return CT_OK;
}

/* -- searches -------------------------------------------------------------------------------------------- */

static int pass_on(void *context, const ct_fit_progress *progress)
{
    choosing *c = context;
    ct_fit_progress p = *progress;
    if (c->stopped) return 1;
    p.model = c->list[p.model];
    p.seconds = ct__now() - c->begun;
    c->stopped = c->how.fit.progress && c->how.fit.progress(c->how.fit.context, &p);
    return c->stopped;
}

/* Fits the models, which are c->list in the choice. Returns the first failure other than a stop or a
 * covariance without a factor. */
static ct_status fit(choosing *c, ct_gp *const *gp, int count, int restarts, ct_status *status)
{
    ct_fit_options options = c->how.fit;
    options.progress = pass_on;
    options.context = c;
    options.restarts = restarts;
    ct_status reported = ct__fit_many(gp, count, &options, status, c->checkpoint), first = CT_OK;
    for (int i = 0; i < count; i++) {
        c->choice->starts += gp[i]->report.starts;
        c->choice->iterations += gp[i]->report.iterations;
        c->choice->evaluations += gp[i]->report.evaluations;
        c->stopped |= status[i] == CT_ESTOPPED; /* another process of the communicator asked to stop */
        c->choice->replayed += gp[i]->report.replayed;
        if (!first && status[i] != CT_ENUMERIC && status[i] != CT_ESTOPPED) first = status[i];
    }
    if (first && first != reported) /* the device's message is another model's */
        ct_device_fail(gp[0]->device, first, "ct_gp_choose: a candidate failed: %s", ct_status_name(first));
    return first;
}

/* Fits the candidates of this round together. */
static ct_status fit_round(choosing *c, int round)
{
    ct_gp *gp[CT_GP_CANDIDATES];
    ct_status status[CT_GP_CANDIDATES], s = CT_OK;
    int count = 0;
    for (int k = 0; k < c->choice->count && !s; k++) {
        ct_gp_tried *t = &c->choice->tried[k], *from = c->from[k] < 0 ? NULL : &c->choice->tried[c->from[k]];
        if (c->round[k] != round || t->too_few_rows) continue;
        t->too_few_rows = from && from->too_few_rows;
        t->status = from ? from->status : CT_OK;
        if (t->status) continue;
        if (from) s = ct__gp_begin_from(c->gp[k], c->gp[c->from[k]]);
        c->list[count] = k;
        gp[count++] = c->gp[k];
    }
    if (s || !count) return s;
    s = fit(c, gp, count, round ? CT_FIT_NO_RESTARTS : c->how.fit.restarts, status);
    for (int i = 0; i < count; i++) {
        ct_gp_tried *t = &c->choice->tried[c->list[i]];
        const ct_fit_report *r = &gp[i]->report;
        t->status = status[i];
        t->end = r->end;
        t->iterations = r->iterations;
        t->evaluations = r->evaluations;
        if (status[i] && status[i] != CT_ESTOPPED) continue;
        t->objective = r->objective;
        t->criterion = 2 * r->objective + penalty(gp[i], c->how.fit.objective);
    }
    return s;
}

/* *winner: the model with the lowest loss; NULL with CT_ENUMERIC or CT_ESTOPPED if there is none. */
static ct_status search(choosing *c, const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                        ct_gp **winner)
{
    ct_gp_choice *choice = c->choice;
    choice->rows = ct_tensor_dim(X, 0);
    choice->best = -1;
    ct_status s = open_candidates(c, X, y, model);
    if (!s && c->how.fit.checkpoint && !c->checkpoint && !ct_comm_rank(c->model.comm))
        s = ct__checkpoint_open(&c->checkpoint, c->how.fit.checkpoint, c->gp, choice->count, &c->how.fit,
                                c->print);
    for (int round = 0; round < choice->count && !s && !c->stopped; round++) s = fit_round(c, round);
    if (!s) s = ct__choose_best(choice, c->gp, choice->forecasts && !c->stopped);
    *winner = choice->best < 0 ? NULL : c->gp[choice->best];
    for (int k = 0; k < choice->count; k++) {
        if (k != choice->best) ct_gp_free(c->gp[k]);
        c->gp[k] = NULL;
    }
    if (s || !c->stopped) return s ? s : *winner ? CT_OK : CT_ENUMERIC;
    return ct_device_fail(ct_tensor_device(X), CT_ESTOPPED, "ct_gp_choose: stopped by the caller");
}

/* -- many rows ------------------------------------------------------------------------------------------- */

/* CT_ENUMERIC if the functions of a basis are independent on all rows but not on these. */
static ct_status check_basis(const choosing *c, const ct_tensor *X, const ct_tensor *y,
                             const ct_gp_options *model)
{
    if (!model->basis) return CT_OK;
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(c->choice->tried[0].kernel), model);
    const ct_status s = gp ? CT_OK : ct_last_status(ct_tensor_device(X));
    ct_gp_free(gp);
    return s == CT_EINVAL ? CT_ENUMERIC : s;
}

/* Runs `search` on some rows. */
static ct_status search_some(choosing *c, int64_t rows, ct_gp **winner)
{
    const ct_tensor *all[] = { c->X, c->y, c->model.noise_variances, c->model.noise_levels };
    ct_tensor *some[4] = { NULL };
    int64_t n = ct_tensor_dim(c->X, 0),
            *row = ct__gp_draw_rows(ct_tensor_device(c->X), n, rows, c->how.fit.seed);
    bool taken = row;
    for (int k = 0; k < 4 && taken; k++)
        taken = !all[k] || (some[k] = ct__gp_take_rows(all[k], n, row, rows));
    free(row);
    ct_gp_options model = c->model;
    model.noise_variances = some[2];
    model.noise_levels = some[3];
    ct_status s = taken ? check_basis(c, some[0], some[1], &model) : ct_last_status(ct_tensor_device(c->X));
    if (!s) s = search(c, some[0], some[1], &model, winner);
    for (int k = 0; k < 4; k++) ct_release(some[k]);
    return s;
}

/* The callback, before an evaluation that takes longer than those of `some` by the cube of the rows, may
 * stop: they are the model then. */
static ct_status ask(choosing *c, const ct_gp *some)
{
    const ct_fit_start *best = &some->report.start[some->report.best];
    const double growth = pow((double)ct_tensor_dim(c->X, 0) / (double)some->rows.n, 3);
    const double ahead = best->seconds / best->evaluations * growth;
    const ct_fit_progress p = { .starts = 1, .objective = INFINITY, .best = INFINITY, .ahead = ahead };
    int64_t stopped = pass_on(c, &p);
    const ct_status s = ct__comm_agree(c->model.comm, some->device, CT_OK, &stopped);
    return s || !stopped ? s
                         : ct_device_fail(some->device, CT_ESTOPPED, "ct_gp_choose: stopped by the caller");
}

/* *gp: the model of all rows with the covariance that some of them chose, started at their optimum, or if the
 * callback stops before there is one, the model of these. CT_ENUMERIC if one of the two has no factor. */
static ct_status choose_by_some(choosing *c, int64_t rows, ct_gp **gp)
{
    ct_device *device = ct_tensor_device(c->X);
    ct_gp *some = NULL, *all = ct_gp_new(c->X, c->y, ct_kernel_parse(c->choice->tried[0].kernel), &c->model);
    if (!all) return ct_last_status(device); /* checks all rows and the memory that they need */
    ct_status s = c->how.fit.checkpoint ? ct__gp_fingerprint(all, &c->print) : CT_OK, status = CT_OK;
    ct_gp_free(all);
    if (!s) s = search_some(c, rows, &some);
    const char *kernel = some ? c->choice->tried[c->choice->best].kernel : NULL;
    all = some ? ct_gp_new(c->X, c->y, ct_kernel_parse(kernel), &c->model) : NULL;
    if (some && !s) s = all ? ct__gp_begin_from(all, some) : ct_last_status(device);
    c->list[0] = c->choice->count;
    if (c->how.fit.flat == 0) c->how.fit.flat = ENOUGH;
    if (!s) s = ask(c, some);
    if (!s) s = fit(c, &all, 1, CT_FIT_NO_RESTARTS, &status);
    if (!s) s = status;
    const bool found = all && all->report.end != CT_FIT_UNKNOWN && isfinite(all->report.objective);
    if (!s || s == CT_ESTOPPED) *gp = found ? all : some;
    if (*gp != all) ct_gp_free(all);
    if (*gp != some) ct_gp_free(some);
    return s;
}

/* -- the whole choice ------------------------------------------------------------------------------------ */

static ct_status choose(choosing *c, ct_gp **gp)
{
    int64_t n = ct_tensor_dim(c->X, 0), rows = c->how.rows ? c->how.rows : SOME;
    ct_status s = ct__candidates(c->X, c->y, &c->model, &c->how, rows < n ? rows : n, c->choice);
    if (!s) s = order_candidates(c, ct_tensor_device(c->X));
    if (s) return s;
    s = rows < n ? choose_by_some(c, rows, gp) : CT_ENUMERIC;
    if (s == CT_ENUMERIC) s = search(c, c->X, c->y, &c->model, gp);
    if (s || c->how.as_fitted) return s;
    c->choice->calibration = ct_gp_calibrate_variance(*gp, &c->choice->variance_factor);
    if (c->choice->calibration) c->choice->variance_factor = 1;
    return c->choice->calibration == CT_ENOMEM ? CT_ENOMEM : CT_OK;
}

ct_status ct_gp_choose(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                       const ct_gp_choose_options *options, ct_gp **gp, ct_gp_choice *choice)
{
    ct_gp_choice own;
    choosing c = { .X = X, .y = y, .model = { .priors = CT_PRIORS_WEAK }, .choice = choice ? choice : &own };
    if (model) c.model = *model;
    if (options) c.how = *options;
    c.begun = ct__now();
    *c.choice = (ct_gp_choice){ .best = -1, .variance_factor = 1 };
    if (gp) *gp = NULL;
    if (!X || !y || !gp)
        return ct_device_fail(ct_tensor_device(X ? X : y), CT_EINVAL, "ct_gp_choose: X, y or gp is NULL");
    ct__comm_enter(c.model.comm);
    ct_status s = choose(&c, gp);
    ct__checkpoint_close(c.checkpoint);
    s = ct__comm_leave(c.model.comm, ct_tensor_device(X), s);
    c.choice->seconds = ct__now() - c.begun;
    if (s && s != CT_ESTOPPED) {
        ct_gp_free(*gp);
        *gp = NULL;
    }
    if (!*gp) c.choice->best = -1;
    return s;
}
