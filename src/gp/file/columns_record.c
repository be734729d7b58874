#include "columns_record.h"

static void text(ct__stream *s, const char **value)
{
    char *t = (char *)(uintptr_t)*value;
    ct__stream_text(s, &t);
    *value = t;
}

static void levels(ct__stream *s, ct_column *c)
{
    int64_t n = c->n_levels;
    ct__stream_numbers(s, &n, 1, 8);
    if (n < 0 || !ct__stream_holds(s, (uint64_t)n, 4)) s->bad = true;
    if (s->reading) c->levels = n ? ct__stream_alloc(s, (uint64_t)n, sizeof *c->levels) : NULL;
    c->n_levels = c->levels ? n : 0;
    const char **level = (const char **)(uintptr_t)c->levels;
    for (int64_t i = 0; i < n && !s->bad; i++) text(s, &level[i]);
}

void ct__stream_column(ct__stream *s, ct_column *c)
{
    text(s, &c->name);
    /* The forms of a time stand between the kinds. */
    enum { FORMS = CT_TIME_EXCEL };
    const bool later = c->kind > CT_COLUMN_TIME;
    const int own = (int)c->kind + (later ? FORMS : (int)c->form);
    const int code = ct__stream_small(s, own, CT_COLUMN_ABSENT + FORMS), form = code - CT_COLUMN_TIME;
    c->form = form > 0 && form <= FORMS ? (ct_time_form)form : CT_TIME_ISO;
    c->kind = (ct_column_kind)(form <= 0 ? code : form <= FORMS ? CT_COLUMN_TIME : code - FORMS);
    if (c->kind == CT_COLUMN_CATEGORY) levels(s, c);
    if (c->kind == CT_COLUMN_FILLED) ct__stream_numbers(s, &c->fill, 1, 8);
}
