/* Columns by names and patterns. */
#include "columns.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "context.h"
#include "failure.h"

/* -- a list of names ------------------------------------------------------------------------------------- */

/* Copies the name at *from to *to, with a NUL, and moves both behind it; false at the end of the list. Blanks
 * around a name are left out. One that begins with a quote may hold commas, blanks and doubled quotes. */
static bool take_name(const char **from, char **to)
{
    const char *p = *from;
    char *name = *to, *end = name; /* behind the last character of the name */
    bool quoted = false;
    while (*p == ' ') p++;
    for (; *p && (quoted || *p != ','); p++) {
        if (*p == '"' && quoted && p[1] == '"')
            p++;
        else if (*p == '"' && (quoted || name == *to)) {
            quoted = !quoted;
            end = name;
            continue;
        }
        *name++ = *p;
        if (quoted || *p != ' ') end = name;
    }
    *end = 0;
    *to = end + 1;
    *from = *p ? p + 1 : p;
    return *p;
}

name_list split_names(ctgp *c, const char *text)
{
    name_list list = { 0 };
    if (!text) return list;
    int64_t most = 1;
    for (const char *p = text; *p; p++) most += *p == ',';
    char *copy = take(c, (int64_t)strlen(text), 1, "letters of names");
    list.name = take(c, most, sizeof *list.name, "names");
    do {
        list.name[list.n++] = copy;
    } while (take_name(&text, &copy));
    return list;
}

const char *option_name(ctgp *c, const char *name)
{
    bool plain = *name, blanks = *name == ' ' || (*name && name[strlen(name) - 1] == ' ');
    for (const char *p = name; *p; p++) plain &= isalnum((unsigned char)*p) || strchr("_.-", *p);
    if (plain) return name;
    const bool list = blanks || *name == '"' || strchr(name, ',') || !*name; /* else one name as it is */
    char *text = take(c, 4 * (int64_t)strlen(name) + 4, 1, "letters of a name"), *to = text;
    to += sprintf(to, list ? "'\"" : "'");
    for (const char *p = name; *p; p++) {
        if (*p == '"' && list) *to++ = '"';
        to += sprintf(to, *p == '\'' ? "'\\''" : "%c", *p);
    }
    sprintf(to, list ? "\"'" : "'");
    return text;
}

int64_t find_input(const ct_column *inputs, int64_t d, const char *name)
{
    for (int64_t j = 0; j < d; j++)
        if (!strcmp(inputs[j].name, name)) return j;
    return -1;
}

/* -- the columns that they name -------------------------------------------------------------------------- */

static void add_pick(picks *p, int64_t col, bool exact)
{
    p->cols[p->n] = col;
    p->exact[p->n++] = exact;
}

/* Adds the column of this name, or those that fit it as a pattern. */
static void pick_one(ctgp *c, const frame *f, const char *name, picks *p)
{
    const int64_t before = p->n;
    if (ct_table_find(f->table, name) >= 0 || !strpbrk(name, "*?[")) {
        add_pick(p, frame_column(c, f, name), true);
        return;
    }
    for (int64_t j = 0; j < ct_table_cols(f->table); j++) {
        bool taken = fnmatch(name, ct_table_name(f->table, j), 0) != 0;
        for (int64_t i = 0; i < p->n && !taken; i++) taken = p->cols[i] == j;
        if (!taken) add_pick(p, j, false);
    }
    if (p->n == before)
        fail(c, CODE_DATA, "%s: no column fits '%s', or all that do are named before it", f->path, name);
}

picks frame_pick(ctgp *c, const frame *f, const char *text)
{
    const name_list list = split_names(c, text);
    const int64_t most = list.n + ct_table_cols(f->table);
    picks p = { .cols = take(c, most, sizeof *p.cols, "columns"),
                .exact = take(c, most, sizeof *p.exact, "columns") };
    for (int64_t i = 0; i < list.n; i++) pick_one(c, f, list.name[i], &p);
    return p;
}

/* -- their texts ----------------------------------------------------------------------------------------- */

/* A column without a name stays so where its place gives it the same name again, as "c0" of the first. */
void keep_texts(ctgp *c, const frame *f, const char *list, sheet *to)
{
    const picks p = frame_pick(c, f, list);
    for (int64_t j = 0; j < p.n; j++) {
        const int64_t col = p.cols[j];
        const char *name = col == j && ct_table_unnamed(f->table, j) ? "" : ct_table_name(f->table, col);
        for (int64_t i = 0; i < j; i++)
            if (p.cols[i] == col) fail(c, CODE_USAGE, "--keep: column '%s' is there twice", name);
        const char **texts = sheet_texts(c, to, name);
        for (int64_t i = 0; i < to->rows; i++) texts[i] = ct_table_text(f->table, i, col);
    }
}
