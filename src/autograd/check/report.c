#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void ct__compare(ct__worst *w, double analytic, double numeric, double scale, double tolerance, double floor,
                 int64_t at)
{
    double difference = fabs(analytic - numeric), allowed = tolerance * scale + floor;
    double ratio = analytic == numeric ? 0 : !(allowed >= 0) ? INFINITY : difference / allowed;
    if (isnan(ratio)) ratio = difference == 0 ? 0 : INFINITY;
    if (ratio <= w->ratio) return;
    *w = (ct__worst){ .analytic = analytic,
                      .numeric = numeric,
                      .error = scale > 0 ? difference / scale : difference,
                      .ratio = ratio,
                      .at = at };
}

void ct__conclude(ct__report *r, const ct__worst *w, double tolerance, const char *what, const char *where)
{
    bool ok = w->ratio <= 1;
    char line[sizeof r->first];
    ct__print(line, sizeof line, "%s%s%s: rule %.10g, reference %.10g, error %.2g (tolerance %.1g)", what,
              *where ? ", worst at " : "", where, w->analytic, w->numeric, w->error, tolerance);
    ct__put(&r->text, "  %s  %s\n", ok ? "ok  " : "FAIL", line);
    r->checks++;
    if (!ok && r->failures++ == 0) memcpy(r->first, line, sizeof line);
}

const char *ct__place(ct_shape shape, int64_t at, char *buffer, size_t size)
{
    ct__text t = ct__text_at(buffer, size);
    const int ndim = at < 0 || ct_shape_count(shape) <= 0 ? 0 : shape.ndim;
    for (int d = 0; d < ndim; d++) {
        int64_t inner = 1;
        for (int e = d + 1; e < ndim; e++) inner *= shape.dim[e];
        ct__put(&t, "%c%lld", d ? ',' : '[', (long long)(at / inner % shape.dim[d]));
    }
    if (ndim > 0) ct__put(&t, "]");
    return buffer;
}
