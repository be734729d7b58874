/* ctgp info: describes a model and how far its numbers can be trusted. */
#include "info.h"

#include <limits.h>

/* What a command line asks for. */
typedef struct telling {
    const char *table, *features, *json;
    uint64_t seed;
    ct_csv_options how;
} telling;

/* Describes one output. `text`: the table, if there is one. */
static void tell(ctgp *c, ct_gp *gp, bool factor, const telling *w, source *text, json *j)
{
    const owned *before = c->owned;
    ct_gp_numerics q;
    frame table = { 0 };
    facts of = { .gp = gp, .factor = factor, .nlml = ct_gp_nlml_value(gp), .sensitive = w->features };
    const ct_status inspected = ct_gp_inspect(gp, &q);
    of.numerics = inspected ? NULL : &q;
    if (inspected == CT_ENOMEM) fail_device(c, ct_gp_device(gp), NULL);
    read_trend(c, gp, &of.t);
    read_ranges(c, gp, &of.range);
    if (w->table) frame_learned(c, &table, gp, text, &w->how);
    outliers_find(c, &of.far, gp, w->table ? &table : NULL);
    if (w->features) sensitivity_make(c, &of.each, gp, w->seed);
    if (!going(c)) return;
    if (w->json)
        info_json(&of, j);
    else
        info_print(&of);
    give_back(c, before);
}

/* Describes the outputs one after the other, or as "outputs": [...] */
static void tell_all(ctgp *c, const model_file *m, const telling *w)
{
    if (!going(c)) return;
    const char *kind = outputs_name(ct_outputs_kind_of(m->outputs));
    source text = { 0 };
    json j = { .to = stdout };
    if (w->table) source_open(c, &text, m->device, w->table);
    if (going(c) && m->several && w->json) json_outputs(&j, kind);
    if (going(c) && m->several && !w->json)
        printf("outputs      %lld, %s\n", (long long)ct_outputs_count(m->outputs), kind);
    for (int64_t k = 0; k < m->n && going(c); k++) {
        if (m->several && !w->json) putchar('\n');
        tell(c, m->gp[k], m->factor, w, &text, &j);
    }
    if (going(c) && w->json) json_end(&j, m->several);
    source_close(&text);
}

void run_info(ctgp *c, int argc, char **argv)
{
    const char *as_json = NULL, *paths[2], *features = NULL, *seed_text = NULL, *output = NULL;
    dialect d = { 0 };
    telling t = { 0 };
    long seed = 0;
    const option options[] = {
        OUTPUT_OPTION(output),
        { "--sensitivity", NULL, "Sobol indices of the features, and what leave-one-out loses without each",
          &features },
        { "--seed", "S", "seed of the indices' sample; 0 unless given", &seed_text },
        DIALECT_OPTIONS(d),
        { "--json", NULL, "as one line of JSON", &as_json },
    };
    const command usage = {
        .name = "info",
        .arguments = "MODEL [TRAIN.csv]",
        .summary =
            "Describes a model: columns, kernel, parameters, how it was fitted, how well it is conditioned.",
        .details =
            "With TRAIN.csv, the table that the model learned, outliers are named by their lines there.",
        .n_positional = 1,
        .n_optional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, paths);
    parse_dialect(c, &d, &t.how);
    parse_whole(c, "--seed", seed_text, 0, LONG_MAX, &seed);
    t.table = paths[1], t.features = features, t.seed = (uint64_t)seed, t.json = as_json;
    model_file m;
    model_open(c, &m, NULL, paths[0], output, false);
    tell_all(c, &m, &t);
}
