/* Opens a model's file, of one output or of several. */
#include "open.h"

#include <string.h>

#include "context.h"
#include "failure.h"
#include "many.h"
#include "signals.h"
#include "text.h"

/* Takes the models of all outputs, or that of `output`. */
static void choose_outputs(ctgp *c, model_file *m, bool one)
{
    const char *output = c->output;
    name_choice names = { .asked = output };
    const int64_t all = ct_outputs_count(m->outputs),
                  chosen = output ? ct_outputs_find(m->outputs, output) : 0;
    for (int64_t j = 0; j < all; j++) add_name(&names, ct_outputs_name(m->outputs, j));
    if (chosen < 0)
        fail(c, CODE_USAGE, "%s has no output '%s'; it has %s%s", m->path, output, names.list, names.guess);
    if (one && !output && all > 1)
        fail(c, CODE_USAGE, "%s has several outputs, %s: --output NAME says which", m->path, names.list);
    m->several = all > 1;
    m->joint = ct_outputs_kind_of(m->outputs) == CT_OUTPUTS_COREGIONALISED;
    m->n = output || one ? 1 : all;
    m->gp = take(c, m->n, sizeof *m->gp, "outputs");
    for (int64_t j = 0; j < m->n; j++)
        if (!(m->gp[j] = ct_outputs_model(m->outputs, chosen + j))) fail_device(c);
    const ct_gp *whole = ct_outputs_joint_model(m->outputs);
    m->factor = ct_gp_has_factor(whole ? whole : ct_outputs_model(m->outputs, 0));
}

static void release_outputs(void *outputs) { ct_outputs_free(outputs); }
static void release_gp(void *gp) { ct_gp_free(gp); }

ct_outputs *own_outputs(ctgp *c, ct_outputs *o) { return own(c, o, release_outputs); }
ct_gp *own_gp(ctgp *c, ct_gp *gp) { return own(c, gp, release_gp); }

/* A model over many processes has one output. */
static void open_single(ctgp *c, model_file *m)
{
    ct_gp *gp = ct_gp_load_for(c->device, m->path, many());
    if (!gp && strstr(ct_message(c->device), "ct_outputs_load"))
        fail(c, CODE_UNSUPPORTED, "%s has several outputs, which are for one process: leave mpirun out",
             m->path);
    m->n = 1;
    m->gp = take(c, 1, sizeof *m->gp, "outputs");
    m->gp[0] = own_gp(c, gp);
    m->factor = ct_gp_has_factor(gp);
    if (c->output && strcmp(c->output, ct_gp_output(gp)->name) != 0)
        fail(c, CODE_USAGE, "%s has no output '%s'; it has %s", m->path, c->output, ct_gp_output(gp)->name);
}

model_file model_open(ctgp *c, const char *path, bool one)
{
    model_file m = { .path = path };
    open_device(c);
    if (many()) {
        open_single(c, &m);
    } else {
        m.outputs = own_outputs(c, ct_outputs_load(c->device, path));
        choose_outputs(c, &m, one);
    }
    return m;
}

/* A model that is saved stays, whatever fails after that. */
static void end_saving(ctgp *c, ct_status status, const char *path)
{
    signals_release();
    check(c, status);
    c->kept = path;
}

void save_outputs(ctgp *c, ct_outputs *o, const char *path, const ct_gp_save_options *how)
{
    signals_hold(path);
    end_saving(c, ct_outputs_save(o, path, how), path);
}

void save_gp(ctgp *c, ct_gp *gp, const char *path, const ct_gp_save_options *how)
{
    signals_hold(path);
    end_saving(c, ct_gp_save_with(gp, path, how), path);
}

void note_joint(const model_file *m)
{
    if (m->joint)
        note("%s: a value is predicted from all others, those of the other outputs in its row, too", m->path);
}
