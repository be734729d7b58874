/* ctgp fit: the columns that it learns. */
#include "fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool named(const char *const *names, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static bool picked(const pick *picks, int64_t n, const frame *f, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(ct_table_name(f->table, picks[i].col), name)) return true;
    return false;
}

/* Whether a target has this column. */
static bool is_target(const settings *s, const frame *f, int64_t col)
{
    for (int64_t j = 0; j < s->n_targets; j++)
        if (ct_table_find(f->table, s->targets[j]) == col) return true;
    return false;
}

static bool names_target(const settings *s, const char *name)
{
    return named((const char *const *)s->targets, s->n_targets, name);
}

/* The features in the order of --features, or all columns but that of the noise. An unnamed first column that
 * counts the rows is a feature only if there is no other. */
static void list_features(ctgp *c, const settings *s, const frame *f, int64_t noise, const char **names,
                          int64_t *n)
{
    if (!going(c)) return;
    pick *features = NULL, *drop = NULL;
    int64_t wanted = ct_table_cols(f->table), dropped = 0;
    bool counts = !s->features && !is_target(s, f, 0) && ct_table_counts_rows(f->table, 0);
    if (s->features) frame_pick(c, f, s->features, &features, &wanted);
    if (s->drop) frame_pick(c, f, s->drop, &drop, &dropped);
    counts = counts && going(c) && !picked(drop, dropped, f, ct_table_name(f->table, 0));
    for (int64_t i = counts ? 1 : 0; i < wanted && going(c); i++) {
        const pick p = features ? features[i] : (pick){ .col = i };
        const char *name = ct_table_name(f->table, p.col);
        const bool target = is_target(s, f, p.col);
        if (target && p.exact)
            fail(c, CODE_USAGE, "--features names the target '%s'", name);
        else if (target || (p.col == noise && !p.exact) || picked(drop, dropped, f, name))
            continue;
        else if (!named(names, *n, name) && !names_target(s, name))
            names[(*n)++] = name;
        else if (features)
            fail(c, CODE_USAGE, "--features: column '%s' is there twice", name);
        else
            fail(c, CODE_DATA, "%s: column '%s' is there twice: rename one, or leave both out with --drop",
                 f->path, name);
    }
    if (counts && *n)
        note("%s: the first column has no name and counts the rows: it is left out", f->path);
    else if (counts)
        names[(*n)++] = ct_table_name(f->table, 0);
}

/* If a column has the whole text as its name, it is the only target; else commas separate several. */
static void find_targets(ctgp *c, settings *s, const frame *f)
{
    if (!going(c)) return;
    const bool one = ct_table_find(f->table, s->target) >= 0 || !strchr(s->target, ',');
    if (one) {
        s->targets = take(c, 1, sizeof *s->targets, "targets");
        s->n_targets = 1;
        if (s->targets) s->targets[0] = own(c, strdup(s->target), free);
    } else {
        s->n_targets = split_names(c, s->target, &s->targets);
    }
    if (s->n_targets > CT_OUTPUTS_MOST)
        fail(c, CODE_USAGE, "--target names %lld columns, it takes at most %d", (long long)s->n_targets,
             CT_OUTPUTS_MOST);
    if (s->rank > s->n_targets)
        fail(c, CODE_USAGE, "--rank %ld is above the number of targets, %lld", s->rank,
             (long long)s->n_targets);
    for (int64_t j = 0; j < s->n_targets && going(c); j++) {
        frame_needs(c, f, s->targets[j]);
        if (named((const char *const *)s->targets, j, s->targets[j]))
            fail(c, CODE_USAGE, "--target names '%s' twice", s->targets[j]);
    }
}

/* Each target has a number. In the first reading of the table text counts as missing. */
static void check_numbers(ctgp *c, const settings *s, const frame *f)
{
    if (!going(c)) return;
    for (int64_t j = 0; j < s->n_targets; j++) {
        const int64_t col = ct_table_find(f->table, s->targets[j]), rows = ct_table_rows(f->table);
        int64_t i = 0;
        while (i < rows && isnan(ct_table_at(f->table, i, col))) i++;
        if (i < rows) continue;
        fail(c, CODE_DATA,
             "%s: the target '%s' has no number in any row: write classes or dates as numbers, or "
             "name another column",
             f->path, s->targets[j]);
    }
}

/* The names of the features, the first target, the noise's column or NULL, and the other targets. They point
 * into the table. */
static void choose_columns(ctgp *c, settings *s, const frame *f, const char **names, int64_t *n_features)
{
    if (!going(c)) return;
    int64_t n = 0;
    const char *told = noise_column(s->gp.noise, s->noise_name);
    find_targets(c, s, f);
    check_numbers(c, s, f);
    int64_t noise = told && going(c) ? frame_column(c, f, told) : -1;
    if (going(c) && told && is_target(s, f, noise))
        fail(c, CODE_USAGE, "%s names the target '%s'",
             s->gp.noise == CT_NOISE_BY_LEVEL ? "--noise-by" : "--noise-column", told);
    list_features(c, s, f, noise, names, &n);
    if (going(c) && n == 0)
        fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
    names[n + 1] = noise < 0 ? NULL : ct_table_name(f->table, noise);
    for (int64_t j = 0; j < s->n_targets && going(c); j++)
        names[fit_place(n, j)] = ct_table_name(f->table, ct_table_find(f->table, s->targets[j]));
    *n_features = n;
}

/* Adds the columns that option `by` names to `asked`, with their kind. */
static void ask(ctgp *c, const settings *s, const frame *f, const char *by, const char *text,
                ct_column_kind kind, ct_column *asked, int64_t *n)
{
    if (!going(c)) return;
    pick *picks = NULL;
    int64_t count = 0;
    if (text) frame_pick(c, f, text, &picks, &count);
    for (int64_t i = 0; i < count && going(c); i++) {
        const char *name = ct_table_name(f->table, picks[i].col);
        if (names_target(s, name) && picks[i].exact)
            fail(c, CODE_USAGE, "%s names the target '%s', which must be a number", by, name);
        for (int64_t j = s->n_targets; j < *n && going(c); j++)
            if (!strcmp(asked[j].name, name))
                fail(c, CODE_USAGE, "%s names '%s', which is named before", by, name);
        if (!names_target(s, name)) asked[(*n)++] = (ct_column){ .name = name, .kind = kind };
    }
}

/* Reads the values of the columns `names`: d features, the targets, and the noise if there is one. */
static void parse_values(ctgp *c, const settings *s, const source *t, const frame *header,
                         const char *const *names, int64_t d, frame *f)
{
    if (!going(c)) return;
    int64_t n = 0, n_names = 0;
    const int64_t most = 3 * ct_table_cols(header->table) + 2;
    ct_column *asked = take(c, most, sizeof *asked, "columns");
    const char **wanted = take(c, most, sizeof *wanted, "columns");
    if (!going(c)) return;
    for (int64_t j = 0; j <= d + s->n_targets; j++)
        if (names[j]) wanted[n_names++] = names[j];
    for (int64_t j = 0; j < s->n_targets; j++) asked[n++].name = s->targets[j];
    const char *noise = noise_column(s->gp.noise, s->noise_name);
    if (noise && s->gp.noise != CT_NOISE_BY_LEVEL) asked[n++].name = noise;
    ask(c, s, header, "--categorical", s->categorical, CT_COLUMN_CATEGORY, asked, &n);
    ask(c, s, header, "--time", s->time, CT_COLUMN_TIME, asked, &n);
    ct_csv_options how = s->table;
    how.kinds = true;
    how.columns = asked;
    how.n_columns = n;
    frame_parse(c, f, t, &how, wanted, n_names);
}

/* Why a column of text cannot help to predict; NULL if it may. */
static const char *says_nothing(const frame *f, int64_t col, char text[96])
{
    const ct_column *c = ct_table_column(f->table, col);
    if (c->n_levels == 1)
        snprintf(text, 96, "has no other text than '%.40s': it is left out", c->levels[0]);
    else if (ct_table_names_rows(f->table, col))
        snprintf(text, 96,
                 "has %lld texts, nearly one per row: it is left out; --features or --categorical keeps it",
                 (long long)c->n_levels);
    else
        return NULL;
    return text;
}

/* Leaves out columns with one text only, and those that name their rows, unless --features or --categorical
 * asks for them. */
static void drop_names(ctgp *c, const settings *s, const frame *f, int64_t *cols, int64_t *d)
{
    if (!going(c)) return;
    pick *asked = NULL;
    int64_t kept = 0, n = 0;
    char text[96];
    if (s->categorical) frame_pick(c, f, s->categorical, &asked, &n);
    for (int64_t j = 0; j < *d && going(c); j++) {
        const char *name = ct_table_name(f->table, cols[j]),
                   *why = s->features || picked(asked, n, f, name) ? NULL : says_nothing(f, cols[j], text);
        if (why)
            note("%s: column '%s' %s", f->path, name, why);
        else
            cols[kept++] = cols[j];
    }
    for (int64_t j = 0; j <= s->n_targets; j++) cols[kept + j] = cols[*d + j]; /* the targets, the noise */
    *d = kept;
}

static void find_columns(ctgp *c, const settings *s, const frame *f, const char *const *names, int64_t *cols,
                         int64_t *d)
{
    if (!going(c)) return;
    for (int64_t j = 0; j <= *d + s->n_targets; j++) cols[j] = names[j] ? frame_column(c, f, names[j]) : -1;
    if (!going(c)) return;
    frame_tell_notes(f);
    drop_names(c, s, f, cols, d);
    if (!*d) fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
}

void fit_read_columns(ctgp *c, settings *s, ct_device *device, frame *f, int64_t **cols, int64_t *d)
{
    if (!going(c)) return;
    source t;
    frame header = { 0 };
    const char *none = NULL;
    source_open(c, &t, device, s->path);
    frame_parse(c, &header, &t, &s->table, &none, 0);
    const int64_t columns = ct_table_cols(header.table) + 2;
    const char **names = take(c, columns, sizeof *names, "columns");
    *cols = take(c, columns, sizeof **cols, "columns");
    if (going(c) && ct_table_find(header.table, s->target) < 0) frame_tell_notes(&header);
    choose_columns(c, s, &header, names, d);
    parse_values(c, s, &t, &header, names, *d, f);
    find_columns(c, s, f, names, *cols, d);
    source_close(&t);
}
