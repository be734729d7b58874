/* ctgp fit: the columns that it learns. */
#include "fit.h"

#include <math.h>
#include <string.h>

static bool named(const char *const *names, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static bool picked(const picks *p, const frame *f, const char *name)
{
    for (int64_t i = 0; i < p->n; i++)
        if (!strcmp(ct_table_name(f->table, p->at[i].col), name)) return true;
    return false;
}

static bool is_target(const settings *s, const char *name)
{
    return named((const char *const *)s->targets, s->n_targets, name);
}

/* The names of a table's columns that a fit learns. They point into the table. */
typedef struct choice {
    const char **names; /* d features, the first target, the noise's column or NULL, and the other targets */
    int64_t d;
} choice;

/* The features in the order of --features, or all columns but that of the noise. An unnamed first column that
 * counts the rows is a feature only if there is no other. */
static void list_features(ctgp *c, const settings *s, const frame *f, int64_t noise, choice *to)
{
    const char *first = ct_table_name(f->table, 0);
    const picks features = frame_pick(c, f, s->features), drop = frame_pick(c, f, s->drop);
    const bool counts =
        !s->features && !is_target(s, first) && ct_table_counts_rows(f->table, 0) && !picked(&drop, f, first);
    const int64_t wanted = s->features ? features.n : ct_table_cols(f->table);
    for (int64_t i = counts ? 1 : 0; i < wanted; i++) {
        const pick p = s->features ? features.at[i] : (pick){ .col = i };
        const char *name = ct_table_name(f->table, p.col);
        const bool target = is_target(s, name), twice = named(to->names, to->d, name);
        if (target && p.exact) fail(c, CODE_USAGE, "--features names the target '%s'", name);
        if (target || (p.col == noise && !p.exact) || picked(&drop, f, name)) continue;
        if (twice && s->features) fail(c, CODE_USAGE, "--features: column '%s' is there twice", name);
        if (twice)
            fail(c, CODE_DATA, "%s: column '%s' is there twice: rename one, or leave both out with --drop",
                 f->path, name);
        to->names[to->d++] = name;
    }
    if (counts && to->d)
        note("%s: the first column has no name and counts the rows: it is left out", f->path);
    else if (counts)
        to->names[to->d++] = first;
}

/* If a column has the whole text as its name, it is the only target; else commas separate several. */
static void find_targets(ctgp *c, settings *s, const frame *f)
{
    const name_list list = split_names(c, s->target);
    const bool one = ct_table_find(f->table, s->target) >= 0 || !strchr(s->target, ',');
    s->targets = list.name;
    s->n_targets = one ? 1 : list.n;
    if (one) s->targets[0] = strcpy(take(c, (int64_t)strlen(s->target), 1, "letters of a name"), s->target);
    if (s->n_targets > CT_OUTPUTS_MOST)
        fail(c, CODE_USAGE, "--target names %lld columns, it takes at most %d", (long long)s->n_targets,
             CT_OUTPUTS_MOST);
    if (s->rank > s->n_targets)
        fail(c, CODE_USAGE, "--rank %ld is above the number of targets, %lld", s->rank,
             (long long)s->n_targets);
    for (int64_t j = 0; j < s->n_targets; j++) {
        frame_column(c, f, s->targets[j]);
        if (named((const char *const *)s->targets, j, s->targets[j]))
            fail(c, CODE_USAGE, "--target names '%s' twice", s->targets[j]);
    }
}

/* Each target has a number. In the first reading of the table text counts as missing. */
static void check_numbers(ctgp *c, const settings *s, const frame *f)
{
    for (int64_t j = 0; j < s->n_targets; j++) {
        const int64_t col = ct_table_find(f->table, s->targets[j]), rows = ct_table_rows(f->table);
        int64_t i = 0;
        while (i < rows && isnan(ct_table_at(f->table, i, col))) i++;
        if (i == rows)
            fail(c, CODE_DATA,
                 "%s: the target '%s' has no number in any row: write classes or dates as numbers, or "
                 "name another column",
                 f->path, s->targets[j]);
    }
}

static choice choose_columns(ctgp *c, settings *s, const frame *f)
{
    choice to = { .names = take(c, ct_table_cols(f->table) + 2, sizeof *to.names, "columns") };
    const char *told = noise_column(s->noise);
    find_targets(c, s, f);
    check_numbers(c, s, f);
    const int64_t noise = told ? frame_column(c, f, told) : -1;
    if (told && is_target(s, told))
        fail(c, CODE_USAGE, "%s names the target '%s'",
             s->gp.noise == CT_NOISE_BY_LEVEL ? "--noise-by" : "--noise-column", told);
    list_features(c, s, f, noise, &to);
    if (!to.d) fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
    to.names[to.d + 1] = told;
    for (int64_t j = 0; j < s->n_targets; j++) to.names[fit_place(to.d, j)] = s->targets[j];
    return to;
}

/* Adds the columns that option `by` names to `asked`, with their kind. */
static void ask(ctgp *c, const settings *s, const frame *f, const char *by, const char *text,
                ct_column_kind kind, ct_column *asked, int64_t *n)
{
    const picks p = frame_pick(c, f, text);
    for (int64_t i = 0; i < p.n; i++) {
        const char *name = ct_table_name(f->table, p.at[i].col);
        if (is_target(s, name) && p.at[i].exact)
            fail(c, CODE_USAGE, "%s names the target '%s', which must be a number", by, name);
        for (int64_t j = s->n_targets; j < *n; j++)
            if (!strcmp(asked[j].name, name))
                fail(c, CODE_USAGE, "%s names '%s', which is named before", by, name);
        if (!is_target(s, name)) asked[(*n)++] = (ct_column){ .name = name, .kind = kind };
    }
}

/* Reads the values of the chosen columns. */
static frame read_values(ctgp *c, const settings *s, const source *t, const frame *header, const choice *of)
{
    int64_t n = 0, n_names = 0;
    const int64_t most = 3 * ct_table_cols(header->table) + 2;
    ct_column *asked = take(c, most, sizeof *asked, "columns");
    const char **wanted = take(c, most, sizeof *wanted, "columns"), *noise = noise_column(s->noise);
    for (int64_t j = 0; j <= of->d + s->n_targets; j++)
        if (of->names[j]) wanted[n_names++] = of->names[j];
    for (int64_t j = 0; j < s->n_targets; j++) asked[n++].name = s->targets[j];
    if (noise && s->gp.noise != CT_NOISE_BY_LEVEL) asked[n++].name = noise;
    ask(c, s, header, "--categorical", s->categorical, CT_COLUMN_CATEGORY, asked, &n);
    ask(c, s, header, "--time", s->time, CT_COLUMN_TIME, asked, &n);
    ct_csv_options how = c->table;
    how.kinds = true;
    how.columns = asked;
    how.n_columns = n;
    return frame_parse(c, t, &how, wanted, n_names);
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
static void drop_names(ctgp *c, const settings *s, learned *t)
{
    const frame *f = &t->f;
    const picks asked = frame_pick(c, f, s->categorical);
    int64_t kept = 0, *cols = t->cols;
    char text[96];
    for (int64_t j = 0; j < t->d; j++) {
        const char *name = ct_table_name(f->table, cols[j]),
                   *why = s->features || picked(&asked, f, name) ? NULL : says_nothing(f, cols[j], text);
        if (why)
            note("%s: column '%s' %s", f->path, name, why);
        else
            cols[kept++] = cols[j];
    }
    for (int64_t j = 0; j <= s->n_targets; j++) cols[kept + j] = cols[t->d + j]; /* the targets, the noise */
    t->d = kept;
    if (!kept) fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
}

learned fit_read_columns(ctgp *c, settings *s)
{
    const char *none = NULL;
    source *text = source_open(c, s->path);
    const frame header = frame_parse(c, text, &c->table, &none, 0);
    if (ct_table_find(header.table, s->target) < 0) frame_tell_notes(&header);
    const choice of = choose_columns(c, s, &header);
    learned t = { .f = read_values(c, s, text, &header, &of), .d = of.d };
    source_close(c, text);
    t.cols = take(c, t.d + 1 + s->n_targets, sizeof *t.cols, "columns");
    for (int64_t j = 0; j <= t.d + s->n_targets; j++)
        t.cols[j] = of.names[j] ? frame_column(c, &t.f, of.names[j]) : -1;
    frame_tell_notes(&t.f);
    drop_names(c, s, &t);
    ct_column *inputs = take(c, t.d, sizeof *inputs, "columns");
    for (int64_t j = 0; j < t.d; j++) inputs[j] = *ct_table_column(t.f.table, t.cols[j]);
    s->gp.inputs = inputs;
    return t;
}
