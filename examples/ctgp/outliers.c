/* Rows that lie far from what all others predict. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 5 };
#define FAR 4.0 /* standard deviations */

typedef struct outlier {
    int64_t row;
    double sigmas;
} outlier;

static int by_size(const void *a, const void *b)
{
    const outlier *x = a, *y = b;
    return x->sigmas != y->sigmas ? (x->sigmas < y->sigmas) - (x->sigmas > y->sigmas)
                                  : (x->row > y->row) - (x->row < y->row);
}

/* log p(y_i | the others) = -½ log 2πs² - ½ z². *found: malloc'ed, the farthest first. -1: not known. */
static int64_t find(ct_gp *gp, outlier **found)
{
    const int64_t n = ct_gp_points(gp);
    ct_tensor *variance = ct_empty(ct_gp_device(gp), CT_F64, ct_shape1(n)),
              *density = ct_empty(ct_gp_device(gp), CT_F64, ct_shape1(n));
    const size_t bytes = (size_t)n * sizeof(double);
    double *v = malloc(bytes), *p = malloc(bytes);
    int64_t count = -1;
    *found = malloc((size_t)n * sizeof **found);
    if (variance && density && v && p && *found && !ct_gp_loo(gp, NULL, variance, density) &&
        !ct_read(variance, v, bytes) && !ct_read(density, p, bytes)) {
        count = 0;
        for (int64_t i = 0; i < n; i++) {
            const double z2 = -2 * p[i] - log(2 * acos(-1) * v[i]);
            if (z2 > FAR * FAR) (*found)[count++] = (outlier){ i, sqrt(z2) };
        }
        qsort(*found, (size_t)count, sizeof **found, by_size);
    }
    ct_release(variance);
    ct_release(density);
    free(v);
    free(p);
    return count;
}

/* The line of the table, or without one the row of the model. */
static long long place(const frame *f, int64_t row)
{
    return f ? ct_table_line(f->table, f->rows[row]) : row + 1;
}

void print_outliers(ct_gp *gp, const frame *f, int width)
{
    outlier *o;
    const int64_t count = find(gp, &o);
    if (count > 0) printf("%-*s ", width, f ? "  outliers" : "outliers");
    for (int64_t i = 0; i < count && i < SHOWN; i++)
        printf("%s%s %lld (%.1f)", i ? ", " : "", f ? "line" : "row", place(f, o[i].row), o[i].sigmas);
    if (count > SHOWN) printf(" and %lld more", (long long)count - SHOWN);
    if (count > 0) printf(": standard deviations from what the other rows predict\n");
    free(o);
}

void json_outliers(ct_gp *gp, const frame *f)
{
    outlier *o;
    const int64_t count = find(gp, &o);
    printf("\"outliers\": %s", count < 0 ? "null" : "[");
    for (int64_t i = 0; i < count; i++)
        printf("%s{\"%s\": %lld, \"sigmas\": %.3g}", i ? ", " : "", f ? "line" : "row", place(f, o[i].row),
               o[i].sigmas);
    if (count >= 0) printf("]");
    free(o);
}
