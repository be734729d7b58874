/* Rows that lie far from what all others predict. */
#include "ctgp.h"

#include <stdlib.h>

enum { SHOWN = 5 };
#define FAR 4.0 /* standard deviations */

static int by_size(const void *a, const void *b)
{
    const outlier *x = a, *y = b;
    return x->sigmas != y->sigmas ? (x->sigmas < y->sigmas) - (x->sigmas > y->sigmas)
                                  : (x->place > y->place) - (x->place < y->place);
}

void outliers_find(ctgp *c, outliers *o, ct_gp *gp, const frame *f)
{
    if (!going(c)) return;
    left_out l;
    const ct_status known = left_out_read(c, &l, gp, NULL);
    if (known == CT_ENOMEM) fail_device(c, ct_gp_device(gp), NULL);
    *o =
        (outliers){ .count = -1, .list = take(c, l.n, sizeof *o->list, "rows"), .where = f ? "line" : "row" };
    if (!going(c) || known) return;
    o->count = 0;
    for (int64_t i = 0; i < l.n; i++) {
        const int64_t place = f ? ct_table_line(f->table, f->rows[i]) : i + 1;
        if (l.sigmas[i] > FAR) o->list[o->count++] = (outlier){ place, l.sigmas[i] };
    }
    qsort(o->list, (size_t)o->count, sizeof *o->list, by_size);
}

void print_outliers(const outliers *o, const char *heading)
{
    if (o->count <= 0) return;
    fputs(heading, stdout);
    for (int64_t i = 0; i < o->count && i < SHOWN; i++)
        printf("%s%s %lld (%.1f)", i ? ", " : "", o->where, (long long)o->list[i].place, o->list[i].sigmas);
    if (o->count > SHOWN) printf(" and %lld more", (long long)o->count - SHOWN);
    printf(": standard deviations from what the other rows predict\n");
}

void json_outliers(json *j, const outliers *o)
{
    if (o->count < 0) {
        json_string(j, "outliers", NULL);
        return;
    }
    json_open(j, "outliers", '[');
    for (int64_t i = 0; i < o->count; i++) {
        json_open(j, NULL, '{');
        json_whole(j, o->where, o->list[i].place);
        json_print(j, "sigmas", "%.3g", o->list[i].sigmas);
        json_close(j, '}');
    }
    json_close(j, ']');
}
