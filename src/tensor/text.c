/* Text that the library and its CUDA module write: the same in every locale. */
#include "text.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>

int ct__vprint(char *text, size_t size, const char *format, va_list args)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), callers = uselocale(plain);
    const int n = vsnprintf(text, size, format, args);
    uselocale(callers);
    if (plain) freelocale(plain);
    return n;
}

int ct__print(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = ct__vprint(text, size, format, args);
    va_end(args);
    return n;
}

/* The C1 control characters are the bytes C2 80 ... C2 9F in UTF-8. */
void ct__message(char *to, size_t size, const char *format, va_list values)
{
    ct__vprint(to, size, format, values);
    for (unsigned char *p = (unsigned char *)to; *p; p++) {
        const bool two = *p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;
        if (two) *p++ = '?';
        if (two || (*p < ' ' && *p != '\n') || *p == 127) *p = '?';
    }
}
