/* ctgp predict: mean, standard deviation, intervals and quantiles at the rows of a CSV file. */
#include "commands.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "bands.h"
#include "columns.h"
#include "context.h"
#include "failure.h"
#include "frame.h"
#include "learned.h"
#include "missing.h"
#include "model.h"
#include "open.h"
#include "options.h"
#include "result.h"
#include "score.h"
#include "table.h"
#include "text.h"

/* -- the table ------------------------------------------------------------------------------------------- */

static void write_rows(ctgp *c, const model_file *m, const prediction *p, const char *keep, const bands *b,
                       const char *out)
{
    sheet to = { .rows = ct_table_rows(p->data.table) };
    keep_texts(c, &p->data, keep, &to);
    add_outputs(c, &to, m, p, b);
    sheet_write(c, &to, out);
}

/* -- the scores ------------------------------------------------------------------------------------------ */

/* Of rows that the model has not learned and of those that it has, which are easy for it. */
typedef struct scores {
    score others, learned;
} scores;

static scores find_scores(ctgp *c, const prediction *p, ct_gp *gp)
{
    const int64_t n = p->data.n_rows;
    const fate *fates = frame_fates(c, &p->data, gp);
    row_loss *others = prediction_losses(c, p), *learned = take(c, n, sizeof *learned, "rows");
    for (int64_t i = 0; i < n; i++) {
        learned[i] = fates[i] == ROW_LEARNED ? others[i] : no_loss;
        if (fates[i] == ROW_LEARNED) others[i] = no_loss;
    }
    return (scores){ score_of(others, n), score_of(learned, n) };
}

/* Without a target the numbers are null. On standard error, beside the table, there is no text then. Rows
 * that the model learned are scored apart, or alone where there are no others. */
static void write_prediction(ctgp *c, writer *w, const prediction *p, scores of, const char *target,
                             bool several)
{
    const bool mixed = of.others.n && of.learned.n;
    const score s = of.others.n ? of.others : of.learned;
    if (!w->json && !s.n && w->out == stderr) return;
    WRITE(w, field_text("%s: ", several ? target : NULL));
    if (!w->json && !s.n) {
        say(w->to, "n=0 rows=%lld: there is no value of the target '%s' to score by\n",
            (long long)p->data.n_rows, target);
        return;
    }
    WRITE(w, field_begin(NULL, '{', NULL));
    write_score(w, s);
    WRITE(w, field_number("rows", NULL, (double)p->data.n_rows),
          field_number("learned_rows", NULL, (double)of.learned.n));
    if (mixed) {
        WRITE(w, field_text("%srows that the model learned: ", several ? text_of(c, "%s: ", target) : ""),
              field_begin("learned", '{', NULL));
        write_score(w, of.learned);
        WRITE(w, field_end('}', NULL));
    }
    WRITE(w, field_word("target", NULL, p->target < 0 ? NULL : target), field_end('}', NULL));
}

/* A note where rounding leaves nothing of what the model predicts. */
static void note_digits(ctgp *c, ct_gp *gp, const char *path)
{
    ct_gp_numerics q;
    if (is_known(c, ct_gp_inspect(gp, &q)) && q.digits < 1)
        note(
            "%s: rounding leaves no digit of the standard deviations of '%s', as its covariance is singular; "
            "ctgp info tells what helps",
            path, ct_gp_output(gp)->name);
}

/* A note on a row so far out that the digits of its input are coarse beside a length or period of the
 * kernel. */
static void note_far(const prediction *p, const ct_gp *gp)
{
    const double eps = ct_gp_dtype(gp) == CT_F32 ? FLT_EPSILON : DBL_EPSILON, least = 1e-3;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *of = ct_gp_param(gp, i);
        for (int64_t k = 0; k < p->data.n_rows && of->unit == CT_UNIT_INPUT && of->column >= 0; k++) {
            const double x = ct_table_at(p->data.table, p->data.rows[k], p->data.cols[1 + of->column]);
            if (eps * fabs(x) <= least * of->value) continue;
            note("%s, line %lld: '%s' is so large that its last digit is coarse beside %s, %.3g: the "
                 "prediction has no digits",
                 p->data.path, (long long)ct_table_line(p->data.table, p->data.rows[k]),
                 ct_gp_input(gp, of->column)->name, of->name, of->value);
            return;
        }
    }
}

static void write_scores(ctgp *c, const model_file *m, const prediction *p, FILE *out)
{
    writer w = result_begin(c, out);
    bool others = false;
    int64_t learned = 0;
    if (m->n > 1) begin_outputs(&w, NULL);
    for (int64_t k = 0; k < m->n; k++) {
        const scores of = find_scores(c, &p[k], m->gp[k]);
        write_prediction(c, &w, &p[k], of, ct_gp_output(m->gp[k])->name, m->n > 1);
        others |= of.others.n > 0;
        learned += of.learned.n;
    }
    if (m->n > 1) end_outputs(&w);
    for (int64_t k = 0; k < m->n; k++) note_digits(c, m->gp[k], m->path), note_far(&p[k], m->gp[k]);
    result_end(&w);
    if (learned && !others)
        note("%s: the model learned these rows: new rows are predicted less well, as ctgp loo tells",
             p->data.path);
}

/* Predicts all outputs, and reads the table once. */
static void predict(ctgp *c, const char *files[MOST_FILES], const char *keep, const bands *b, const char *out)
{
    const model_file m = model_open(c, files[0], false);
    const prediction *p = prediction_make(c, m.gp, m.n, files[1]);
    write_rows(c, &m, p, keep, b, out);
    print_missing(c, &p->data, NULL, 0,
                  "%lld of %lld rows lack an input, so that their prediction is empty: %s%s");
    write_scores(c, &m, p, is_standard(out) ? stderr : stdout);
}

void run_predict(ctgp *c, int argc, char **argv)
{
    const char *files[MOST_FILES], *levels = "0.95", *quantiles = NULL, *keep = NULL, *out = "-";
    const option options[] = {
        { "--out", "FILE.csv", "where to write; standard output unless given, or for -", .text = &out,
          .output = true },
        { "--level", "P,...", "intervals to write: columns lower95, upper95 for 0.95, the default",
          .text = &levels },
        { "--quantiles", "P,...", "quantiles to write: column q0.1 for 0.1", .text = &quantiles },
        { "--keep", "A,B*,...", "columns of DATA.csv to write before them, as they are written there",
          .text = &keep },
    };
    const command usage = {
        .name = "predict",
        .files = { "MODEL", "DATA.csv" },
        .needed = 2,
        .summary =
            "Predicts a new observation, noise included, at each row: columns mean, std, lower95, upper95.",
        .details =
            "Columns are found by their names, in any order. A row with a missing input gets empty fields.\n"
            "DATA.csv may be a pipe, or - for standard input. If the target's column is there, a line\n"
            "n=... rmse=... r2=... mae=... nlpd=... coverage95=... is printed as well: on standard output "
            "with\n"
            "--out FILE.csv, else on standard error. After fit --transform there is a column median, too.\n"
            "If a model has several outputs, each column and line begins with the output's name: y1_mean, "
            "...",
        .shared = OF_TABLES | OF_OUTPUTS | OF_ROWS | OF_DEVICE | OF_RESULT,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, files);
    c->table.texts = keep != NULL;
    const bands b = read_bands(c, levels, quantiles);
    predict(c, files, keep, &b, out);
}
