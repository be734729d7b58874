/* The periodogram of a series with a trend, evenly spaced or not: at each frequency least squares of a wave
 * and the trend together. [Lomb 1976; Scargle 1982; Zechmeister & Kürster 2009] */
#include "periodogram.h"

#include <math.h>
#include <stddef.h>

#include <cotangent/profiles.h>

#include "vectors.h"

void ct__series_join(ct__series *s)
{
    const int64_t n = s->n;
    double *v = s->q + s->columns * n;
    const double before = sqrt(ct__gp_dot(v, v, n));
    ct__gp_project_out(s->q, s->columns, n, 1, v, NULL, 0);
    const double norm = sqrt(ct__gp_dot(v, v, n));
    if (!(norm > 1e-8 * before)) return;
    for (int64_t i = 0; i < n; i++) v[i] /= norm;
    ct__gp_project_out(v, 1, n, 1, s->r, NULL, 0);
    s->columns++;
}

/* The power by the sums in the header, from the waves c and s; rr = |r|². */
static double power_of(const ct__series *s, const double *c, const double *sine, double rr)
{
    const int64_t n = s->n;
    const double yc = ct__gp_dot(s->r, c, n), ys = ct__gp_dot(s->r, sine, n);
    double cc = ct__gp_dot(c, c, n), ss = ct__gp_dot(sine, sine, n), cs = ct__gp_dot(c, sine, n);
    for (int k = 0; k < s->columns; k++) { /* r is orthogonal to q */
        const double qc = ct__gp_dot(s->q + k * n, c, n), qs = ct__gp_dot(s->q + k * n, sine, n);
        cc -= qc * qc, ss -= qs * qs, cs -= qc * qs;
    }
    const double det = cc * ss - cs * cs,
                 power = (ss * yc * yc + cc * ys * ys - 2 * cs * yc * ys) / (det * rr);
    return cc > 0 && ss > 0 && det > 1e-12 * (double)n * (double)n ? fmin(fmax(power, 0), 1) : 0;
}

void ct__periodogram(const ct__series *s, double first, double step, int64_t m, double *power)
{
    const int64_t n = s->n;
    const double turn = 2 * CT__PI, rr = ct__gp_dot(s->r, s->r, n);
    double *c = s->wave, *sine = c + n, *dc = sine + n, *ds = dc + n; /* of the frequency; of a step */
    for (int64_t i = 0; i < n; i++) {
        c[i] = cos(turn * first * s->t[i]), sine[i] = sin(turn * first * s->t[i]);
        dc[i] = cos(turn * step * s->t[i]), ds[i] = sin(turn * step * s->t[i]);
    }
    for (int64_t k = 0; k < m; k++) {
        power[k] = rr > 0 ? power_of(s, c, sine, rr) : 0;
        for (int64_t i = 0; i < n; i++) {
            const double next = c[i] * dc[i] - sine[i] * ds[i];
            sine[i] = c[i] * ds[i] + sine[i] * dc[i];
            c[i] = next;
        }
    }
}
