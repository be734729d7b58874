/* Text that the library writes. */
#ifndef CT_TENSOR_TEXT_H
#define CT_TENSOR_TEXT_H

#include <cotangent/status.h>
#include <stdarg.h>
#include <stddef.h>

/* vsnprintf and snprintf with a decimal point in every locale. */
int ct__vprint(char *text, size_t size, const char *format, va_list args);
int ct__print(char *text, size_t size, const char *format, ...) CT_PRINTF(3, 4);
/* The first for messages, which hold names from files: control characters, which act on a terminal, become
 * '?'. Ends of lines stay, since a message on a formula has several. */
void ct__message(char *to, size_t size, const char *format, va_list values);

#endif
