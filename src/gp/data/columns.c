/* The descriptions of a model's columns: d inputs, then the output. */
#include "columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

enum { DEFAULT_NAME = 32 };

/* -- what is refused ------------------------------------------------------------------------------------- */

static bool sound(const ct_column *c)
{
    if (!c->name || (unsigned)c->kind > CT_COLUMN_ABSENT || c->n_levels < 0) return false;
    if ((unsigned)c->form > (c->kind == CT_COLUMN_TIME ? CT_TIME_EXCEL : CT_TIME_ISO)) return false;
    if (c->kind == CT_COLUMN_FILLED) return isfinite(c->fill);
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
        return ct_device_fail(device, CT_EINVAL,
                              "ct_gp_new: %s has no name, no such kind or form, no fill or a NULL level",
                              j < d    ? input
                              : j == d ? "the output"
                                       : "noise_column");
    }
    return CT_OK;
}

/* -- copies ---------------------------------------------------------------------------------------------- */

void ct__columns_free(ct_column *c, int64_t count)
{
    for (int64_t j = 0; j < count && c; j++) {
        for (int64_t i = 0; i < c[j].n_levels; i++) free((void *)(uintptr_t)c[j].levels[i]);
        free((void *)(uintptr_t)c[j].levels);
        free((void *)(uintptr_t)c[j].name);
    }
    free(c);
}

static const char *copy_text(ct_device *device, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = ct__gp_alloc(device, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* Copies a column to `to`, which may be half full on failure. */
static bool copy_column(ct_device *device, const ct_column *from, ct_column *to)
{
    const int64_t n = from->kind == CT_COLUMN_CATEGORY ? from->n_levels : 0;
    const char **level = n ? ct__gp_alloc(device, (uint64_t)n, sizeof *level) : NULL;
    *to = (ct_column){
        copy_text(device, from->name), from->kind, level, level ? n : 0, from->form, from->fill
    };
    bool whole = to->name && to->n_levels == n;
    for (int64_t i = 0; i < n && whole; i++) whole = (level[i] = copy_text(device, from->levels[i])) != NULL;
    return whole;
}

ct_column *ct__columns_copy(ct_device *device, const ct_column *inputs, int64_t d, const ct_column *output)
{
    ct_column *copy = ct__gp_alloc(device, (uint64_t)d + 1, sizeof *copy);
    for (int64_t j = 0; j <= d && copy; j++) {
        char name[DEFAULT_NAME] = "y";
        if (j < d) snprintf(name, sizeof name, "x%lld", (long long)j);
        const ct_column *given = j == d ? output : inputs ? &inputs[j] : NULL;
        if (copy_column(device, given ? given : &(ct_column){ .name = name }, &copy[j])) continue;
        ct__columns_free(copy, d + 1);
        copy = NULL;
    }
    return copy;
}
