/* Saves and loads models. */
#include <string.h>

#include <cotangent/gp/file.h>

#include "archive.h"
#include "fingerprint.h"
#include "gp/likelihood/factorise.h"
#include "records.h"

ct_status ct_gp_save_with(ct_gp *gp, const char *path, const ct_gp_save_options *options)
{
    if (!gp) return CT_EINVAL;
    if (!path) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_save: the path is NULL");
    if (gp->one_output)
        return ct__one_output_refuse(gp->device, "ct_gp_save", "ct_outputs_save saves all outputs");
    const bool bare = options && options->no_factor;
    ct__gp_enter(gp);
    ct__stream s = { .device = gp->device };
    ct_status status = bare ? CT_OK : ct__gp_factorise(gp);
    if (!status) status = ct__archive_begin(&s, gp->device, ct_comm_rank(gp->options.comm) ? NULL : path);
    if (!status) status = ct__records_write(&s, gp, bare ? CT__RECORDS_BARE : CT__RECORDS_ALL, path);
    return ct__gp_leave(gp, ct__archive_end(&s, status));
}

ct_status ct_gp_save(ct_gp *gp, const char *path) { return ct_gp_save_with(gp, path, NULL); }

/* In a communicator only process 0 reads the checksum, and nobody reads the factor. */
static ct_gp *read_file(ct__stream *s, const char *path, ct_comm *comm)
{
    ct_gp *gp = ct__records_read(s, path, comm);
    const bool all = !ct__stream_left(s) || !ct__comm_is_one(comm);
    if (s->bad || (gp && !all)) ct__archive_refuse(s, path, "the model's contents make no sense");
    if (gp && all && ct_comm_rank(comm)) return gp;
    if (!ct_comm_rank(comm) && ct__archive_undamaged(s, path) && all) return gp;
    ct_gp_free(gp);
    return NULL;
}

static ct_gp *load(ct_device *device, const char *path, ct_comm *comm)
{
    ct__stream s;
    if (ct_device_status(device)) return NULL;
    const char *kind = ct__archive_open(&s, device, path);
    const bool model = kind && !strcmp(kind, "model");
    if (kind && !model)
        ct_device_fail(device, CT_EFORMAT, "%.200s: a file of several outputs: load it with ct_outputs_load",
                       path);
    ct_gp *gp = model ? read_file(&s, path, comm) : NULL;
    ct__archive_close(&s);
    return gp;
}

ct_gp *ct_gp_load(ct_device *device, const char *path) { return load(device, path, NULL); }

ct_gp *ct_gp_load_for(ct_device *device, const char *path, ct_comm *comm)
{
    ct__comm_enter(comm);
    ct_gp *gp = ct__comm_usable(comm, device) ? NULL : load(device, path, comm);
    if (!ct__comm_leave(comm, device, gp ? ct__gp_compare(gp) : ct_last_status(device))) return gp;
    ct_gp_free(gp);
    return NULL;
}
