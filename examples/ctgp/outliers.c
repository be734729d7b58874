/* Rows that lie far from what all others predict. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 5 };
#define FAR 4.0 /* standard deviations */

static int by_size(const void *a, const void *b)
{
    const outlier *x = a, *y = b;
    return x->sigmas != y->sigmas ? (x->sigmas < y->sigmas) - (x->sigmas > y->sigmas)
                                  : (x->place > y->place) - (x->place < y->place);
}

/* log p(y_i | the others) = -½ log 2πs² - ½ z² */
int outliers_find(outliers *o, ct_gp *gp, const frame *f)
{
    const int64_t n = ct_gp_points(gp);
    ct_device *device = ct_gp_device(gp);
    ct_tensor *variance = ct_empty(device, CT_F64, ct_shape1(n)),
              *density = ct_empty(device, CT_F64, ct_shape1(n));
    const size_t bytes = (size_t)n * sizeof(double);
    double *v = malloc(bytes), *p = malloc(bytes);
    *o = (outliers){ .count = -1, .list = malloc((size_t)n * sizeof *o->list), .where = f ? "line" : "row" };
    int result = v && p && o->list ? GO_ON : fail(CODE_MEMORY, "no memory for %lld rows", (long long)n);
    ct_status known = variance && density ? CT_OK : CT_ENOMEM;
    if (result == GO_ON && !known) known = ct_gp_loo(gp, NULL, variance, density);
    if (result == GO_ON && !known) known = ct_read(variance, v, bytes);
    if (result == GO_ON && !known) known = ct_read(density, p, bytes);
    if (result == GO_ON && known == CT_ENOMEM) result = fail_device(device, NULL);
    if (result == GO_ON && !known) {
        o->count = 0;
        for (int64_t i = 0; i < n; i++) {
            const double z2 = -2 * p[i] - log(2 * acos(-1) * v[i]);
            const int64_t place = f ? ct_table_line(f->table, f->rows[i]) : i + 1;
            if (z2 > FAR * FAR) o->list[o->count++] = (outlier){ place, sqrt(z2) };
        }
        qsort(o->list, (size_t)o->count, sizeof *o->list, by_size);
    }
    ct_release(variance);
    ct_release(density);
    free(v);
    free(p);
    return result;
}

void outliers_free(outliers *o) { free(o->list); }

void print_outliers(const outliers *o, const char *heading)
{
    if (o->count <= 0) return;
    fputs(heading, stdout);
    for (int64_t i = 0; i < o->count && i < SHOWN; i++)
        printf("%s%s %lld (%.1f)", i ? ", " : "", o->where, (long long)o->list[i].place, o->list[i].sigmas);
    if (o->count > SHOWN) printf(" and %lld more", (long long)o->count - SHOWN);
    printf(": standard deviations from what the other rows predict\n");
}

void json_outliers(const outliers *o)
{
    printf("\"outliers\": %s", o->count < 0 ? "null" : "[");
    for (int64_t i = 0; i < o->count; i++)
        printf("%s{\"%s\": %lld, \"sigmas\": %.3g}", i ? ", " : "", o->where, (long long)o->list[i].place,
               o->list[i].sigmas);
    if (o->count >= 0) printf("]");
}
