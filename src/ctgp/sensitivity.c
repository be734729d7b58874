/* How much each feature matters to a model. */
#include "sensitivity.h"

#include <math.h>

#include "failure.h"
#include "target.h"

enum { SAMPLES = 10000 };

/* How far the leave-one-out NLPD rises if each feature is held at its mean; NaN if there is no covariance
 * then. */
static ct_status find_losses(ct_gp *gp, double *loss)
{
    double all, sum;
    ct_status status = ct_gp_loo_ablation(gp, NULL, 0, &all);
    for (int64_t j = 0; j < ct_gp_dims(gp) && !status; j++) {
        const ct_status without = ct_gp_loo_ablation(gp, &j, 1, &sum);
        loss[j] = (all - sum) / (double)ct_gp_points(gp);
        if (without == CT_ENOMEM) status = without;
    }
    return status;
}

void write_sensitivity(writer *w, ct_gp *gp, uint64_t seed)
{
    const int64_t d = ct_gp_dims(gp);
    double *first = take(w->c, d, 3 * sizeof *first, "features"), *total = first + d, *loss = total + d;
    ct_status status = ct_gp_sobol(gp, SAMPLES, seed, first, total);
    if (!status) status = find_losses(gp, loss);
    if (!is_known(w->c, status)) {
        WRITE(w, field_shown("sensitivity", "sensitivity  %s\n", NAN, ct_message(w->c->device)));
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
    for (int64_t j = 0; j < d; j++)
        WRITE(w, field_begin(NULL, '{', NULL), field_word("feature", "  %-28s ", ct_gp_input(gp, j)->name),
              field_number("first", "%-12.3f ", first[j]), field_number("total", "%-12.3f ", total[j]),
              isnan(loss[j]) ? field_shown("loo_nlpd_without", "%s\n", NAN, "no covariance without it")
                             : field_number("loo_nlpd_without", "%+.4g\n", loss[j]),
              field_end('}', NULL));
    WRITE(w, field_end(']', NULL));
}
