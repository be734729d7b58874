/* Reads a column of the inputs, as a number or a name. */
#include <stdio.h>
#include <string.h>

#include "kernel_tree.h"
#include "scan.h"

/* A name: in quotes, which are doubled inside, or up to ":", "," or ")". */
typedef struct name {
    const char *text;
    size_t size;
    bool quoted;
} name;

/* Reads the name at p->at. */
static name take_name(ct__scan *p)
{
    name n = { .text = p->at, .quoted = *p->at == '"' };
    if (!n.quoted) {
        p->at += strcspn(p->at, ":,)");
        n.size = (size_t)(p->at - n.text);
        while (n.size && strchr(" \t\r\n", n.text[n.size - 1])) n.size--;
        return n;
    }
    for (n.text = ++p->at; *p->at; p->at++)
        if (*p->at == '"' && *++p->at != '"') {
            n.size = (size_t)(p->at - n.text) - 1;
            return n;
        }
    ct__scan_fail(p, CT_EFORMAT, n.text - 1, "a quote is opened here and never closed");
    return n;
}

static bool is_name(const name *n, const char *column)
{
    const char *end = n->text + n->size;
    for (const char *c = n->text; c < end; c++, column++) {
        if (*c != *column) return false;
        c += n->quoted && *c == '"';
    }
    return !*column;
}

static void unknown(ct__scan *p, const char *place)
{
    char list[160] = "";
    size_t used = 0;
    for (int64_t i = 0; i < p->n_columns && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", p->columns[i].name);
    ct__scan_fail(p, CT_EFORMAT, place, "no such column; there are %s", list);
}

int ct__scan_column(ct__scan *p)
{
    const char *place = ct__scan_space(p);
    if (!p->n_columns || ct__is_digit(*place)) {
        const int number = ct__scan_integer(p, CT__KERNEL_MAX_DIMS - 1, "a column");
        if (p->n_columns && number >= p->n_columns) unknown(p, place);
        return number;
    }
    const name n = take_name(p);
    int64_t i = 0;
    while (i < p->n_columns && !is_name(&n, p->columns[i].name)) i++;
    if (i == p->n_columns) unknown(p, place);
    if (i >= CT__KERNEL_MAX_DIMS)
        ct__scan_fail(p, CT_EFORMAT, place, "a column is at most %d", CT__KERNEL_MAX_DIMS - 1);
    return p->status ? 0 : (int)i;
}
