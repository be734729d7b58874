/* libFuzzer: any bytes as CSV. The first two bytes choose delimiter, header and decimal sign; a table
 * that comes out must be consistent, and a refusal must say why, in one line. */
#include <cotangent/io.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    static ct_device *dev;
    if (!dev) dev = ct_device_open("cpu");
    ct_csv_options options = { .delimiter = data[0] < 128 ? 0 : (char)(data[0] & 127),
                               .header = data[1] % 3 - 1,
                               .decimal = "\0.,"[data[1] / 3 % 3] };
    ct_table *t = ct_csv_parse(dev, (const char *)data + 2, size - 2, &options);
    if (!t) {
        if (!*ct_message(dev) || strchr(ct_message(dev), '\n') || !ct_last_status(dev)) __builtin_trap();
        return 0;
    }
    int64_t rows = ct_table_rows(t), cols = ct_table_cols(t), line = 0;
    if (cols < 1 || rows < 0 || rows > (int64_t)size || cols > (int64_t)size) __builtin_trap();
    for (int64_t i = 0; i < cols; i++)
        if (!ct_table_name(t, i) || ct_table_find(t, ct_table_name(t, i)) > i) __builtin_trap();
    for (int64_t i = 0; i < rows; i++) {
        if (ct_table_line(t, i) <= line) __builtin_trap();
        line = ct_table_line(t, i);
    }
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
