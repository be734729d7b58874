/* Columns of times: how they are written. */
#ifndef CT_GP_CSV_TIMES_H
#define CT_GP_CSV_TIMES_H

#include <cotangent/io.h>

#include "csv_field.h"
#include "table.h"

enum { CT__TIME_FORMS = CT_TIME_CLOCK + 1 }; /* in which texts may be times */

typedef struct ct__times {
    int64_t numbers, digits;       /* cells that are numbers; of these dates as 20240131 */
    double largest;                /* their largest magnitude */
    int64_t times[CT__TIME_FORMS]; /* texts that are times in each form */
    int64_t line;                  /* of a text that is another day with the month first; 0: there is none */
    char text[CT_SHOWN_TEXT];      /* that text */
    ct_time_form form;             /* once chosen */
    double per_day, zero;          /* of times given as numbers, which count from `zero`; else 0 */
} ct__times;

/* Counts a cell. */
void ct__times_add(ct__times *k, const ct__field *f);
void ct__times_add_number(ct__times *k, double value);
/* The most cells that are times in one form; none if they are numbers that may be anything. */
int64_t ct__times_most(const ct__times *k);
/* Chooses the form and notes it. `said` is what the caller says of it. With `numbers` each cell is one. */
ct_status ct__times_choose(ct__times *k, const ct__csv *r, ct_table *t, ct_column *c, ct_time_form said,
                           bool numbers);
/* Reads a text, or the number that *days is. */
ct_time ct__times_read(const ct__times *k, const ct__field *f, double *days);

#endif
