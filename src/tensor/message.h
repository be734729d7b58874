/* The text of messages. */
#ifndef CT_TENSOR_MESSAGE_H
#define CT_TENSOR_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>

/* vsnprintf for messages, which hold names from files: control characters, which act on a terminal, become
 * '?'. Ends of lines stay, since a message on a formula has several. */
void ct__message(char *to, size_t size, const char *format, va_list values);

#endif
