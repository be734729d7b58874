/* JSON for scripts. */
#include "command.h"

#include <math.h>
#include <stdarg.h>

/* Bytes of the UTF-8 character at p, or 0 [RFC 3629]. */
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
static void write_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const int size = utf8_size(p);
        if (*p == '"' || *p == '\\')
            fprintf(to, "\\%c", *p);
        else if (*p < 0x20 || !size)
            fprintf(to, "\\u%04x", *p);
        else
            fwrite(p, 1, (size_t)size, to);
        p += size ? size : 1;
    }
    fputc('"', to);
}

/* A comma if it is due, and the name. */
static void begin(json *j, const char *name)
{
    if (j->more) fputs(", ", j->to);
    if (name) write_string(j->to, name);
    if (name) fputs(": ", j->to);
    j->more = true;
}

void json_open(json *j, const char *name, char bracket)
{
    begin(j, name);
    fputc(bracket, j->to);
    j->more = false;
}

void json_close(json *j, char bracket)
{
    fputc(bracket, j->to);
    j->more = true;
}

void json_print(json *j, const char *name, const char *format, ...)
{
    va_list values;
    begin(j, name);
    va_start(values, format);
    vfprintf(j->to, format, values);
    va_end(values);
}

void json_string(json *j, const char *name, const char *text)
{
    begin(j, name);
    if (text)
        write_string(j->to, text);
    else
        fputs("null", j->to);
}

void json_number(json *j, const char *name, double value)
{
    char text[CT_NUMBER_TEXT];
    ct_number_write(value, 17, text);
    json_print(j, name, "%s", isfinite(value) ? text : "null");
}

void json_whole(json *j, const char *name, int64_t value) { json_print(j, name, "%lld", (long long)value); }

void json_flag(json *j, const char *name, bool value) { json_print(j, name, value ? "true" : "false"); }

void json_outputs(json *j, const char *kind)
{
    json_open(j, NULL, '{');
    if (kind) json_string(j, "kind", kind);
    json_open(j, "outputs", '[');
}

void json_end(json *j, bool several)
{
    fputs(several ? "]}\n" : "\n", j->to);
    j->more = false;
}
