/* ctgp info: describes a model and how far its numbers can be trusted. */
#include "commands.h"

#include <limits.h>
#include <stdio.h>

#include "context.h"
#include "frame.h"
#include "info_result.h"
#include "learned.h"
#include "names.h"
#include "open.h"
#include "options.h"
#include "result.h"
#include "source.h"
#include "text.h"

/* What a command line asks for. */
typedef struct request {
    const char *files[MOST_FILES]; /* the model, the table or NULL */
    bool sensitive;
    long seed;
} request;

/* Describes one output. `text`: the table that the model learned, or NULL. */
static void describe(writer *w, ct_gp *gp, bool factor, const request *r, source *text)
{
    const owned *before = w->c->owned;
    const uint64_t seed = (uint64_t)r->seed;
    const frame table = text ? frame_learned(w->c, gp, text) : (frame){ 0 };
    write_info(w, gp, factor, text ? &table : NULL, r->sensitive ? &seed : NULL);
    give_back(w->c, before);
}

/* Describes the outputs one after the other. */
static void describe_all(ctgp *c, const request *r)
{
    const model_file m = model_open(c, r->files[0], false);
    const char *kind = outputs_name(ct_outputs_kind_of(m.outputs));
    source *table = r->files[1] ? source_open(c, r->files[1]) : NULL;
    writer w = result_begin(c, stdout);
    if (m.several && !w.json)
        say(w.to, "outputs      %lld, %s\n", (long long)ct_outputs_count(m.outputs), kind);
    if (m.several) begin_outputs(&w, kind);
    for (int64_t k = 0; k < m.n; k++) {
        if (m.several) WRITE(&w, field_text("\n", ""));
        describe(&w, m.gp[k], m.factor, r, table);
    }
    if (m.several) end_outputs(&w);
    result_end(&w);
}

void run_info(ctgp *c, int argc, char **argv)
{
    request r = { .seed = 0 };
    const option options[] = {
        { "--sensitivity", NULL, "Sobol indices of the features, and what leave-one-out loses without each",
          .flag = &r.sensitive },
        { "--seed", "S", "seed of the indices' sample; 0 unless given", .whole = &r.seed, .most = LONG_MAX },
    };
    const command usage = {
        .name = "info",
        .files = { "MODEL", "TRAIN.csv" },
        .needed = 1,
        .summary =
            "Describes a model: columns, kernel, parameters, how it was fitted, how well it is conditioned.",
        .details =
            "With TRAIN.csv, the table that the model learned, outliers are named by their lines there.",
        .shared = OF_TABLES | OF_OUTPUTS | OF_RESULT,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.files);
    describe_all(c, &r);
}
