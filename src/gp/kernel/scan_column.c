/* Columns by their names or numbers. */
#include <string.h>

#include "scan.h"
#include "text.h"

const char *ct__scan_behind_quotes(const char *text)
{
    const char *end = text + 1;
    for (; *end && (*end != '"' || end[1] == '"'); end++) end += *end == '"';
    return *end ? end + 1 : text;
}

/* Whether the token from `text` to `end`, possibly in quotes, is this name. */
static bool is_name(const char *text, const char *end, const char *name)
{
    const bool quoted = *text == '"';
    if (quoted) text++, end--;
    for (; text < end; text++, name++) {
        if (*text != *name) return false;
        if (quoted && *text == '"') text++;
    }
    return !*name;
}

int64_t ct__scan_find_column(const ct__scan *p, const char *text, const char *end)
{
    for (int64_t j = 0; p->columns && j < p->n_columns; j++)
        if (is_name(text, end, p->columns[j].name)) return j;
    return -1;
}

void ct__scan_no_column(ct__scan *p, const char *place)
{
    char list[160] = "", number[24];
    ct__text t = { list, sizeof list, 0 };
    for (int64_t j = 0; j < p->n_columns && t.length < t.size; j++) {
        snprintf(number, sizeof number, "x%lld", (long long)j);
        ct__text_add(&t, "%s%s", j ? ", " : "", p->columns ? p->columns[j].name : number);
    }
    ct__scan_fail(p, CT_EFORMAT, place, "no such column; there are %s%s", list,
                  t.length < t.size ? "" : "...");
    for (char *c = p->what; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
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
    const bool number = !p->n_columns || ct__is_digit(*place);
    const int64_t i = number ? ct__scan_integer(p, CT__KERNEL_MAX_DIMS - 1, "a column")
                             : ct__scan_find_column(p, place, pass_name(p));
    if (i < 0 || (p->n_columns && i >= p->n_columns)) ct__scan_no_column(p, place);
    if (i >= CT__KERNEL_MAX_DIMS)
        ct__scan_fail(p, CT_EFORMAT, place, "a column is at most %d", CT__KERNEL_MAX_DIMS - 1);
    return p->status ? 0 : (int)i;
}
