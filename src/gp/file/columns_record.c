#include "columns_record.h"

#include <stdlib.h>

#include "gp/data/numbers.h"

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
    s->bad |= n < 0 || (s->reading && (uint64_t)n > ct__stream_left(s) / 4);
    const char **level = (const char **)(uintptr_t)c->levels;
    if (s->reading && !s->bad && n) {
        level = ct__gp_alloc(s->device, (uint64_t)n, sizeof *level);
        if (!level) ct__stream_lacks_memory(s);
        c->levels = level;
        c->n_levels = level ? n : 0;
    }
    for (int64_t i = 0; i < n && !s->bad; i++) text(s, &level[i]);
}

void ct__stream_column(ct__stream *s, ct_column *c)
{
    text(s, &c->name);
    c->kind = (ct_column_kind)ct__stream_small(s, (int)c->kind, CT_COLUMN_TIME);
    if (c->kind == CT_COLUMN_CATEGORY) levels(s, c);
}

void ct__stream_columns_free(ct_column *c, int64_t count)
{
    for (int64_t j = 0; j < count && c; j++) {
        for (int64_t i = 0; i < c[j].n_levels; i++) free((void *)(uintptr_t)c[j].levels[i]);
        free((void *)(uintptr_t)c[j].levels);
        free((void *)(uintptr_t)c[j].name);
    }
    free(c);
}
