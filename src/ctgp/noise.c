/* Noise from a column of the table: standard deviations, variances, or levels with a noise of their own. The
 * model keeps the column's name as "sd:NAME", "variance:NAME" or, of levels, "NAME". */
#include "noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "names.h"
#include "numbers.h"

static const char deviations[] = "sd:", variances[] = "variance:";

static const char *behind(const char *text, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(text, prefix, length) ? NULL : text + length;
}

noise_source noise_settings(ctgp *c, int learned, bool given, const char *column, const char *by)
{
    static const char *const word[] = { "learned", "none", "inputs" };
    static const ct_gp_noise kind[] = { CT_NOISE_LEARNED, CT_NOISE_NONE, CT_NOISE_LOG_LINEAR };
    if (column && by) fail(c, CODE_USAGE, "--noise-column and --noise-by: give one of them");
    if ((column || by) && learned)
        fail(c, CODE_USAGE, "--noise %s and %s: give one of them", word[learned],
             column ? "--noise-column" : "--noise-by");
    if (by) return (noise_source){ CT_NOISE_BY_LEVEL, by };
    if (!column) return (noise_source){ kind[learned], "" };
    const bool plain = !behind(column, deviations) && !behind(column, variances);
    return (noise_source){ given ? CT_NOISE_GIVEN_PLUS : CT_NOISE_GIVEN,
                           text_of(c, "%s%s", plain ? deviations : "", column) };
}

noise_source noise_of(const ct_gp *gp)
{
    const ct_gp_options o = ct_gp_get_options(gp);
    return (noise_source){ o.noise, o.noise_column ? o.noise_column->name : "" };
}

const char *noise_column(noise_source n)
{
    if (!*n.name || n.kind == CT_NOISE_BY_LEVEL) return *n.name ? n.name : NULL;
    const char *column = behind(n.name, deviations);
    if (!column) column = behind(n.name, variances);
    return column ? column : n.name;
}

bool noise_is_given(ct_gp_noise kind) { return kind == CT_NOISE_GIVEN || kind == CT_NOISE_GIVEN_PLUS; }
bool noise_needs_column(ct_gp_noise kind) { return noise_is_given(kind) || kind == CT_NOISE_BY_LEVEL; }

const char *noise_text(ctgp *c, const ct_gp *gp)
{
    const noise_source n = noise_of(gp);
    const char *column = noise_column(n), *plus = n.kind == CT_NOISE_GIVEN_PLUS ? " and learned" : "";
    const char *what = behind(n.name, deviations) ? "standard deviations" : "variances";
    if (n.kind == CT_NOISE_LOG_LINEAR) return "learned, a function of the inputs";
    if (n.kind == CT_NOISE_BY_LEVEL)
        return text_of(c, "learned for each level%s%s", column ? " of " : "", column ? column : "");
    if (!noise_is_given(n.kind)) return noise_kind(n.kind);
    return column ? text_of(c, "given%s, %s in %s", plus, what, column) : text_of(c, "given%s", plus);
}

/* -- the column's numbers -------------------------------------------------------------------------------- */

/* A level as the table writes it. */
static const char *level_text(ctgp *c, const frame *f, int64_t col, double level)
{
    const ct_column *of = ct_table_column(f->table, col);
    return of->kind == CT_COLUMN_CATEGORY ? of->levels[(int64_t)level] : number_text(c, level);
}

_Noreturn static void unknown_level(ctgp *c, const frame *f, int64_t row, int64_t col)
{
    const double level = ct_table_at(f->table, row, col) + 0.0;
    fail_cell(c, f, row, col,
              text_of(c, "the model has no noise for the level %s, which no row of its training had",
                      level_text(c, f, col, level)));
}

/* Refuses a level that no row of the model has. In a parameter's name a long level is its number. */
static void check_level(ctgp *c, const frame *f, const ct_gp *gp, int64_t row, int64_t col, double level)
{
    enum { LONGEST = 63 };
    const char *name = text_of(c, "noise.variance[%s]", level_text(c, f, col, level));
    if (strlen(name) > LONGEST) name = text_of(c, "noise.variance[%s]", number_text(c, level));
    if (ct_gp_find(gp, name) < 0) unknown_level(c, f, row, col);
}

/* The levels of the chosen rows, sorted. */
static double *sorted_levels(ctgp *c, const frame *f, int64_t col)
{
    double *x = frame_values(c, f, &col, 1);
    qsort(x, (size_t)f->n_rows, sizeof *x, ascending);
    return x;
}

/* Refuses levels of which most have a single row. */
static void check_levels(ctgp *c, const frame *f, int64_t col)
{
    const int64_t n = f->n_rows;
    const double *x = sorted_levels(c, f, col);
    int64_t count = n > 0;
    for (int64_t i = 1; i < n; i++) count += x[i] != x[i - 1];
    if (2 * count > n)
        fail(c, CODE_DATA,
             "%s: column '%s' has %lld levels in %lld rows: a noise for each takes two rows of it, at least",
             f->path, ct_table_name(f->table, col), (long long)count, (long long)n);
}

ct_tensor *frame_noise(ctgp *c, const frame *f, int64_t col, noise_source n, const ct_gp *gp)
{
    const bool levels = n.kind == CT_NOISE_BY_LEVEL, square = behind(n.name, deviations) && !levels;
    double *x = frame_values(c, f, &col, 1);
    for (int64_t k = 0; k < f->n_rows; k++) {
        x[k] += 0.0; /* no -0 */
        if (levels && gp && x[k] < 0 && ct_table_column(f->table, col)->kind == CT_COLUMN_CATEGORY)
            x[k] = NAN; /* --unseen prior: the average */
        else if (levels && gp)
            check_level(c, f, gp, f->rows[k], col, x[k]);
        else if (!levels && x[k] < 0)
            fail_cell(c, f, f->rows[k], col,
                      text_of(c, "%s is negative, and no spread is", number_text(c, x[k])));
        else if (square && fabs(x[k]) > 1e150)
            fail_cell(c, f, f->rows[k], col,
                      text_of(c, "the square of %s is out of range", number_text(c, x[k])));
        if (square) x[k] *= x[k];
    }
    if (levels && !gp) check_levels(c, f, col);
    return own_tensor(c, ct_from(c->device, CT_F64, ct_shape1(f->n_rows), x));
}

void check_noise(ctgp *c, const frame *held, const frame *learned, int64_t col, noise_source n)
{
    if (n.kind != CT_NOISE_BY_LEVEL) {
        frame_noise(c, held, col, n, NULL);
        return;
    }
    const double *x = sorted_levels(c, learned, col);
    for (int64_t k = 0; k < held->n_rows; k++) {
        const double level = ct_table_at(held->table, held->rows[k], col);
        if (!bsearch(&level, x, (size_t)learned->n_rows, sizeof *x, ascending))
            unknown_level(c, held, held->rows[k], col);
    }
}
