/* Columns by their names or numbers. */
#include <stdio.h>
#include <string.h>

#include "scan.h"

const char *ct__scan_behind_quotes(const char *text)
{
    const char *end = text + 1;
    for (; *end && (*end != '"' || end[1] == '"'); end++) end += *end == '"';
    return *end ? end + 1 : text;
}

bool ct__scan_is_name(const char *text, const char *end, const char *name)
{
    const bool quoted = *text == '"';
    if (quoted) text++, end--;
    for (; text < end; text++, name++) {
        if (*text != *name) return false;
        if (quoted && *text == '"') text++;
    }
    return !*name;
}

void ct__scan_list(char *list, size_t size, const ct_column *columns, int64_t d)
{
    size_t n = 0;
    int64_t j = 0;
    *list = 0;
    for (; j < d && n + 4 < size; j++) {
        char number[24];
        snprintf(number, sizeof number, "x%lld", (long long)j);
        n += (size_t)snprintf(list + n, size - 3 - n, "%s%s", j ? ", " : "",
                              columns ? columns[j].name : number);
    }
    if (j < d || n + 4 > size) strcpy(list + strlen(list), "...");
}

static void unknown(ct__scan *p, const char *place)
{
    char list[160];
    ct__scan_list(list, sizeof list, p->columns, p->n_columns);
    ct__scan_fail(p, CT_EFORMAT, place, "no such column; there are %s", list);
}

/* Passes the name here, in quotes or up to ":", "," or ")"; returns its end. */
static const char *pass_name(ct__scan *p)
{
    const char *place = p->at, *end;
    if (*place == '"') {
        p->at = ct__scan_behind_quotes(place);
        if (p->at == place) ct__scan_fail(p, CT_EFORMAT, place, "a quote is opened here and never closed");
        return p->at;
    }
    p->at += strcspn(p->at, ":,)");
    for (end = p->at; end > place && strchr(" \t\r\n", end[-1]);) end--;
    return end;
}

int ct__scan_column(ct__scan *p)
{
    const char *place = ct__scan_space(p);
    if (!p->n_columns || ct__is_digit(*place)) {
        const int number = ct__scan_integer(p, CT__KERNEL_MAX_DIMS - 1, "a column");
        if (p->n_columns && number >= p->n_columns) unknown(p, place);
        return number;
    }
    const char *end = pass_name(p);
    int64_t i = 0;
    while (i < p->n_columns && !ct__scan_is_name(place, end, p->columns[i].name)) i++;
    if (i == p->n_columns) unknown(p, place);
    if (i >= CT__KERNEL_MAX_DIMS)
        ct__scan_fail(p, CT_EFORMAT, place, "a column is at most %d", CT__KERNEL_MAX_DIMS - 1);
    return p->status ? 0 : (int)i;
}
