/* Columns by names and patterns. */
#include "frame.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

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

int64_t split_names(ctgp *c, const char *text, char ***list)
{
    int64_t n = 1;
    for (const char *p = text; *p; p++) n += *p == ',';
    char *copy = take(c, (int64_t)strlen(text), 1, "letters of names");
    *list = take(c, n, sizeof **list, "names");
    if (!going(c)) return 0;
    n = 0;
    do {
        (*list)[n++] = copy;
    } while (take_name(&text, &copy));
    return n;
}

const char *option_name(const char *name, char text[OPTION_NAME])
{
    bool plain = *name, blanks = *name == ' ' || (*name && name[strlen(name) - 1] == ' ');
    for (const char *p = name; *p; p++) plain &= isalnum((unsigned char)*p) || strchr("_.-", *p);
    if (plain || strlen(name) > OPTION_NAME / 4 - 2) return name;
    const bool list = blanks || *name == '"' || strchr(name, ',') || !*name; /* else one name as it is */
    char *to = text;
    *to++ = '\'';
    if (list) *to++ = '"';
    for (const char *p = name; *p; p++) {
        if (*p == '"' && list) *to++ = '"';
        to += sprintf(to, *p == '\'' ? "'\\''" : "%c", *p);
    }
    if (list) *to++ = '"';
    strcpy(to, "'");
    return text;
}

/* -- the columns that they name -------------------------------------------------------------------------- */

/* The column of this name, or those that fit it as a pattern. */
static void pick_one(ctgp *c, const frame *f, const char *name, pick *picks, int64_t *n)
{
    if (!going(c)) return;
    const int64_t exact = ct_table_find(f->table, name), before = *n;
    const bool pattern = strpbrk(name, "*?[") != NULL;
    if (exact >= 0 || !pattern) {
        picks[(*n)++] = (pick){ exact, true };
        frame_needs(c, f, name);
        return;
    }
    for (int64_t j = 0; j < ct_table_cols(f->table); j++) {
        bool taken = fnmatch(name, ct_table_name(f->table, j), 0) != 0;
        for (int64_t i = 0; i < *n && !taken; i++) taken = picks[i].col == j;
        if (!taken) picks[(*n)++] = (pick){ j, false };
    }
    if (*n > before) return;
    fail(c, CODE_DATA, "%s: no column fits '%s', or all that do are named before it", f->path, name);
}

void frame_pick(ctgp *c, const frame *f, const char *text, pick **picks, int64_t *n)
{
    char **names = NULL;
    const int64_t count = split_names(c, text, &names);
    *n = 0;
    *picks = take(c, count + ct_table_cols(f->table), sizeof **picks, "columns");
    for (int64_t i = 0; i < count && going(c); i++) pick_one(c, f, names[i], *picks, n);
}

/* -- their texts ----------------------------------------------------------------------------------------- */

/* A column without a name stays so where its place gives it the same name again, as "c0" of the first. */
void frame_keep(ctgp *c, const frame *f, const char *list, text_columns *k)
{
    pick *picks = NULL;
    *k = (text_columns){ 0 };
    if (!going(c) || !list) return;
    const int64_t rows = ct_table_rows(f->table);
    frame_pick(c, f, list, &picks, &k->n);
    k->names = take(c, k->n, sizeof *k->names, "columns to keep");
    k->texts = take(c, rows, (size_t)k->n * sizeof *k->texts, "rows to keep");
    for (int64_t j = 0; j < k->n && going(c); j++) {
        k->names[j] =
            picks[j].col == j && ct_table_unnamed(f->table, j) ? "" : ct_table_name(f->table, picks[j].col);
        for (int64_t i = 0; i < rows; i++) k->texts[i * k->n + j] = ct_table_text(f->table, i, picks[j].col);
        for (int64_t i = 0; i < j; i++)
            if (picks[i].col == picks[j].col)
                fail(c, CODE_USAGE, "--keep: column '%s' is there twice", k->names[j]);
    }
}
