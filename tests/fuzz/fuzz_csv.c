/* libFuzzer: any bytes as CSV. The first three bytes choose delimiter, header, decimal sign and what columns
 * are; a table that comes out must be consistent, and a refusal must say why, in one line. */
#include <cotangent/gp/csv.h>
#include <cotangent/gp/number.h>

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Levels are different, values are levels, and times are written and read as the same. */
static void check_column(const ct_table *t, int64_t col, bool unseen)
{
    const ct_column *c = ct_table_column(t, col);
    if (strcmp(c->name, ct_table_name(t, col)) || (c->levels != NULL) != (c->n_levels > 0)) __builtin_trap();
    for (int64_t i = 1; i < c->n_levels; i++)
        if (!strcmp(c->levels[i - 1], c->levels[i])) __builtin_trap();
    for (int64_t i = 0; i < ct_table_rows(t); i++) {
        const double x = ct_table_at(t, i, col);
        if (isnan(x) && (c->kind == CT_COLUMN_FILLED || c->kind == CT_COLUMN_ABSENT)) __builtin_trap();
        if (c->kind == CT_COLUMN_ABSENT && x != 0 && x != 1) __builtin_trap();
        if (isnan(x)) continue;
        if (c->kind == CT_COLUMN_CATEGORY &&
            !(x >= (unseen ? -1 : 0) && x < (double)c->n_levels && x == floor(x)))
            __builtin_trap();
        double back;
        char text[CT_TIME_TEXT];
        if (c->kind == CT_COLUMN_TIME && fabs(x) < 3e8 &&
            (ct_time_read(text, ct_time_write(x, text), &back) != CT_TIME || fabs(back - x) > 1e-7))
            __builtin_trap();
    }
    ct_table_names_rows(t, col);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const levels[] = { "a", "yes", "1" };
    static const ct_column asked[] = {
        { .name = "c0", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 3 },
        { .name = "c1", .kind = CT_COLUMN_TIME },
        { .name = "c2", .kind = CT_COLUMN_CATEGORY },
        { .name = "a" }
    };
    if (size < 3) return 0;
    static ct_device *dev;
    if (!dev) dev = ct_device_open("cpu");
    ct_csv_options options = { .delimiter = data[0] < 128 ? 0 : (char)(data[0] & 127),
                               .header = data[1] % 3 - 1,
                               .decimal = "\0.,"[data[1] / 3 % 3],
                               .kinds = data[2] & 1,
                               .columns = asked,
                               .n_columns = data[2] & 2 ? 4 : 0,
                               .unseen = data[2] & 4,
                               .keep_missing = data[1] / 9 % 2,
                               .texts = data[2] & 8,
                               .dates = (ct_time_form)(data[2] / 16 % (CT_TIME_EXCEL + 1)) };
    ct_table *t = ct_csv_parse(dev, (const char *)data + 3, size - 3, &options);
    if (!t) {
        if (!*ct_message(dev) || strchr(ct_message(dev), '\n') || !ct_last_status(dev)) __builtin_trap();
        return 0;
    }
    int64_t rows = ct_table_rows(t), cols = ct_table_cols(t), line = 0;
    for (int64_t i = 0; i < cols; i++) check_column(t, i, options.unseen);
    if (cols < 1 || rows < 0 || rows > (int64_t)size || cols > (int64_t)size) __builtin_trap();
    for (int64_t i = 0; i < cols; i++)
        if (!ct_table_name(t, i) || ct_table_find(t, ct_table_name(t, i)) > i) __builtin_trap();
    for (int64_t i = 0; i < rows; i++) {
        if (ct_table_line(t, i) <= line) __builtin_trap();
        line = ct_table_line(t, i);
    }
    for (int64_t i = 0; i < rows * cols; i++)
        if (!ct_table_text(t, i / cols, i % cols) != !options.texts) __builtin_trap();
    for (int k = 0; ct_table_note(t, k); k++)
        if (!*ct_table_note(t, k) || strchr(ct_table_note(t, k), '\n')) __builtin_trap();
    for (int64_t i = 0; i < cols; i++)
        if (ct_table_counts_rows(t, i) && ct_table_at(t, rows - 1, i) < (double)(rows - 1)) __builtin_trap();
    ct_tensor *x = ct_table_tensor(t, CT_F64, NULL, 0);
    if (!x || ct_tensor_count(x) != rows * cols) __builtin_trap();
    ct_release(x);
    ct_table_free(t);
    return 0;
}
