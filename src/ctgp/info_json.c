/* ctgp info: its line of JSON. */
#include "info.h"

static void json_numerics(json *j, const ct_gp *gp, const ct_gp_numerics *q)
{
    if (!q) {
        json_string(j, "numerics", NULL);
        return;
    }
    json_open(j, "numerics", '{');
    json_number(j, "condition", q->condition);
    json_print(j, "digits", "%.1f", q->digits);
    json_number(j, "gradient_error", q->gradient_error);
    json_number(j, "smallest_pivot", q->smallest_pivot);
    json_whole(j, "pivot_row", q->pivot_row + 1);
    json_whole(j, "near_rows", q->near_rows);
    json_open(j, "near", '[');
    for (int64_t i = 0; i < q->near_rows && i < CT_GP_NEAR_SHOWN; i++) {
        json_open(j, NULL, '[');
        json_whole(j, NULL, q->near[i].row + 1);
        json_whole(j, NULL, q->near[i].like + 1);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_open(j, "at_bounds", '[');
    for (int64_t i = 0; i < ct_gp_params(gp); i++)
        if (ct_gp_at_bound(gp, i)) json_string(j, NULL, ct_gp_param(gp, i)->name);
    json_close(j, ']');
    json_close(j, '}');
}

static void json_priors(json *j, const ct_gp *gp)
{
    json_open(j, "priors", '{');
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        if (!p->prior.kind) continue;
        json_open(j, p->name, '{');
        json_string(j, "kind", prior_name(p->prior.kind));
        json_number(j, "a", p->prior.a);
        json_number(j, "b", p->prior.b);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_search(json *j, const ct_fit_report *r)
{
    json_whole(j, "iterations", r->iterations);
    json_whole(j, "evaluations", r->evaluations);
    if (r->end == CT_FIT_UNKNOWN)
        json_string(j, "converged", NULL);
    else
        json_flag(j, "converged", ct_fit_converged(r->end));
    json_string(j, "end", ct_fit_end_text(r->end));
    json_number(j, "seconds", r->seconds);
    json_string(j, "objective", objective_name(r->objective_of));
    json_string(j, "precision", precision_name(r->precision));
    json_number(j, "objective_error", r->objective_error);
}

void info_json(const facts *of, json *j)
{
    ct_gp *gp = of->gp;
    char text[1024];
    const ct_gp_options o = ct_gp_get_options(gp);
    const ct_fit_report r = ct_gp_report(gp);
    json_open(j, NULL, '{');
    json_string(j, "target", ct_gp_output(gp)->name);
    json_open(j, "features", '[');
    for (int64_t i = 0; i < ct_gp_dims(gp); i++) json_string(j, NULL, ct_gp_input(gp, i)->name);
    json_close(j, ']');
    json_columns(j, gp, of->range);
    json_whole(j, "n", ct_gp_points(gp));
    json_string(j, "dtype", ct_dtype_name(ct_gp_dtype(gp)));
    json_string(j, "kernel", kernel_text(gp, text, sizeof text));
    json_string(j, "mean", mean_text(gp, text, sizeof text));
    json_string(j, "noise", noise_kind(o.noise));
    json_string(j, "standardize", standardize_name(o.standardize));
    json_string(j, "optimizer", optimizer_name(r.optimizer));
    json_string(j, "transform", ct_transform_name(o.transform));
    json_string(j, "noise_column", noise_column(o.noise, noise_name(gp)));
    json_search(j, &r);
    json_flag(j, "factor", of->factor);
    json_number(j, "jitter", ct_gp_jitter(gp));
    json_number(j, "nlml", of->nlml);
    json_numerics(j, gp, of->numerics);
    json_outliers(j, &of->far);
    json_trend(j, gp, &of->t);
    json_parameters(j, gp);
    json_priors(j, gp);
    if (of->sensitive) json_sensitivity(j, &of->each, gp);
    json_close(j, '}');
}
