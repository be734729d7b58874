/* How much each feature matters to a model. */
#include "ctgp.h"

#include <math.h>

enum { SAMPLES = 10000 };

sensitivity sensitivity_make(ctgp *c, ct_gp *gp, uint64_t seed)
{
    const int64_t d = ct_gp_dims(gp);
    double all, *memory = take(c, d, 3 * sizeof *memory, "features");
    sensitivity s = { .first = memory, .total = memory + d, .loss = memory + 2 * d };
    ct_status status = ct_gp_sobol(gp, SAMPLES, seed, s.first, s.total);
    if (!status) status = ct_gp_loo_ablation(gp, NULL, 0, &all);
    if (status) snprintf(s.why, sizeof s.why, "%s", ct_message(c->device));
    for (int64_t j = 0; j < d && !status; j++) {
        double sum; /* NaN where there is no covariance without the feature */
        const ct_status without = ct_gp_loo_ablation(gp, &j, 1, &sum);
        s.loss[j] = (all - sum) / (double)ct_gp_points(gp);
        if (without == CT_ENOMEM) status = without;
    }
    if (status == CT_ENOMEM) fail_device(c);
    return s;
}

void write_sensitivity(writer *w, const sensitivity *s, const ct_gp *gp)
{
    if (s->why[0]) {
        WRITE(w, field_shown("sensitivity", "sensitivity  %s\n", NAN, s->why));
        return;
    }
    const bool transformed = ct_gp_transform(gp).kind;
    WRITE(
        w, field_text("sensitivity of the mean", ""),
        field_text(" of %s", transformed ? target_text(w->c, gp) : NULL),
        field_count(" to features drawn independently from the data (Sobol indices, to about %.2g), and\n",
                    1 / sqrt(SAMPLES)),
        field_begin("sensitivity", '[',
                    "how far the leave-one-out nlpd rises where a feature is held at its mean, without a new "
                    "fit:\n"),
        field_text("  %-28s first order  total        nlpd\n", ""));
    for (int64_t j = 0; j < ct_gp_dims(gp); j++)
        WRITE(w, field_begin(NULL, '{', NULL), field_word("feature", "  %-28s ", ct_gp_input(gp, j)->name),
              field_number("first", "%-12.3f ", s->first[j]), field_number("total", "%-12.3f ", s->total[j]),
              isnan(s->loss[j]) ? field_shown("loo_nlpd_without", "%s\n", NAN, "no covariance without it")
                                : field_number("loo_nlpd_without", "%+.4g\n", s->loss[j]),
              field_end('}', NULL));
    WRITE(w, field_end(']', NULL));
}
