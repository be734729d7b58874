/* JSON for scripts. */
#include "command.h"

#include <math.h>
#include <stdarg.h>

static void write_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (uint32_t c; (c = take_character(&text));) {
        if (is_control(c))
            fprintf(to, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(to, "\\%c", (int)c);
        else
            put_character(to, c);
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
