/* What missing cells cost. */
#include "missing.h"

#include "columns.h"
#include "context.h"
#include "text.h"

void print_missing(ctgp *c, const frame *f, const int64_t *cols, int64_t n, const char *text)
{
    const int64_t all = ct_table_rows(f->table), lost = all - f->n_rows;
    int64_t alone = 0;
    const char *remedy = "";
    name_choice columns = { 0 };
    for (int64_t j = 0; j < ct_table_cols(f->table) && lost; j++)
        if (f->missing[j].rows)
            add_name(&columns,
                     text_of(c, "%s in %lld", ct_table_name(f->table, j), (long long)f->missing[j].rows));
    for (int64_t j = 0; j < n && lost; j++) {
        const cost of = f->missing[cols[j]];
        if (10 * of.rows >= all && !*remedy) remedy = "; --missing keep learns them, too";
        if (of.alone <= alone || 10 * of.alone < all) continue;
        alone = of.alone;
        remedy = text_of(c, "; --drop %s keeps %lld of them, and --missing keep all",
                         option_name(c, ct_table_name(f->table, cols[j])), (long long)alone);
    }
    if (lost) note(text, (long long)lost, (long long)all, columns.list, remedy);
}
