/* A text that is written piece by piece into a buffer, as by snprintf. */
#ifndef CT_GP_TEXT_H
#define CT_GP_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cotangent/status.h>

typedef struct ct__text {
    char *buffer; /* [size]; what does not fit is cut off */
    size_t size;  /* 0: the length is counted only */
    size_t length;
} ct__text;

static inline CT_PRINTF(2, 3) void ct__text_add(ct__text *t, const char *format, ...)
{
    const size_t room = t->length < t->size ? t->size - t->length : 0;
    va_list args;
    va_start(args, format);
    t->length += (size_t)vsnprintf(room ? t->buffer + t->length : NULL, room, format, args);
    va_end(args);
}

#endif
