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
static int list_features(ctgp *c, const settings *s, const frame *f, int64_t noise, const char **names,
                         int64_t *n)
{
    pick *features = NULL, *drop = NULL;
    int64_t wanted = ct_table_cols(f->table), dropped = 0;
    bool counts = !s->features && !is_target(s, f, 0) && ct_table_counts_rows(f->table, 0);
    int result = s->features ? frame_pick(c, f, s->features, &features, &wanted) : GO_ON;
    if (s->drop && result == GO_ON) result = frame_pick(c, f, s->drop, &drop, &dropped);
    counts = counts && result == GO_ON && !picked(drop, dropped, f, ct_table_name(f->table, 0));
    for (int64_t i = counts ? 1 : 0; i < wanted && result == GO_ON; i++) {
        const pick p = features ? features[i] : (pick){ .col = i };
        const char *name = ct_table_name(f->table, p.col);
        const bool target = is_target(s, f, p.col);
        if (target && p.exact)
            result = fail(c, CODE_USAGE, "--features names the target '%s'", name);
        else if (target || (p.col == noise && !p.exact) || picked(drop, dropped, f, name))
            continue;
        else if (named(names, *n, name) || names_target(s, name))
            result = features
                         ? fail(c, CODE_USAGE, "--features: column '%s' is there twice", name)
                         : fail(c, CODE_DATA,
                                "%s: column '%s' is there twice: rename one, or leave both out with --drop",
                                f->path, name);
        else
            names[(*n)++] = name;
    }
    if (counts && *n)
        note("%s: the first column has no name and counts the rows: it is left out", f->path);
    else if (counts)
        names[(*n)++] = ct_table_name(f->table, 0);
    free(features);
    free(drop);
    return result;
}

/* If a column has the whole text as its name, it is the only target; else commas separate several. */
static int find_targets(ctgp *c, settings *s, const frame *f)
{
    const bool one = ct_table_find(f->table, s->target) >= 0 || !strchr(s->target, ',');
    if (one) {
        s->targets = malloc(sizeof *s->targets);
        s->n_targets = 1;
        if (s->targets) s->targets[0] = strdup(s->target);
    } else {
        s->n_targets = split_names(s->target, &s->targets);
    }
    if (s->n_targets < 0 || !s->targets || !s->targets[0])
        return fail(c, CODE_MEMORY, "no memory for the names of the targets");
    if (s->n_targets > CT_OUTPUTS_MOST)
        return fail(c, CODE_USAGE, "--target names %lld columns, it takes at most %d",
                    (long long)s->n_targets, CT_OUTPUTS_MOST);
    if (s->rank > s->n_targets)
        return fail(c, CODE_USAGE, "--rank %ld is above the number of targets, %lld", s->rank,
                    (long long)s->n_targets);
    for (int64_t j = 0; j < s->n_targets; j++) {
        if (frame_column(c, f, s->targets[j]) < 0) return CODE_DATA;
        if (named((const char *const *)s->targets, j, s->targets[j]))
            return fail(c, CODE_USAGE, "--target names '%s' twice", s->targets[j]);
    }
    return GO_ON;
}

/* Each target has a number. In the first reading of the table text counts as missing. */
static int check_numbers(ctgp *c, const settings *s, const frame *f)
{
    for (int64_t j = 0; j < s->n_targets; j++) {
        const int64_t col = ct_table_find(f->table, s->targets[j]), rows = ct_table_rows(f->table);
        int64_t i = 0;
        while (i < rows && isnan(ct_table_at(f->table, i, col))) i++;
        if (i < rows) continue;
        return fail(c, CODE_DATA,
                    "%s: the target '%s' has no number in any row: write classes or dates as numbers, or "
                    "name another column",
                    f->path, s->targets[j]);
    }
    return GO_ON;
}

/* The names of the features, the first target, the noise's column or NULL, and the other targets. They point
 * into the table. */
static int choose_columns(ctgp *c, settings *s, const frame *f, const char **names, int64_t *n_features)
{
    int64_t n = 0;
    const char *told = noise_column(s->gp.noise, s->noise_name);
    int result = find_targets(c, s, f);
    if (result == GO_ON) result = check_numbers(c, s, f);
    int64_t noise = told && result == GO_ON ? frame_column(c, f, told) : -1;
    if (result == GO_ON && told && noise < 0) result = CODE_DATA;
    if (result == GO_ON && told && is_target(s, f, noise))
        result = fail(c, CODE_USAGE, "%s names the target '%s'",
                      s->gp.noise == CT_NOISE_BY_LEVEL ? "--noise-by" : "--noise-column", told);
    if (result == GO_ON) result = list_features(c, s, f, noise, names, &n);
    if (result == GO_ON && n == 0)
        result = fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
    names[n + 1] = noise < 0 ? NULL : ct_table_name(f->table, noise);
    for (int64_t j = 0; j < s->n_targets && result == GO_ON; j++)
        names[fit_place(n, j)] = ct_table_name(f->table, ct_table_find(f->table, s->targets[j]));
    *n_features = n;
    return result;
}

/* Adds the columns that option `by` names to `asked`, with their kind. */
static int ask(ctgp *c, const settings *s, const frame *f, const char *by, const char *text,
               ct_column_kind kind, ct_column *asked, int64_t *n)
{
    pick *picks = NULL;
    int64_t count = 0;
    int result = text ? frame_pick(c, f, text, &picks, &count) : GO_ON;
    for (int64_t i = 0; i < count && result == GO_ON; i++) {
        const char *name = ct_table_name(f->table, picks[i].col);
        if (names_target(s, name) && picks[i].exact)
            result = fail(c, CODE_USAGE, "%s names the target '%s', which must be a number", by, name);
        for (int64_t j = s->n_targets; j < *n && result == GO_ON; j++)
            if (!strcmp(asked[j].name, name))
                result = fail(c, CODE_USAGE, "%s names '%s', which is named before", by, name);
        if (!names_target(s, name)) asked[(*n)++] = (ct_column){ .name = name, .kind = kind };
    }
    free(picks);
    return result;
}

/* Reads the values of the columns `names`: d features, the targets, and the noise if there is one. */
static int parse_values(ctgp *c, const settings *s, const source *t, const frame *header,
                        const char *const *names, int64_t d, frame *f)
{
    int64_t n = 0, n_names = 0;
    const size_t most = (size_t)(3 * ct_table_cols(header->table) + 2);
    ct_column *asked = calloc(most, sizeof *asked);
    const char **wanted = calloc(most, sizeof *wanted);
    if (!asked || !wanted) {
        free(asked);
        free(wanted);
        return fail(c, CODE_MEMORY, "no memory for the names of the columns");
    }
    for (int64_t j = 0; j <= d + s->n_targets; j++)
        if (names[j]) wanted[n_names++] = names[j];
    for (int64_t j = 0; j < s->n_targets; j++) asked[n++].name = s->targets[j];
    const char *noise = noise_column(s->gp.noise, s->noise_name);
    if (noise && s->gp.noise != CT_NOISE_BY_LEVEL) asked[n++].name = noise;
    int result = ask(c, s, header, "--categorical", s->categorical, CT_COLUMN_CATEGORY, asked, &n);
    if (result == GO_ON) result = ask(c, s, header, "--time", s->time, CT_COLUMN_TIME, asked, &n);
    ct_csv_options how = s->table;
    how.kinds = true;
    how.columns = asked;
    how.n_columns = n;
    if (result == GO_ON) result = frame_parse(c, f, t, &how, wanted, n_names);
    free(wanted);
    free(asked);
    return result;
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
static int drop_names(ctgp *c, const settings *s, const frame *f, int64_t *cols, int64_t *d)
{
    pick *asked = NULL;
    int64_t kept = 0, n = 0;
    char text[96];
    const int result = s->categorical ? frame_pick(c, f, s->categorical, &asked, &n) : GO_ON;
    for (int64_t j = 0; j < *d && result == GO_ON; j++) {
        const char *name = ct_table_name(f->table, cols[j]),
                   *why = s->features || picked(asked, n, f, name) ? NULL : says_nothing(f, cols[j], text);
        if (why)
            note("%s: column '%s' %s", f->path, name, why);
        else
            cols[kept++] = cols[j];
    }
    free(asked);
    for (int64_t j = 0; j <= s->n_targets; j++) cols[kept + j] = cols[*d + j]; /* the targets, the noise */
    *d = kept;
    return result;
}

static int find_columns(ctgp *c, const settings *s, const frame *f, const char *const *names, int64_t *cols,
                        int64_t *d)
{
    for (int64_t j = 0; j <= *d + s->n_targets; j++) {
        cols[j] = names[j] ? frame_column(c, f, names[j]) : -1;
        if (names[j] && cols[j] < 0) return CODE_DATA;
    }
    frame_tell_notes(f);
    const int result = drop_names(c, s, f, cols, d);
    if (result != GO_ON) return result;
    return *d ? GO_ON : fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
}

int fit_read_columns(ctgp *c, settings *s, ct_device *device, frame *f, int64_t **cols, int64_t *d)
{
    if (!going(c)) return c->code;
    source t;
    frame header = { 0 };
    const char *none = NULL;
    int result = source_open(c, &t, device, s->path);
    if (result == GO_ON) result = frame_parse(c, &header, &t, &s->table, &none, 0);
    size_t columns = (size_t)ct_table_cols(header.table) + 2;
    const char **names = calloc(columns, sizeof *names);
    *cols = calloc(columns, sizeof **cols);
    if (result == GO_ON && (!names || !*cols))
        result = fail(c, CODE_MEMORY, "no memory for %zu columns", columns);
    if (result == GO_ON && ct_table_find(header.table, s->target) < 0) frame_tell_notes(&header);
    if (result == GO_ON) result = choose_columns(c, s, &header, names, d);
    if (result == GO_ON) result = parse_values(c, s, &t, &header, names, *d, f);
    if (result == GO_ON) result = find_columns(c, s, f, names, *cols, d);
    free(names);
    frame_close(&header);
    source_close(&t);
    return result;
}
