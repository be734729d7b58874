/* How much each feature matters to a model. */
#include "ctgp.h"

#include <math.h>

enum { SAMPLES = 10000 };

void sensitivity_make(ctgp *c, sensitivity *s, ct_gp *gp, uint64_t seed)
{
    if (!going(c)) return;
    const int64_t d = ct_gp_dims(gp);
    ct_device *device = ct_gp_device(gp);
    double all;
    *s = (sensitivity){ .first = take(c, d, 3 * sizeof *s->first, "features") };
    if (!going(c)) return;
    s->total = s->first + d, s->loss = s->total + d;
    ct_status status = ct_gp_sobol(gp, SAMPLES, seed, s->first, s->total);
    if (!status) status = ct_gp_loo_ablation(gp, NULL, 0, &all);
    if (status) snprintf(s->why, sizeof s->why, "%s", ct_message(device));
    for (int64_t j = 0; j < d && !status; j++) {
        double sum; /* NaN where there is no covariance without the feature */
        const ct_status without = ct_gp_loo_ablation(gp, &j, 1, &sum);
        s->loss[j] = (all - sum) / (double)ct_gp_points(gp);
        if (without == CT_ENOMEM) status = without;
    }
    if (status == CT_ENOMEM) fail_device(c, device, NULL);
}

void print_sensitivity(const sensitivity *s, const ct_gp *gp)
{
    if (s->why[0]) {
        say_line("sensitivity  %s", s->why);
        return;
    }
    char of[512] = "the mean";
    if (ct_gp_transform(gp).kind) snprintf(of, 16, "the mean of "), target_text(gp, of + 12, sizeof of - 12);
    say_line(
        "sensitivity of %s to features drawn independently from the data (Sobol indices, to about %.2g), and",
        of, 1 / sqrt(SAMPLES));
    printf("how far the leave-one-out nlpd rises where a feature is held at its mean, without a new fit:\n"
           "  %-28s %-12s %-12s %s\n",
           "", "first order", "total", "nlpd");
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) {
        say(stdout, "  %-28s %-12.3f %-12.3f ", ct_gp_input(gp, j)->name, s->first[j], s->total[j]);
        printf(isnan(s->loss[j]) ? "no covariance without it\n" : "%+.4g\n", s->loss[j]);
    }
}

void json_sensitivity(json *j, const sensitivity *s, const ct_gp *gp)
{
    if (s->why[0]) {
        json_string(j, "sensitivity", NULL);
        return;
    }
    json_open(j, "sensitivity", '[');
    for (int64_t i = 0; i < ct_gp_dims(gp); i++) {
        json_open(j, NULL, '{');
        json_string(j, "feature", ct_gp_input(gp, i)->name);
        json_number(j, "first", s->first[i]);
        json_number(j, "total", s->total[i]);
        json_number(j, "loo_nlpd_without", s->loss[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}
