/* The descriptions of a model's columns: d inputs, then the output, with all their texts in one block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/model/model.h"

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

ct_status ct__gp_check_columns(ct_device *device, const ct_gp_options *o, int64_t d)
{
    for (int64_t j = 0; o->inputs && j < d; j++)
        if (!sound(&o->inputs[j]))
            return ct_device_fail(
                device, CT_EINVAL,
                "ct_gp_new: column %lld of inputs has no name, no such kind, or a NULL level", (long long)j);
    if (o->output && !sound(o->output))
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_new: the output has no name, no such kind, or a NULL level");
    if (o->noise_column && !sound(o->noise_column))
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_new: noise_column has no name, no such kind, or a NULL level");
    return CT_OK;
}

static size_t longest_of(const ct_column *c)
{
    size_t longest = strlen(c->name);
    for (int64_t i = 0; i < c->n_levels; i++) {
        const size_t length = strlen(c->levels[i]);
        if (length > longest) longest = length;
    }
    return longest;
}

size_t ct__gp_longest_text(const ct_gp *gp)
{
    size_t longest = gp->noise_column ? longest_of(gp->noise_column) : 0;
    for (int64_t j = 0; j <= gp->d; j++) {
        const size_t length = longest_of(&gp->column[j]);
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

ct_column *ct__gp_copy_columns(ct_device *device, const ct_gp_options *o, int64_t d)
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

void ct__gp_take_columns(ct_gp *gp, ct_column *columns)
{
    free(gp->column);
    gp->column = columns;
    gp->options.inputs = columns;
    gp->options.output = columns ? columns + gp->d : NULL;
}

/* A single column is copied as the output of no inputs. */
ct_status ct__gp_set_noise_column(ct_gp *gp, const ct_column *column)
{
    ct_column *copy = NULL;
    if (column) copy = ct__gp_copy_columns(gp->device, &(ct_gp_options){ .output = column }, 0);
    if (column && !copy) return CT_ENOMEM;
    free(gp->noise_column);
    gp->options.noise_column = gp->noise_column = copy;
    return CT_OK;
}

const ct_column *ct_gp_input(const ct_gp *gp, int64_t column)
{
    return gp && column >= 0 && column < ct__gp_cols(gp) ? &gp->column[column] : NULL;
}

const ct_column *ct_gp_output(const ct_gp *gp) { return gp ? &gp->column[gp->d] : NULL; }
