/* What people read. Names from files may hold any bytes: they are printed as UTF-8, and a character that acts
 * on a terminal or ends the line becomes '?'. A byte that is not UTF-8 is taken for Latin-1. */
#include "text.h"

#include <stdarg.h>
#include <string.h>

/* -- characters -- */

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

uint32_t take_character(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    const int size = utf8_size(p);
    uint32_t c = size > 1 ? *p & (0x7fu >> size) : *p;
    for (int k = 1; k < size; k++) c = c << 6 | (p[k] & 0x3fu);
    if (c) *text += size ? size : 1;
    return c;
}

void put_character(FILE *to, uint32_t c)
{
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes after the first */
    static const uint32_t first[] = { 0, 0xc0, 0xe0, 0xf0 };
    fputc((int)(first[more] | c >> 6 * more), to);
    for (int k = more; k-- > 0;) fputc((int)(0x80 | (c >> 6 * k & 0x3f)), to);
}

bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff; /* the last two: not in XML */
}

void put_text(FILE *to, const char *text, char line_end)
{
    for (uint32_t c; (c = take_character(&text));)
        put_character(to, is_control(c) && c != (uint32_t)line_end ? '?' : c);
}

/* -- text and lines -- */

/* Cuts what is longer than the buffer: a message of no memory may need none. The end of a line is the
 * format's.
 */
static void put_format(FILE *to, const char *format, va_list values)
{
    char text[1 << 14];
    const size_t length = strlen(format), used = (size_t)vsnprintf(text, sizeof text, format, values);
    const bool line = length && format[length - 1] == '\n';
    if (line && used < sizeof text) text[used - 1] = 0;
    put_text(to, text, 0);
    if (line) fputc('\n', to);
}

void say(FILE *to, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    put_format(to, format, values);
    va_end(values);
}

void note(const char *format, ...)
{
    va_list values;
    fputs("ctgp: ", stderr);
    va_start(values, format);
    put_format(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

static void guess(name_choice *to, const char *name)
{
    const int distance = ct_name_distance(to->asked, name);
    if (!ct_name_is_near(to->asked, distance) || (*to->guess && distance >= to->distance)) return;
    to->distance = distance;
    snprintf(to->guess, sizeof to->guess, ": did you mean '%s'?", name);
}

void add_name(name_choice *to, const char *name)
{
    static const char rest[] = ", ...";
    char *list = to->list;
    const size_t size = sizeof to->list, used = strlen(list), room = size - sizeof rest;
    if (to->asked) guess(to, name);
    const bool cut = used >= sizeof rest && !strcmp(list + used + 1 - sizeof rest, rest);
    if (used + strlen(name) + 2 <= room)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
    else if (!cut)
        strcpy(list + used, rest);
}
