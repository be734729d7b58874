/* ctgp plot: an axis. */
#include "plot_axis.h"

#include <float.h>

static double scaled(const axis *a, double value)
{
    if (a->of && a->of->levels) return (value - a->of->first) / a->of->gap;
    return a->log ? log(value) : value;
}

void cover(axis *a, double value)
{
    const double at = scaled(a, value);
    if (isfinite(at)) a->lo = fmin(a->lo, at), a->hi = fmax(a->hi, at);
}

/* The axis of a single value is twice as long as that is large. */
void widen(axis *a, double below, double above)
{
    double length = a->hi - a->lo;
    if (length < DBL_MIN) {
        length = a->lo != 0 ? 2 * fmax(fabs(a->lo), DBL_MIN) : 2;
        below = above = 0.5;
    }
    a->lo -= below * length, a->hi += above * length;
}

double share(const axis *a, double value) { return (scaled(a, value) - a->lo) / (a->hi - a->lo); }

axis span_axis(const span *of)
{
    axis a = { .lo = of->levels ? 0 : of->lo, .hi = of->levels ? (double)of->levels - 1 : of->hi, .of = of };
    if (of->levels)
        a.lo -= 0.5, a.hi += 0.5;
    else
        widen(&a, 0.03, 0.03);
    return a;
}

axis target_axis(const ct_gp *gp)
{
    axis a = empty_axis;
    a.log = ct_gp_transform(gp).kind == CT_TRANSFORM_LOG;
    return a;
}
