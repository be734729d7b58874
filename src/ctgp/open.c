/* Opens a model's file, of one output or of several. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* Takes the models of all outputs, or that of `output`. */
static void choose_outputs(ctgp *c, model_file *m, const char *output, bool one)
{
    if (!going(c)) return;
    char names[512] = "";
    const int64_t all = ct_outputs_count(m->outputs),
                  chosen = output ? ct_outputs_find(m->outputs, output) : 0;
    m->several = all > 1;
    m->joint = ct_outputs_kind_of(m->outputs) == CT_OUTPUTS_JOINT;
    m->factor = ct_gp_has_factor(ct_outputs_whole(m->outputs) ? ct_outputs_whole(m->outputs)
                                                              : ct_outputs_model(m->outputs, 0));
    for (int64_t j = 0; j < all; j++) add_name(names, sizeof names, ct_outputs_name(m->outputs, j));
    if (chosen < 0) fail(c, CODE_USAGE, "%s has no output '%s'; it has %s", m->path, output, names);
    if (one && !output && all > 1)
        fail(c, CODE_USAGE, "%s has several outputs, %s: --output NAME says which", m->path, names);
    m->n = output || one ? 1 : all;
    m->gp = malloc((size_t)m->n * sizeof *m->gp);
    if (!m->gp) fail(c, CODE_MEMORY, "no memory for %lld outputs", (long long)m->n);
    for (int64_t j = 0; j < m->n && going(c); j++)
        if (!(m->gp[j] = ct_outputs_model(m->outputs, chosen + j))) fail_device(c, m->device, NULL);
}

void model_open(ctgp *c, model_file *m, const char *device_name, const char *path, const char *output,
                bool one)
{
    if (!going(c)) return;
    *m = (model_file){ .path = path, .n = 1 };
    many_device(c, &device_name);
    if (!going(c)) return;
    m->device = ct_device_open(device_name);
    if (ct_device_status(m->device)) {
        fail_device(c, m->device, NULL);
        return;
    }
    if (many())
        m->single = ct_gp_load_for(m->device, path, many());
    else
        m->outputs = ct_outputs_load(m->device, path);
    if (many() && !m->single && strstr(ct_message(m->device), "ct_outputs_load")) {
        fail(c, CODE_UNSUPPORTED, "%s has several outputs, which are for one process: leave mpirun out",
             path);
        return;
    }
    if (!m->single && !m->outputs) {
        fail_device(c, m->device, NULL);
        return;
    }
    if (m->outputs) {
        choose_outputs(c, m, output, one);
        return;
    }
    m->gp = &m->single;
    m->factor = ct_gp_has_factor(m->single);
    if (!output || !strcmp(output, ct_gp_output(m->single)->name)) return;
    fail(c, CODE_USAGE, "%s has no output '%s'; it has %s", path, output, ct_gp_output(m->single)->name);
}

void tell_joint(const model_file *m)
{
    if (m->joint)
        note("%s: a value is predicted from all others, those of the other outputs in its row, too", m->path);
}

void model_close(model_file *m)
{
    if (m->outputs) free(m->gp);
    ct_outputs_free(m->outputs);
    ct_gp_free(m->single);
    ct_device_close(m->device);
}
