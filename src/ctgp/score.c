/* The losses of rows, and their score. */
#include "score.h"

#include <float.h>

#include "numbers.h"

static double target_at(const prediction *p, int64_t i)
{
    if (p->known) return p->known[i];
    return p->target < 0 ? NAN : ct_table_at(p->data.table, p->data.rows[i], p->target);
}

/* nlpd is ½ log 2πs² + ½ (z - m)² / s² - log g'(y), z = g(y). A variance is the prior's less the data's part,
 * so it is known to a rounding error of the prior's only; s counts as at least `least`. */
static row_loss loss_of(const prediction *p, int64_t i, double least)
{
    const double y = target_at(p, i), of_y = ct_transform_value(p->transform, y);
    double mean;
    prediction_moments(p, i, &mean, NULL);
    const double std = fmax(fmax(p->std[i], least), 4 * DBL_EPSILON * fabs(of_y) + DBL_MIN);
    const double error = y - mean, z = (of_y - p->mean[i]) / std;
    return (row_loss){ .y = y,
                       .square = error * error,
                       .nlpd = 0.5 * log(2 * acos(-1)) + log(std) + 0.5 * z * z -
                               ct_transform_log_slope(p->transform, y),
                       .sigmas = fabs(z) };
}

row_loss *prediction_losses(ctgp *c, const prediction *p)
{
    const int64_t n = p->data.n_rows;
    row_loss *l = take(c, n, sizeof *l, "rows");
    double *z = take(c, n, sizeof *z, "rows");
    for (int64_t i = 0; i < n; i++) z[i] = ct_transform_value(p->transform, target_at(p, i));
    const moments m = moments_of(z, n, 1);
    const double least = m.n > 0 ? sqrt(DBL_EPSILON * m.variance) : 0;
    for (int64_t i = 0; i < n; i++) l[i] = isnan(target_at(p, i)) ? no_loss : loss_of(p, i, least);
    return l;
}

score score_of(const row_loss *l, int64_t rows)
{
    score s = { 0 };
    for (int64_t i = 0; i < rows; i++) {
        if (isnan(l[i].square)) continue;
        s.n++;
        s.rmse += l[i].square;
        s.mae += sqrt(l[i].square);
        s.nlpd += l[i].nlpd;
        s.coverage95 += l[i].sigmas <= Z95;
    }
    const double n = (double)s.n, variance = moments_of(&l->y, rows, sizeof *l / sizeof l->y).variance;
    return (score){ s.n,       sqrt(s.rmse / n), 1 - s.rmse / (n * variance),
                    s.mae / n, s.nlpd / n,       s.coverage95 / n };
}

score prediction_score(ctgp *c, const prediction *p)
{
    return score_of(prediction_losses(c, p), p->data.n_rows);
}

void write_score(writer *w, score s)
{
    WRITE(w, field_number("n", "n=%.0f", (double)s.n), field_number("rmse", " rmse=%.6g", s.rmse),
          field_number("r2", isfinite(s.r2) ? " r2=%.4g" : NULL, s.r2),
          field_number("mae", " mae=%.6g", s.mae), field_number("nlpd", " nlpd=%.6g", s.nlpd),
          field_number("coverage95", " coverage95=%.4g", s.coverage95), field_text("\n", ""));
}
