/* ctgp fit: the columns that it learns. */
#include "fit_columns.h"

#include <math.h>
#include <string.h>

#include "columns.h"
#include "context.h"
#include "failure.h"
#include "fit_drop.h"
#include "text.h"

static bool is_target(const settings *s, const frame *f, const char *name)
{
    return frame_has_name(f, s->targets, s->n_targets, name);
}

/* Appends a feature, which no other has the name of. */
static void add_feature(ctgp *c, const settings *s, learned *t, int64_t col)
{
    const char *name = ct_table_name(t->f.table, col);
    const bool twice = frame_has_name(&t->f, t->cols, t->d, name);
    if (twice && s->features) fail(c, CODE_USAGE, "--features: column '%s' is there twice", name);
    if (twice)
        fail(c, CODE_DATA, "%s: column '%s' is there twice: rename one, or leave both out with --drop",
             t->f.path, name);
    t->cols[t->d++] = col;
}

/* The features in the order of --features, or all columns but that of the noise. An unnamed first column that
 * counts the rows is a feature only if there is no other. */
static void list_features(ctgp *c, const settings *s, learned *t)
{
    const frame *f = &t->f;
    const char *first = ct_table_name(f->table, 0);
    const picks features = frame_pick(c, f, s->features), drop = frame_pick(c, f, s->drop);
    const bool counts = !s->features && !is_target(s, f, first) && ct_table_counts_rows(f->table, 0) &&
                        !frame_has_name(f, drop.cols, drop.n, first);
    const int64_t wanted = s->features ? features.n : ct_table_cols(f->table);
    for (int64_t i = counts ? 1 : 0; i < wanted; i++) {
        const int64_t col = s->features ? features.cols[i] : i;
        const bool exact = s->features && features.exact[i];
        const char *name = ct_table_name(f->table, col);
        if (is_target(s, f, name) && exact) fail(c, CODE_USAGE, "--features names the target '%s'", name);
        if (!is_target(s, f, name) && (col != t->noise || exact) &&
            !frame_has_name(f, drop.cols, drop.n, name))
            add_feature(c, s, t, col);
    }
    if (counts && t->d)
        note("%s: the first column has no name and counts the rows: it is left out", f->path);
    else if (counts)
        t->cols[t->d++] = 0;
}

/* If a column has the whole text as its name, it is the only target; else commas separate several. Each has a
 * number: in the first reading of the table text counts as missing. */
static void find_targets(ctgp *c, settings *s, const frame *f)
{
    const name_list list = split_names(c, s->target);
    const bool one = ct_table_find(f->table, s->target) >= 0 || !strchr(s->target, ',');
    const int64_t n = one ? 1 : list.n, rows = ct_table_rows(f->table);
    s->targets = take(c, n, sizeof *s->targets, "targets");
    if (n > CT_OUTPUTS_MOST)
        fail(c, CODE_USAGE, "--target names %lld columns, it takes at most %d", (long long)n,
             CT_OUTPUTS_MOST);
    if (s->rank > n)
        fail(c, CODE_USAGE, "--rank %ld is above the number of targets, %lld", s->rank, (long long)n);
    for (int64_t j = 0; j < n; j++) {
        const char *name = one ? s->target : list.name[j];
        const int64_t col = frame_column(c, f, name);
        int64_t i = 0;
        if (is_target(s, f, name)) fail(c, CODE_USAGE, "--target names '%s' twice", name);
        while (i < rows && isnan(ct_table_at(f->table, i, col))) i++;
        if (i == rows)
            fail(c, CODE_DATA,
                 "%s: the target '%s' has no number in any row: write classes or dates as numbers, or "
                 "name another column",
                 f->path, name);
        s->targets[s->n_targets++] = col;
    }
}

/* The columns of a table's header that a fit learns. */
static learned choose_columns(ctgp *c, settings *s, const frame *f)
{
    learned t = { .f = *f, .cols = take(c, ct_table_cols(f->table), sizeof *t.cols, "columns") };
    const char *noise_name = noise_column(s->noise);
    find_targets(c, s, f);
    t.noise = noise_name ? frame_column(c, f, noise_name) : -1;
    t.targets = s->targets;
    if (noise_name && is_target(s, f, noise_name))
        fail(c, CODE_USAGE, "%s names the target '%s'",
             s->gp.noise == CT_NOISE_BY_LEVEL ? "--noise-by" : "--noise-column", noise_name);
    list_features(c, s, &t);
    if (!t.d) fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
    return t;
}

/* Adds the columns that option `by` names to `asked`, with their kind. */
static void ask(ctgp *c, const settings *s, const frame *f, const char *by, const char *text,
                ct_column_kind kind, ct_column *asked, int64_t *n)
{
    const picks p = frame_pick(c, f, text);
    for (int64_t i = 0; i < p.n; i++) {
        const char *name = ct_table_name(f->table, p.cols[i]);
        if (is_target(s, f, name) && p.exact[i])
            fail(c, CODE_USAGE, "%s names the target '%s', which must be a number", by, name);
        for (int64_t j = s->n_targets; j < *n; j++)
            if (!strcmp(asked[j].name, name))
                fail(c, CODE_USAGE, "%s names '%s', which is named before", by, name);
        if (!is_target(s, f, name)) asked[(*n)++] = (ct_column){ .name = name, .kind = kind };
    }
}

/* Reads the values of the chosen columns. */
static frame read_values(ctgp *c, const settings *s, const source *text, const learned *t)
{
    int64_t n = 0, n_names = 0;
    const ct_table *header = t->f.table;
    const int64_t most = 3 * ct_table_cols(header) + 2;
    ct_column *asked = take(c, most, sizeof *asked, "columns");
    const char **wanted = take(c, most, sizeof *wanted, "columns"), *noise = noise_column(s->noise);
    for (int64_t j = 0; j < s->n_targets; j++) asked[n++].name = ct_table_name(header, s->targets[j]);
    for (; n_names < n; n_names++) wanted[n_names] = asked[n_names].name;
    for (int64_t j = 0; j < t->d; j++) wanted[n_names++] = ct_table_name(header, t->cols[j]);
    if (noise) wanted[n_names++] = noise;
    if (noise && s->gp.noise != CT_NOISE_BY_LEVEL) asked[n++].name = noise;
    ask(c, s, &t->f, "--categorical", s->categorical, CT_COLUMN_CATEGORY, asked, &n);
    ask(c, s, &t->f, "--time", s->time, CT_COLUMN_TIME, asked, &n);
    ct_csv_options how = c->table;
    how.kinds = true;
    how.columns = asked;
    how.n_columns = n;
    how.keep_missing = s->keep_missing;
    return frame_parse(c, text, &how, wanted, n_names);
}

/* Adds the columns that say where cells of the features are missing. */
static void add_absent(ctgp *c, learned *t)
{
    const ct_table *of = t->f.table;
    const int64_t n = ct_table_cols(of);
    int64_t *cols = take(c, n, sizeof *cols, "columns");
    memcpy(cols, t->cols, (size_t)t->d * sizeof *cols);
    t->cols = cols;
    name_choice absent = { 0 };
    for (int64_t j = 0; j < n; j++) {
        if (ct_table_column(of, j)->kind != CT_COLUMN_ABSENT) continue;
        add_name(&absent, ct_table_name(of, j));
        cols[t->d++] = j;
    }
    if (*absent.list)
        note("%s: missing cells are the mean of their column, and further columns say where: %s", t->f.path,
             absent.list);
}

learned fit_read_columns(ctgp *c, settings *s)
{
    const char *none = NULL;
    source *text = source_open(c, s->path);
    const frame header = frame_parse(c, text, &c->table, &none, 0);
    if (ct_table_find(header.table, s->target) < 0) frame_print_notes(&header);
    learned t = choose_columns(c, s, &header);
    t.f = read_values(c, s, text, &t);
    source_close(c, text);
    frame_print_notes(&t.f);
    add_absent(c, &t);
    t.d = drop_columns(c, s, &t.f, t.cols, t.d);
    if (!s->features) note_codes(s, &t.f, t.cols, t.d);
    ct_column *inputs = take(c, t.d, sizeof *inputs, "columns");
    for (int64_t j = 0; j < t.d; j++) inputs[j] = *ct_table_column(t.f.table, t.cols[j]);
    s->gp.inputs = inputs;
    return t;
}
