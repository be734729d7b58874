/* libFuzzer: any text as a kernel. A kernel that parses is printed, with and without values, as text that
 * parses to the same kernel. One that does not gives a message of three lines. */
#include <cotangent/gp/kernel.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const ct_kernel *k, bool values)
{
    size_t n = ct_kernel_print(k, values, NULL, 0);
    char *text = malloc(n + 1), *again = malloc(n + 1);
    if (!text || !again) abort();
    if (ct_kernel_print(k, values, text, n + 1) != n || strlen(text) != n) abort();
    ct_kernel *back = ct_kernel_parse(text);
    if (ct_kernel_status(back) || ct_kernel_print(back, values, again, n + 1) != n || strcmp(text, again))
        abort();
    ct_kernel_free(back);
    free(text);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    static const ct_column columns[] = { { .name = "temp" }, { .name = "a \"b\"" }, { .name = "" } };
    ct_kernel *k = ct_kernel_parse_named(text, columns, 3);
    if (ct_kernel_status(k) == CT_OK) {
        check_round_trip(k, false);
        check_round_trip(k, true);
        if (ct_kernel_bind(k, 3) == CT_OK) check_round_trip(k, true);
        for (int64_t i = 0; i < ct_kernel_params(k); i++)
            if (ct_kernel_find(k, ct_kernel_param(k, i)->name) != i) abort();
    } else {
        const char *message = ct_kernel_message(k);
        int lines = 1;
        for (const char *c = message; *c; c++) lines += *c == '\n';
        if (lines != 3 || message[strlen(message) - 1] != '^') abort();
    }
    ct_kernel_free(k);
    free(text);
    return 0;
}
