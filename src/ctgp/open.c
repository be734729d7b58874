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
    m->joint = ct_outputs_kind_of(m->outputs) == CT_OUTPUTS_COREGIONALISED;
    m->factor = ct_gp_has_factor(ct_outputs_joint_model(m->outputs) ? ct_outputs_joint_model(m->outputs)
                                                                    : ct_outputs_model(m->outputs, 0));
    for (int64_t j = 0; j < all; j++) add_name(names, sizeof names, ct_outputs_name(m->outputs, j));
    if (chosen < 0) fail(c, CODE_USAGE, "%s has no output '%s'; it has %s", m->path, output, names);
    if (one && !output && all > 1)
        fail(c, CODE_USAGE, "%s has several outputs, %s: --output NAME says which", m->path, names);
    m->n = output || one ? 1 : all;
    m->gp = take(c, m->n, sizeof *m->gp, "outputs");
    for (int64_t j = 0; j < m->n && going(c); j++)
        if (!(m->gp[j] = ct_outputs_model(m->outputs, chosen + j))) fail_device(c, m->device, NULL);
}

static void release_device(void *device) { ct_device_close(device); }
static void release_outputs(void *outputs) { ct_outputs_free(outputs); }
static void release_gp(void *gp) { ct_gp_free(gp); }

ct_device *open_device(ctgp *c, const char *name)
{
    ct_device *device = going(c) ? own(c, ct_device_open(name), release_device) : NULL;
    if (device && ct_device_status(device)) fail_device(c, device, NULL);
    return device;
}

void model_open(ctgp *c, model_file *m, const char *device_name, const char *path, const char *output,
                bool one)
{
    *m = (model_file){ .path = path, .n = 1 };
    many_device(c, &device_name);
    m->device = open_device(c, device_name);
    if (!going(c)) return;
    if (many())
        m->single = ct_gp_load_for(m->device, path, many());
    else
        m->outputs = ct_outputs_load(m->device, path);
    if (many() && !m->single && strstr(ct_message(m->device), "ct_outputs_load"))
        fail(c, CODE_UNSUPPORTED, "%s has several outputs, which are for one process: leave mpirun out",
             path);
    if (!m->single && !m->outputs) fail_device(c, m->device, NULL);
    if (!going(c)) return;
    if (m->outputs) m->outputs = own(c, m->outputs, release_outputs);
    if (m->single) m->single = own(c, m->single, release_gp);
    if (m->outputs) choose_outputs(c, m, output, one);
    if (!m->single) return;
    m->gp = &m->single;
    m->factor = ct_gp_has_factor(m->single);
    if (output && strcmp(output, ct_gp_output(m->single)->name) != 0)
        fail(c, CODE_USAGE, "%s has no output '%s'; it has %s", path, output, ct_gp_output(m->single)->name);
}

void tell_joint(const model_file *m)
{
    if (m->joint)
        note("%s: a value is predicted from all others, those of the other outputs in its row, too", m->path);
}
