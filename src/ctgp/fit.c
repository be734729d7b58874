/* ctgp fit: a model from a CSV file. */
#include "commands.h"

#include <stdio.h>

#include "context.h"
#include "fit_columns.h"
#include "fit_learn.h"
#include "fit_options.h"
#include "fit_outputs.h"
#include "fit_report.h"
#include "many.h"
#include "open.h"
#include "progress.h"
#include "result.h"

/* The model is written before it is scored, so that a second Ctrl-C does not lose it. */
static void fit_one(ctgp *c, const settings *s, const learned *t)
{
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    const fit_output l = fit_learn(c, s, t);
    save_gp(c, l.gp, s->model, &how);
    watch_over();
    writer w = result_begin(c, stdout);
    fit_report(&w, s, &l);
    result_end(&w);
}

void run_fit(ctgp *c, int argc, char **argv)
{
    settings s = fit_read_settings(c, argc, argv);
    open_device(c);
    s.gp.comm = many();
    const learned t = fit_read_columns(c, &s);
    (s.n_targets > 1 ? fit_outputs : fit_one)(c, &s, &t);
}
