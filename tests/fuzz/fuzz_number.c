/* libFuzzer: any bytes as the text of a number and of a time, and the first eight as a number and a time to
 * write. What is read has strtod's value; what is written is read back as itself, to the digits asked for. */
#include <cotangent/gp/number.h>

#include <ctype.h>
#include <math.h>

#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

static void read_number(const char *text, size_t size)
{
    double value = 7, back = 7;
    char written[CT_NUMBER_TEXT];
    const ct_number kind = ct_number_read(text, size, &value);
    if (kind == CT_NUMBER_NONE || kind == CT_NUMBER_MISSING) MUST(isnan(value));
    if (kind == CT_NUMBER_TOO_LARGE) MUST(isinf(value));
    if (kind != CT_NUMBER) return;
    char *copy = strndup(text, size), *end; /* with its end, which strtod needs */
    MUST(copy && !memchr(text, 0, size) && !isspace((unsigned char)*text));
    MUST(same(strtod(copy, &end), value) && !*end);
    free(copy);
    MUST(ct_number_read(written, ct_number_write(value, 0, written), &back) == CT_NUMBER &&
         same(back, value));
}

static void write_number(double value)
{
    char text[CT_NUMBER_TEXT];
    double back;
    for (int digits = 0; digits <= 18; digits++) {
        const size_t n = ct_number_write(value, digits, text);
        MUST(n == strlen(text) && n < CT_NUMBER_TEXT && !strchr(text, ','));
        const ct_number kind = ct_number_read(text, n, &back);
        if (digits == 0 || digits > 16) MUST(same(back, value));
        if (isfinite(value)) /* the largest doubles may round up to infinity */
            MUST(kind == CT_NUMBER_TOO_LARGE ||
                 fabs(back - value) <= fabs(value) * pow(10, 1 - (digits ? digits : 17)) + 5e-324);
    }
}

static void read_time(const char *text, size_t size)
{
    double days = 7, back;
    char written[CT_TIME_TEXT];
    const ct_time kind = ct_time_read(text, size, &days);
    MUST(kind == CT_TIME ? isfinite(days) : isnan(days));
    for (int form = -1; form <= CT_TIME_EXCEL + 1; form++) {
        const ct_time other = ct_time_read_as(text, size, (ct_time_form)form, &back);
        MUST(other == CT_TIME ? isfinite(back) : isnan(back));
        MUST(kind == CT_TIME_NONE || (other == kind && same(back, days)));
    }
    if (kind != CT_TIME) return;
    MUST(ct_time_read(written, ct_time_write(days, written), &back) == CT_TIME);
    MUST(fabs(back - days) <= 0.6e-3 / 86400 + 1e-15 * fabs(days));
}

static void write_time(double days)
{
    char text[CT_TIME_TEXT], again[CT_TIME_TEXT];
    double back;
    const size_t n = ct_time_write(days, text);
    MUST(n == strlen(text) && n < CT_TIME_TEXT);
    if (!(fabs(days) < 365e6)) return; /* written as a number */
    MUST(ct_time_read(text, n, &back) == CT_TIME);
    MUST(fabs(back - days) <= 0.6e-3 / 86400 + 1e-15 * fabs(days));
    MUST(ct_time_write(back, again) == n && !strcmp(text, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* without an end */
    double value = 0;
    if (!text) return 0;
    memcpy(text, data, size);
    read_number(text, size);
    read_time(text, size);
    free(text);
    memcpy(&value, data, size < sizeof value ? size : sizeof value);
    write_number(value);
    write_time(value);
    write_time(fmod(value, 1e6));
    return 0;
}
