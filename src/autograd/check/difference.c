/* Derivatives by central differences, extrapolated to step 0 [Ridders 1982, Adv. Eng. Software 4(2)].
 * Neville's table in h²:  D_j = D_(j-1) + (D_(j-1) - D_(j-1) of twice the step) / (4^j - 1).
 * Each entry keeps the value with the smallest estimated error. */
#include <math.h>

#include "check.h"

#define LEVELS 14

/* Smaller steps help near a kink or a pole; in f32 rounding errors forbid them. */
ct__ladder ct__ladder_new(ct__check *k, int64_t m)
{
    const double step = k->options.step;
    ct__ladder l = { .step = step > 0         ? step
                             : k->eps > 1e-10 ? 0.125
                                              : 0.03125,
                     .levels = step > 0         ? 1
                               : k->eps > 1e-10 ? 6
                                                : LEVELS };
    l.slope = ct__check_numbers(k, 2 * m);
    l.error = l.slope ? l.slope + m : NULL;
    l.table = ct__check_numbers(k, (2 * LEVELS + 2) * m);
    return l;
}

bool ct__differentiate(ct__check *k, ct__curve *f, void *context, int64_t m, ct__ladder *l, double goal)
{
    double *row = l->table, *before = row + LEVELS * m, *up = before + LEVELS * m, *down = up + m;
    for (int64_t i = 0; i < m; i++) l->slope[i] = NAN, l->error[i] = INFINITY;
    double h = l->step;
    for (int level = 0; level < l->levels; level++, h /= 2) {
        if (!f(k, h, up, context) || !f(k, -h, down, context)) return false;
        double *swap = row;
        row = before, before = swap;
        double largest = 0, error = 0;
        for (int64_t i = 0; i < m; i++) {
            row[i] = (up[i] - down[i]) / (2 * h);
            if (l->levels == 1) l->slope[i] = row[i], l->error[i] = 0;
            double factor = 4;
            for (int j = 1; j <= level; j++, factor *= 4) {
                double left = row[(j - 1) * m + i], above = before[(j - 1) * m + i];
                row[j * m + i] = left + (left - above) / (factor - 1);
                double e = fmax(fabs(row[j * m + i] - left), fabs(row[j * m + i] - above));
                if (e < l->error[i]) l->slope[i] = row[j * m + i], l->error[i] = e;
            }
            largest = fmax(largest, fabs(l->slope[i]));
            error = fmax(error, l->error[i]);
        }
        if (level >= 2 && error <= goal * largest) break;
    }
    return true;
}
