/* Which rows are left out together, and rows in a drawn order. */
#include "folds.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "numbers.h"

int64_t *rows_shuffled(ctgp *c, int64_t n, uint64_t seed, uint64_t stream)
{
    keyed *rows = take(c, n, sizeof *rows, "rows");
    int64_t *order = take(c, n, sizeof *order, "rows");
    const double *keys =
        tensor_values(c, own_tensor(c, ct_rand_uniform(c->device, CT_F64, ct_shape1(n), seed, stream)));
    for (int64_t i = 0; i < n; i++) rows[i] = (keyed){ keys[i], i };
    sort_keyed(rows, n);
    for (int64_t i = 0; i < n; i++) order[i] = rows[i].index;
    return order;
}

int64_t *folds_drawn(ctgp *c, int64_t n, int64_t count, uint64_t seed)
{
    const int64_t *order = rows_shuffled(c, n, seed, 0);
    int64_t *fold = take(c, n, sizeof *fold, "rows");
    for (int64_t i = 0; i < n; i++) fold[order[i]] = i % count;
    return fold;
}

typedef struct group_row {
    const char *group;
    int64_t row;
} group_row;

static int by_group(const void *a, const void *b)
{
    const group_row *x = a, *y = b;
    return strcmp(x->group, y->group);
}

int64_t *folds_by(ctgp *c, const frame *f, const char *column, int64_t *count)
{
    const int64_t col = frame_column(c, f, column), n = f->n_rows;
    group_row *rows = take(c, n, sizeof *rows, "rows");
    int64_t *fold = take(c, n, sizeof *fold, "rows");
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (group_row){ ct_table_text(f->table, f->rows[i], col), i };
        if (!rows[i].group[0])
            fail(c, CODE_DATA, "%s, line %lld: column '%s' has no value, which group is that?", f->path,
                 (long long)ct_table_line(f->table, f->rows[i]), column);
    }
    qsort(rows, (size_t)n, sizeof *rows, by_group);
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || by_group(&rows[i - 1], &rows[i]) != 0) ++*count;
        fold[rows[i].row] = *count;
    }
    if (*count < 2)
        fail(c, CODE_DATA,
             "%s: column '%s' is the same in every row: there is no other group to predict it from", f->path,
             column);
    return fold;
}
