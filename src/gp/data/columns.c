/* The descriptions of a model's columns: d inputs, then the output, with all their texts in one block. */
#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

enum { DEFAULT_NAME = 32 };

/* -- what is refused ------------------------------------------------------------------------------------- */

static bool sound(const ct_column *c)
{
    if (!c->name || (unsigned)c->kind > CT_COLUMN_TIME || c->n_levels < 0) return false;
    if (c->kind != CT_COLUMN_CATEGORY) return true;
    for (int64_t i = 0; i < c->n_levels; i++)
        if (!c->levels || !c->levels[i]) return false;
    return true;
}

ct_status ct__columns_check(ct_device *device, const ct_gp_options *o, int64_t d)
{
    for (int64_t j = 0; j < d + 2; j++) {
        char input[48];
        const ct_column *c = j == d ? o->output : j > d ? o->noise_column : o->inputs ? &o->inputs[j] : NULL;
        if (!c || sound(c)) continue;
        snprintf(input, sizeof input, "column %lld of inputs", (long long)j);
        return ct_device_fail(device, CT_EINVAL, "ct_gp_new: %s has no name, no such kind, or a NULL level",
                              j < d    ? input
                              : j == d ? "the output"
                                       : "noise_column");
    }
    return CT_OK;
}

size_t ct__columns_longest(const ct_column *c, int64_t count)
{
    size_t longest = 0;
    for (const ct_column *end = c + count; c < end; c++)
        for (int64_t i = -1; i < c->n_levels; i++) {
            const size_t length = strlen(i < 0 ? c->name : c->levels[i]);
            if (length > longest) longest = length;
        }
    return longest;
}

/* -- a copy ---------------------------------------------------------------------------------------------- */

/* Where the next pointers and texts go; NULL while only their sizes are added up. */
typedef struct block {
    const char **pointers;
    char *text;
    size_t n_pointers, bytes;
} block;

static const char *put(block *b, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *to = b->text ? b->text + b->bytes : NULL;
    if (to) memcpy(to, text, size);
    b->bytes += size;
    return to;
}

static void put_column(block *b, const ct_column *c, ct_column *to)
{
    const int64_t n = c->kind == CT_COLUMN_CATEGORY ? c->n_levels : 0;
    const char **levels = b->text && n ? b->pointers + b->n_pointers : NULL;
    const char *name = put(b, c->name);
    for (int64_t i = 0; i < n; i++) {
        const char *level = put(b, c->levels[i]);
        if (levels) levels[i] = level;
    }
    b->n_pointers += (size_t)n;
    if (to) *to = (ct_column){ name, c->kind, levels, n };
}

/* Writes the columns to `to` and their texts to b, or adds up the sizes if `to` is NULL. */
static void put_all(block *b, const ct_gp_options *o, int64_t d, ct_column *to)
{
    for (int64_t j = 0; j <= d; j++) {
        char name[DEFAULT_NAME] = "y";
        if (j < d) snprintf(name, sizeof name, "x%lld", (long long)j);
        const ct_column of_none = { .name = name };
        const ct_column *given = j == d ? o->output : o->inputs ? &o->inputs[j] : NULL;
        put_column(b, given ? given : &of_none, to ? &to[j] : NULL);
    }
}

ct_column *ct__columns_copy(ct_device *device, const ct_gp_options *o, int64_t d)
{
    block b = { 0 };
    put_all(&b, o, d, NULL);
    const size_t columns = ((size_t)d + 1) * sizeof(ct_column), pointers = b.n_pointers * sizeof *b.pointers;
    ct_column *copy = ct__gp_alloc(device, columns + pointers + b.bytes, 1);
    if (!copy) return NULL;
    b = (block){ .pointers = (const char **)(copy + d + 1), .text = (char *)copy + columns + pointers };
    put_all(&b, o, d, copy);
    return copy;
}
