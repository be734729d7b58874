/* Rows that lie far from what all others predict. */
#include "ctgp.h"

enum { SHOWN = 5 };
#define FAR 4.0 /* standard deviations */

outliers outliers_find(ctgp *c, ct_gp *gp, const frame *f)
{
    left_out l;
    const ct_status known = left_out_read(c, &l, gp, NULL);
    if (known == CT_ENOMEM) fail_device(c);
    outliers o = { .count = known ? -1 : 0,
                   .list = take(c, l.n, sizeof *o.list, "rows"),
                   .where = f ? "line" : "row" };
    for (int64_t i = 0; i < l.n && !known; i++) {
        const int64_t place = f ? ct_table_line(f->table, f->rows[i]) : i + 1;
        if (l.loss[i].sigmas > FAR) o.list[o.count++] = (keyed){ -l.loss[i].sigmas, place };
    }
    if (!known) sort_keyed(o.list, o.count);
    return o;
}

void write_outliers(writer *w, const outliers *o, const char *heading)
{
    const int64_t shown = w->json || o->count < SHOWN ? o->count : SHOWN;
    if (o->count < 0) WRITE(w, field_word("outliers", NULL, NULL));
    if (o->count < 0 || (!o->count && !w->json)) return;
    WRITE(w, field_begin("outliers", '[', heading));
    const char *place = text_of(w->c, "%s %%.0f", o->where);
    for (int64_t i = 0; i < shown; i++)
        WRITE(w, field_begin(NULL, '{', i ? ", " : NULL),
              field_number(o->where, place, (double)o->list[i].index),
              field_number("sigmas", " (%.1f)", -o->list[i].key), field_end('}', NULL));
    WRITE(w, field_count(shown < o->count ? " and %.0f more" : NULL, (double)(o->count - shown)),
          field_end(']', ": standard deviations from what the other rows predict\n"));
}
