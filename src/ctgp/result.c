/* A result: fields, which text and JSON print in their own ways. */
#include "result.h"

#include <math.h>

#include "text.h"

/* -- JSON -- */

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

/* All digits of a number. */
static void write_value(FILE *to, const field *f)
{
    char number[CT_NUMBER_TEXT];
    ct_number_write(f->number, 17, number);
    if (f->kind == FIELD_WORD && f->word)
        write_string(to, f->word);
    else if (f->kind == FIELD_FLAG)
        fputs(f->number != 0 ? "true" : "false", to);
    else
        fputs(f->kind == FIELD_NUMBER && isfinite(f->number) ? number : "null", to);
}

/* A comma if it is due, the name, and the value or a bracket. */
static void write_json(writer *w, const field *f)
{
    const bool begins = f->kind == FIELD_BEGIN, ends = f->kind == FIELD_END;
    if (w->more && !ends) fputs(", ", w->to);
    if (f->name) write_string(w->to, f->name);
    if (f->name) fputs(": ", w->to);
    if (begins || ends)
        fputc((int)f->number, w->to);
    else
        write_value(w->to, f);
    w->depth += begins - ends;
    w->more = !begins && w->depth;
    if (ends && !w->depth) fputc('\n', w->to);
}

/* -- text -- */

static void write_text(writer *w, const field *f)
{
    if (!f->text || (f->kind == FIELD_FLAG && !f->number)) return;
    if (f->word)
        say(w->to, f->text, f->word);
    else if (f->kind == FIELD_NUMBER || f->kind == FIELD_COUNT)
        say(w->to, f->text, f->number);
}

/* -- both -- */

writer result_begin(ctgp *c, FILE *out)
{
    memory_file *m = memory_open(c, "the result");
    return (writer){ .c = c, .to = m->to, .out = out, .memory = m, .json = c->json };
}

void result_end(writer *w)
{
    memory_end(w->c, w->memory, "the result");
    fwrite(w->memory->text, 1, w->memory->size, w->out);
}

void write_fields(writer *w, const field *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!w->json)
            write_text(w, &f[i]);
        else if (f[i].kind > FIELD_COUNT)
            write_json(w, &f[i]);
}

void begin_outputs(writer *w, const char *kind)
{
    WRITE(w, field_begin(NULL, '{', NULL), kind ? field_word("kind", NULL, kind) : (field){ 0 },
          field_begin("outputs", '[', NULL));
}

void end_outputs(writer *w) { WRITE(w, field_end(']', NULL), field_end('}', NULL)); }
