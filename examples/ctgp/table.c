/* Columns of numbers as CSV, to a file or to standard output. */
#include "ctgp.h"

#include <math.h>
#include <string.h>

bool is_standard(const char *path) { return !strcmp(path, "-"); }

static void print_table(const double *values, int64_t rows, int64_t cols, const char *const *names)
{
    for (int64_t j = 0; j < cols; j++) printf("%s%s", j ? "," : "", names[j]);
    putchar('\n');
    for (int64_t i = 0; i < rows * cols; i++) {
        char text[CT_NUMBER_TEXT];
        ct_number_write(values[i], 17, text);
        if (!isnan(values[i])) fputs(text, stdout);
        putchar((i + 1) % cols ? ',' : '\n');
    }
}

int table_write(ct_device *device, const double *values, int64_t rows, int64_t cols, const char *const *names,
                const char *out)
{
    if (ct_group_rank(many())) return GO_ON; /* process 0 writes */
    if (is_standard(out)) {
        print_table(values, rows, cols, names);
        return GO_ON;
    }
    ct_tensor *t = ct_from(device, CT_F64, ct_shape2(rows, cols), values);
    int result = t && !ct_csv_save(t, names, out) ? GO_ON : fail_device(device, NULL);
    ct_release(t);
    return result;
}
