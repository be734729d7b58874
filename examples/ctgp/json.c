/* JSON for scripts. */
#include "ctgp.h"

#include <math.h>

/* Bytes of the UTF-8 character at p; 0 where there is none [RFC 3629]. */
static int utf8_size(const unsigned char *p)
{
    const int size = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    for (int k = 1; k < size; k++)
        if ((p[k] & 0xc0) != 0x80) return 0;
    const bool overlong = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    const bool beyond = (*p == 0xed && p[1] >= 0xa0) || (*p == 0xf4 && p[1] >= 0x90); /* or a surrogate */
    return overlong || beyond ? 0 : size;
}

/* A byte that is not UTF-8 is taken for Latin-1. */
void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const int size = utf8_size(p);
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20 || !size)
            fprintf(out, "\\u%04x", *p);
        else
            fwrite(p, 1, (size_t)size, out);
        p += size ? size : 1;
    }
    fputc('"', out);
}

void json_number(FILE *out, double value)
{
    char text[CT_NUMBER_TEXT];
    ct_number_write(value, 17, text);
    fputs(isfinite(value) ? text : "null", out);
}

void json_score(FILE *out, score s)
{
    static const char *const name[] = { "rmse", "mae", "nlpd", "coverage95" };
    const double value[] = { s.rmse, s.mae, s.nlpd, s.coverage95 };
    fprintf(out, "\"n\": %lld", (long long)s.n);
    for (int k = 0; k < 4; k++) {
        fprintf(out, ", \"%s\": ", name[k]);
        json_number(out, value[k]);
    }
}

void json_parameters(FILE *out, const ct_gp *gp)
{
    fputs("\"parameters\": {", out);
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        if (i) fputs(", ", out);
        json_string(out, ct_gp_param(gp, i)->name);
        fputs(": ", out);
        json_number(out, ct_gp_param(gp, i)->value);
    }
    fputc('}', out);
}
