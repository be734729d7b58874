/* Rows that lie far from what all others predict. */
#include "outliers.h"

#include "failure.h"
#include "loo.h"
#include "numbers.h"

enum { SHOWN = 5 };
#define FAR 4.0 /* standard deviations */

void write_outliers(writer *w, ct_gp *gp, const frame *f, const char *heading)
{
    left_out l;
    const char *where = f ? "line" : "row", *place = f ? "line %.0f" : "row %.0f";
    if (!is_known(w->c, left_out_read(w->c, &l, gp, NULL))) {
        WRITE(w, field_word("outliers", NULL, NULL));
        return;
    }
    int64_t n = 0;
    keyed *far = take(w->c, l.n, sizeof *far, "rows");
    for (int64_t i = 0; i < l.n; i++)
        if (l.loss[i].sigmas > FAR)
            far[n++] = (keyed){ -l.loss[i].sigmas, f ? ct_table_line(f->table, f->rows[i]) : i + 1 };
    sort_keyed(far, n);
    const int64_t shown = w->json || n < SHOWN ? n : SHOWN;
    WRITE(w, field_begin("outliers", '[', n ? heading : NULL));
    for (int64_t i = 0; i < shown; i++)
        WRITE(w, field_begin(NULL, '{', i ? ", " : NULL), field_number(where, place, (double)far[i].index),
              field_number("sigmas", " (%.1f)", -far[i].key), field_end('}', NULL));
    WRITE(w, field_count(shown < n ? " and %.0f more" : NULL, (double)(n - shown)),
          field_end(']', n ? ": standard deviations from what the other rows predict\n" : NULL));
}
