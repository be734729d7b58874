/* Noise from a column of the table: standard deviations, variances, or levels with a noise of their own. The
 * model keeps the column's name as "sd:NAME", "variance:NAME" or, of levels, "NAME". */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char deviations[] = "sd:", variances[] = "variance:";

static const char *behind(const char *text, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(text, prefix, length) ? NULL : text + length;
}

void noise_settings(ctgp *c, const char *noise, const char *column, const char *by, ct_gp_noise *kind,
                    char name[4096])
{
    if (!going(c)) return;
    static const char *const kinds[] = { "learned", "none", "inputs" };
    static const ct_gp_noise meant[] = { CT_NOISE_LEARNED, CT_NOISE_NONE, CT_NOISE_LOG_LINEAR };
    int k = 0;
    parse_choice(c, "--noise", noise, kinds, 3, &k);
    if (!going(c)) return;
    if (column && by) fail(c, CODE_USAGE, "--noise-column and --noise-by: give one of them");
    if ((column || by) && k)
        fail(c, CODE_USAGE, "--noise %s and %s: give one of them", noise,
             column ? "--noise-column" : "--noise-by");
    *kind = by ? CT_NOISE_BY_LEVEL : !column ? meant[k] : noise ? CT_NOISE_GIVEN_PLUS : CT_NOISE_GIVEN;
    const bool plain = column && !behind(column, deviations) && !behind(column, variances);
    if (column || by) snprintf(name, 4096, "%s%s", plain ? deviations : "", column ? column : by);
}

const char *noise_column(ct_gp_noise kind, const char *name)
{
    if (!*name || kind == CT_NOISE_BY_LEVEL) return *name ? name : NULL;
    const char *column = behind(name, deviations);
    if (!column) column = behind(name, variances);
    return column ? column : name;
}

const char *noise_name(const ct_gp *gp)
{
    const ct_column *c = ct_gp_get_options(gp).noise_column;
    return c ? c->name : "";
}

void noise_text(const ct_gp *gp, char *text, size_t size)
{
    const char *name = noise_name(gp), *column = noise_column(ct_gp_get_options(gp).noise, name);
    const char *what = behind(name, deviations) ? "standard deviations" : "variances";
    *text = 0;
    switch (ct_gp_get_options(gp).noise) {
    case CT_NOISE_NONE: snprintf(text, size, "none"); break;
    case CT_NOISE_LEARNED: snprintf(text, size, "learned"); break;
    case CT_NOISE_LOG_LINEAR: snprintf(text, size, "learned, a function of the inputs"); break;
    case CT_NOISE_BY_LEVEL:
        snprintf(text, size, "learned for each level%s%s", column ? " of " : "", column ? column : "");
        break;
    case CT_NOISE_GIVEN:
    case CT_NOISE_GIVEN_PLUS:
        snprintf(text, size, "given%s%s%s%s",
                 ct_gp_get_options(gp).noise == CT_NOISE_GIVEN_PLUS ? " and learned" : "", column ? ", " : "",
                 column ? what : "", column ? " in " : "");
        if (column) snprintf(text + strlen(text), size - strlen(text), "%s", column);
    }
}

/* -- the column's numbers -------------------------------------------------------------------------------- */

/* Refuses chosen row k, with its place. */
static void refuse(ctgp *c, const frame *f, int64_t k, int64_t col, const char *format, const char *value)
{
    char why[256];
    snprintf(why, sizeof why, format, value);
    fail(c, CODE_DATA, "%s, line %lld, column '%s': %s", f->path,
         (long long)ct_table_line(f->table, f->rows[k]), ct_table_name(f->table, col), why);
}

/* A level as the table writes it. */
static const char *level_text(const frame *f, int64_t col, double level, char number[CT_NUMBER_TEXT])
{
    const ct_column *c = ct_table_column(f->table, col);
    if (c->kind == CT_COLUMN_CATEGORY) return c->levels[(int64_t)level];
    ct_number_write(level, 0, number);
    return number;
}

static void unknown_level(ctgp *c, const frame *f, int64_t k, int64_t col)
{
    if (!going(c)) return;
    char number[CT_NUMBER_TEXT];
    const double level = ct_table_at(f->table, f->rows[k], col) + 0.0;
    refuse(c, f, k, col, "the model has no noise for the level %s, which no row of its training had",
           level_text(f, col, level, number));
}

/* Refuses a level that no row of the model has. In a parameter's name a long level is its number. */
static void check_level(ctgp *c, const frame *f, const ct_gp *gp, int64_t k, int64_t col, double level)
{
    if (!going(c)) return;
    char number[CT_NUMBER_TEXT], name[64];
    const int length = snprintf(name, sizeof name, "noise.variance[%s]", level_text(f, col, level, number));
    ct_number_write(level, 0, number);
    if (length >= (int)sizeof name) snprintf(name, sizeof name, "noise.variance[%s]", number);
    if (!(ct_gp_find(gp, name) >= 0)) unknown_level(c, f, k, col);
}

/* Refuses levels of which most have a single row. */
static void check_levels(ctgp *c, const frame *f, int64_t col, const double *levels)
{
    if (!going(c)) return;
    const int64_t n = f->n_rows;
    int64_t count = n > 0;
    double *x = take(c, n, sizeof *x, "levels");
    if (!x) return;
    memcpy(x, levels, (size_t)n * sizeof *x);
    qsort(x, (size_t)n, sizeof *x, ascending);
    for (int64_t i = 1; i < n; i++) count += x[i] != x[i - 1];
    if (2 * count <= n) return;
    fail(c, CODE_DATA,
         "%s: column '%s' has %lld levels in %lld rows: a noise for each takes two rows of it, at least",
         f->path, ct_table_name(f->table, col), (long long)count, (long long)n);
}

void frame_noise(ctgp *c, const frame *f, int64_t col, ct_gp_noise kind, const char *name, const ct_gp *gp,
                 ct_tensor **noise)
{
    if (!going(c)) return;
    char number[CT_NUMBER_TEXT];
    const bool levels = kind == CT_NOISE_BY_LEVEL, square = behind(name, deviations) && !levels;
    double *x = take(c, f->n_rows, sizeof *x, "rows of noise");
    for (int64_t k = 0; k < f->n_rows && going(c); k++) {
        x[k] = ct_table_at(f->table, f->rows[k], col) + 0.0; /* no -0 */
        ct_number_write(x[k], 0, number);
        if (levels && gp && x[k] < 0 && ct_table_column(f->table, col)->kind == CT_COLUMN_CATEGORY)
            x[k] = NAN; /* --unseen prior: the average */
        else if (levels && gp)
            check_level(c, f, gp, k, col, x[k]);
        else if (!levels && x[k] < 0)
            refuse(c, f, k, col, "%s is negative, and no spread is", number);
        else if (square && fabs(x[k]) > 1e150)
            refuse(c, f, k, col, "the square of %s is out of range", number);
        if (square) x[k] *= x[k];
    }
    if (levels && !gp) check_levels(c, f, col, x);
    if (going(c)) *noise = own_tensor(c, f->device, ct_from(f->device, CT_F64, ct_shape1(f->n_rows), x));
}

void check_noise(ctgp *c, const frame *held, const frame *learned, int64_t col, ct_gp_noise kind,
                 const char *name)
{
    if (!going(c)) return;
    ct_tensor *noise = NULL;
    if (kind != CT_NOISE_BY_LEVEL) {
        frame_noise(c, held, col, kind, name, NULL, &noise);
        return;
    }
    const int64_t n = learned->n_rows;
    double *x = take(c, n, sizeof *x, "levels");
    if (!x) return;
    for (int64_t k = 0; k < n; k++) x[k] = ct_table_at(learned->table, learned->rows[k], col);
    qsort(x, (size_t)n, sizeof *x, ascending);
    for (int64_t k = 0; k < held->n_rows && going(c); k++) {
        const double level = ct_table_at(held->table, held->rows[k], col);
        if (!bsearch(&level, x, (size_t)n, sizeof *x, ascending)) unknown_level(c, held, k, col);
    }
}
