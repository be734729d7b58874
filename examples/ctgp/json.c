/* JSON for scripts. */
#include "ctgp.h"

#include <math.h>

void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
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
