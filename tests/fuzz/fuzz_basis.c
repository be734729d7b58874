/* libFuzzer: any text as the basis of a mean. One that parses is printed, function by function, as text of
 * the same functions, and its model gives finite numbers or a status. One that does not gives three lines.
 * The first byte chooses the columns' names. */
#include <cotangent/gp.h>

#include <math.h>

#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N = 12, D = 3 };

static const ct_column columns[][D] = { { { .name = "x0" }, { .name = "x1" }, { .name = "x2" } },
                                        { { .name = "my col" }, { .name = "x" }, { .name = "a\"b" } },
                                        { { .name = "x2" }, { .name = "" }, { .name = "1" } } };

static const double points[N * D] = { 0.1, 2, -3,  0.4, 1, 5, 0.2, 4, 4, 0.9, 5,   7, 0.5, 3, 1, 0.7, 0, 2,
                                      0.3, 9, 0.5, 0.8, 7, 6, 1.1, 6, 3, 1.3, 2.5, 8, 1.7, 8, 9, 2.2, 4, -1 };
static const double targets[N] = { 1, 3, 2, 5, 4, 7, 6, 9, 8, 2, 1, 4 };

/* The functions of the model as one text, malloc'ed. */
static char *printed(const ct_gp *gp)
{
    size_t length = 1, at = 0;
    for (int64_t i = 0; i < ct_gp_functions(gp); i++) length += ct_gp_function(gp, i, NULL, 0) + 3;
    char *text = malloc(length);
    MUST(text);
    for (int64_t i = 0; i < ct_gp_functions(gp); i++) {
        if (i) at += (size_t)snprintf(text + at, length - at, " + ");
        at += ct_gp_function(gp, i, text + at, length - at);
    }
    MUST(at < length && !text[at]);
    return text;
}

static void check_numbers(ct_gp *gp, const ct_tensor *X)
{
    double value[64], error[64], v[N];
    ct_tensor *variance = ct_zeros(ct_gp_device(gp), CT_F64, ct_shape1(N));
    MUST(variance);
    if (!ct_gp_coefficients(gp, value, error))
        for (int64_t i = 0; i < ct_gp_functions(gp); i++) MUST(isfinite(value[i]) && isfinite(error[i]));
    if (!ct_gp_predict(gp, X, NULL, variance)) {
        MUST(!ct_read(variance, v, sizeof v));
        for (int i = 0; i < N; i++) MUST(isfinite(v[i]) && v[i] >= 0);
    }
    ct_release(variance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    ct_device *device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    MUST(text && !ct_device_status(device));
    for (size_t i = 1; i < size; i++) text[i - 1] = (char)data[i];
    text[size ? size - 1 : 0] = 0;
    const ct_column *named = columns[size ? data[0] % 3 : 0];
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(N, D), points),
              *y = ct_from(device, CT_F64, ct_shape1(N), targets);
    ct_gp_options o = { .mean = CT_MEAN_BASIS, .basis = text, .inputs = named };
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &o);
    if (gp) {
        char *again = printed(gp), *twice;
        o.basis = again;
        ct_gp *same = ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &o);
        MUST(same);
        twice = printed(same);
        MUST(!strcmp(again, twice));
        check_numbers(gp, X);
        free(again);
        free(twice);
        ct_gp_free(same);
        ct_gp_free(gp);
    } else if (ct_last_status(device) == CT_EFORMAT) {
        int lines = 1;
        const char *message = ct_message(device);
        for (const char *c = message; *c; c++) lines += *c == '\n';
        MUST(lines == 3 && message[strlen(message) - 1] == '^');
    } else {
        MUST(ct_last_status(device) == CT_EINVAL && strlen(ct_message(device)) > 20);
    }
    ct_release(X);
    ct_release(y);
    ct_device_close(device);
    free(text);
    return 0;
}
