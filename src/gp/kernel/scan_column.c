/* Columns by their names or numbers, and names that are not there. */
#include <string.h>

#include "kernel_tree.h"
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

void ct__scan_no_kernel(ct__scan *p, const char *place, const char *word)
{
    char known[200];
    ct__text t = { known, sizeof known, 0 };
    const char *nearest = "";
    for (int code = 0; code <= CT_COV_SCALE; code++) {
        const char *text = ct__kernel_kinds[code].text;
        if (ct_name_distance(word, text) < ct_name_distance(word, nearest)) nearest = text;
        ct__text_add(&t, "%s%s", code ? ", " : "", text);
    }
    if (ct_name_is_near(word, ct_name_distance(word, nearest)))
        ct__text_add(&t, ": did you mean %s?", nearest);
    const char *none = *place ? "expected a kernel or \"(\"" : "the text ends where a kernel is expected";
    if (*word)
        ct__scan_fail(p, CT_EFORMAT, place, "no kernel \"%s\"; there are %s", word, known);
    else
        ct__scan_fail(p, CT_EFORMAT, place, "%s", none);
}
