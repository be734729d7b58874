/* A result as named numbers. */
#include "command.h"

void write_fields(const field *f, int n, json *j, FILE *to)
{
    for (int i = 0; i < n; i++) {
        if (!f[i].name) continue;
        if (!j) fprintf(to, "%s%s=", i ? " " : "", f[i].name);
        if (!j)
            fprintf(to, f[i].text, f[i].value);
        else if (f[i].json)
            json_print(j, f[i].name, f[i].json, f[i].value);
        else
            json_number(j, f[i].name, f[i].value);
    }
}
