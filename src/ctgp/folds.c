/* Which rows are left out together, and rows in a drawn order. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

typedef struct keyed {
    double key;
    const char *text;
    int64_t row;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->row > y->row) - (x->row < y->row);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const keyed *)a)->text, ((const keyed *)b)->text);
}

void rows_shuffled(ctgp *c, ct_device *device, int64_t n, uint64_t seed, uint64_t stream, int64_t *order)
{
    double *keys = take(c, n, sizeof *keys, "rows");
    keyed *rows = take(c, n, sizeof *rows, "rows");
    if (!going(c)) return;
    ct_tensor *u = own_tensor(c, device, ct_rand_uniform(device, CT_F64, ct_shape1(n), seed, stream));
    if (u && ct_read(u, keys, (size_t)n * sizeof *keys)) fail_device(c, device, NULL);
    for (int64_t i = 0; i < n; i++) rows[i] = (keyed){ keys[i], NULL, i };
    qsort(rows, (size_t)n, sizeof *rows, by_key);
    for (int64_t i = 0; i < n; i++) order[i] = rows[i].row;
}

void folds_drawn(ctgp *c, ct_device *device, int64_t n, int64_t count, uint64_t seed, int64_t *fold)
{
    int64_t *order = take(c, n, sizeof *order, "rows");
    rows_shuffled(c, device, n, seed, 0, order);
    for (int64_t i = 0; i < n && going(c); i++) fold[order[i]] = i % count;
}

void folds_by(ctgp *c, const frame *f, const char *column, int64_t *fold, int64_t *count)
{
    if (!going(c)) return;
    const int64_t col = frame_column(c, f, column), n = f->n_rows;
    if (col < 0) return;
    keyed *rows = take(c, n, sizeof *rows, "rows");
    *count = 0;
    for (int64_t i = 0; i < n && going(c); i++) {
        rows[i] = (keyed){ .text = ct_table_text(f->table, f->rows[i], col), .row = i };
        if (!rows[i].text[0])
            fail(c, CODE_DATA, "%s, line %lld: column '%s' has no value, which group is that?", f->path,
                 (long long)ct_table_line(f->table, f->rows[i]), column);
    }
    if (going(c)) qsort(rows, (size_t)n, sizeof *rows, by_text);
    for (int64_t i = 0; i < n && going(c); i++) {
        if (i == 0 || strcmp(rows[i - 1].text, rows[i].text) != 0) ++*count;
        fold[rows[i].row] = *count;
    }
    if (*count < 2)
        fail(c, CODE_DATA,
             "%s: column '%s' is the same in every row: there is no other group to predict it from", f->path,
             column);
}
