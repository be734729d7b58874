/* Adam [Kingma & Ba 2015], projected on the bounds. The learning rate falls like a cosine to a hundredth, so
 * that the last steps converge. */
#include <math.h>
#include <stdlib.h>

#include "optimize.h"

enum { PATIENCE = 50 };

static ct_fit_end run(ct__search *s)
{
    const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    size_t n = (size_t)s->n;
    double *g = calloc(3 * n + 1, sizeof *g);
    if (!g) return CT_FIT_FAILED;
    double *m = g + n, *v = m + n;
    double lowest = INFINITY;
    int waited = 0;
    ct_fit_end end = CT_FIT_EVALUATIONS;
    for (int t = 1; t <= s->max_evaluations; t++) {
        double f;
        if (s->evaluate(s->context, s->x, &f, g)) {
            end = CT_FIT_STOPPED;
            break;
        }
        waited = f < lowest - s->flat ? 0 : waited + 1;
        lowest = fmin(lowest, f);
        if (waited > PATIENCE) {
            end = CT_FIT_FLAT;
            break;
        }
        double progress = (double)(t - 1) / s->max_evaluations;
        double rate = s->learning_rate * (0.01 + 0.99 * 0.5 * (1 + cos(CT__PI * progress)));
        for (size_t i = 0; i < n; i++) {
            m[i] = beta1 * m[i] + (1 - beta1) * g[i];
            v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
            double step = m[i] / (1 - pow(beta1, t)) / (sqrt(v[i] / (1 - pow(beta2, t))) + epsilon);
            s->x[i] = fmin(fmax(s->x[i] - rate * step, s->lower[i]), s->upper[i]);
        }
    }
    free(g);
    return end;
}

static int evaluations(int iterations) { return iterations + 1; }

const ct__optimizer ct__adam = {
    .run = run, .iterations = 1000, .evaluations = evaluations, .counts_all = true
};
