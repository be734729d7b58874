/* A result, described once for people and for scripts: a list of fields. Text has the value of each by its
 * format, JSON by its name. */
#ifndef CTGP_RESULT_H
#define CTGP_RESULT_H

#include <stdio.h>

#include "context.h"
#include "ctgp.h"

typedef struct field {
    enum { FIELD_NONE, FIELD_COUNT, FIELD_NUMBER, FIELD_WORD, FIELD_FLAG, FIELD_BEGIN, FIELD_END } kind;
    const char *name; /* NULL in a list, and for the whole */
    const char *text; /* a format of printf; NULL: for JSON alone */
    double number;
    const char *word;
} field;

/* JSON has null for a number that is not finite. */
static inline field field_number(const char *name, const char *text, double value)
{
    return (field){ .kind = FIELD_NUMBER, .name = name, .text = text, .number = value };
}

/* NULL is null in JSON and nothing in text. */
static inline field field_word(const char *name, const char *text, const char *value)
{
    return (field){ .kind = FIELD_WORD, .name = name, .text = text, .word = value };
}

/* The text is there where it is true. */
static inline field field_flag(const char *name, const char *text, bool value)
{
    return (field){ .kind = FIELD_FLAG, .name = name, .text = text, .number = value, .word = "" };
}

/* A number whose text is a word: "365 days". */
static inline field field_shown(const char *name, const char *text, double value, const char *shown)
{
    return (field){ .kind = FIELD_NUMBER, .name = name, .text = text, .number = value, .word = shown };
}

/* For people alone: a word, NULL for nothing, or a number. */
static inline field field_text(const char *text, const char *word)
{
    return (field){ .text = text, .word = word };
}

static inline field field_count(const char *text, double value)
{
    return (field){ .kind = FIELD_COUNT, .text = text, .number = value };
}

/* The name of what follows, as the first column of a list. */
static inline field field_label(const char *name) { return field_text("  %-28s ", name); }

/* What lies between '{' and '}', or '[' and ']', in JSON; the text begins or ends it. */
static inline field field_begin(const char *name, char bracket, const char *text)
{
    return (field){ .kind = FIELD_BEGIN, .name = name, .text = text, .number = bracket, .word = "" };
}

static inline field field_end(char bracket, const char *text)
{
    return (field){ .kind = FIELD_END, .text = text, .number = bracket, .word = "" };
}

typedef struct writer {
    ctgp *c;
    FILE *to, *out; /* what is written waits in `memory`, so that no failure leaves a part of it on `out` */
    memory_file *memory;
    bool json;
    bool more; /* a comma comes before the next value */
    int depth; /* the open brackets; after the last one the line ends */
} writer;

/* Begins a result, whose end prints it. */
writer result_begin(ctgp *c, FILE *out);
void result_end(writer *w);
void write_fields(writer *w, const field *f, size_t n);
#define WRITE(w, ...) \
    write_fields(w, (const field[]){ __VA_ARGS__ }, sizeof((const field[]){ __VA_ARGS__ }) / sizeof(field))

/* A list of results is {"kind": "joint", "outputs": [...]}, or without a kind for NULL. */
void begin_outputs(writer *w, const char *kind);
void end_outputs(writer *w);

#endif
