/* Saves models to files. */
#include <stdlib.h>
#include <string.h>

#include "fingerprint.h"
#include "gp/data/columns.h"
#include "gp/data/numbers.h"
#include "gp/likelihood/factorise.h"
#include "layout.h"

ct_status ct__stream_buffer(ct__stream *s)
{
    s->size = CT__STREAM_BUFFER;
    s->data = ct__gp_alloc(s->device, s->size, 1);
    return s->data ? CT_OK : CT_ENOMEM;
}

static void write_model(ct__stream *s, ct_gp *gp, char *kernel)
{
    s->version = ct__stream_small(s, s->version, INT32_MAX);
    ct__model_header(s, &gp->rows.dtype, &gp->rows.n, &gp->rows.d, &gp->options);
    ct__model_middle(s, gp, &kernel);
    ct__model_parameters(s, gp);
    ct__model_body(s, gp);
}

static size_t longest_text(const ct_gp *gp)
{
    const size_t of_noise = gp->noise.column ? ct__columns_longest(gp->noise.column, 1) : 0,
                 longest = ct__columns_longest(gp->rows.column, gp->rows.d + 1);
    return of_noise > longest ? of_noise : longest;
}

/* Calls `write` with the kernel's text, and reports its failures. */
static ct_status serialise(ct__stream *s, ct_gp *gp, const char *what,
                           void (*write)(ct__stream *, ct_gp *, char *))
{
    size_t length = ct_kernel_print(gp->kernel, false, NULL, 0) + 1;
    char *kernel = ct__gp_alloc(gp->device, length, 1);
    ct_status status = kernel ? CT_OK : CT_ENOMEM;
    if (kernel) ct_kernel_print(gp->kernel, false, kernel, length);
    if (!status && longest_text(gp) > CT__STREAM_TEXT)
        status = ct_device_fail(gp->device, CT_EINVAL, "%.200s: a name or a level is longer than %d bytes",
                                what, CT__STREAM_TEXT);
    if (!status) write(s, gp, kernel);
    free(kernel);
    if (s->no_memory)
        return ct_device_fail(gp->device, CT_ENOMEM, "%.200s: no memory for rows of the factor", what);
    return status || !s->bad ? status : ct_last_status(gp->device);
}

ct_status ct__model_write(ct__stream *s, ct_gp *gp, bool bare, const char *what)
{
    s->version = ct__model_version(gp, bare);
    return serialise(s, gp, what, write_model);
}

ct_status ct__stream_end(ct__stream *s)
{
    ct__stream_seal(s);
    ct__stream_flush(s);
    return s->bad ? ct_last_status(s->device) : CT_OK;
}

/* Everything that a fit depends on except its options. */
static void write_data(ct__stream *s, ct_gp *gp, char *kernel)
{
    ct__model_header(s, &gp->rows.dtype, &gp->rows.n, &gp->rows.d, &gp->options);
    ct__model_middle(s, gp, &kernel);
    ct__model_parameters(s, gp);
    ct__model_data(s, gp);
    if (gp->likelihood.outputs)
        ct__stream_tensor(s, &gp->likelihood.outputs, gp->rows.dtype,
                          ct_tensor_shape(gp->likelihood.outputs));
    ct__stream_flush(s);
}

ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print)
{
    ct__stream s = { .device = gp->device };
    ct_status status = ct__stream_buffer(&s);
    if (!status) status = serialise(&s, gp, "ct_gp_fit", write_data);
    *print = s.crc;
    free(s.data);
    return status;
}

ct_status ct__gp_compare(ct_gp *gp)
{
    uint64_t print = 0;
    if (ct__group_is_one(gp->options.group)) return CT_OK;
    ct_status s = ct__gp_fingerprint(gp, &print);
    if (s) return s;
    return ct__group_same(gp->options.group, gp->device, &print, sizeof print,
                          "the data, kernels or options");
}

ct_status ct_gp_save_with(ct_gp *gp, const char *path, const ct_gp_save_options *options)
{
    if (!gp) return CT_EINVAL;
    if (!path) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_save: the path is NULL");
    if (gp->lens) return ct__lens_refuse(gp->device, "ct_gp_save", "ct_outputs_save saves all outputs");
    const bool bare = options && options->no_factor;
    ct__gp_enter(gp);
    ct__stream s = { .device = gp->device };
    ct_status status = bare ? CT_OK : ct__gp_factorise(gp);
    if (!status && ct_group_rank(gp->options.group) == 0 && !(s.to = ct_file_writer_open(gp->device, path)))
        status = ct_last_status(gp->device);
    if (!status) status = ct__stream_buffer(&s);
    if (!status) {
        ct__stream_magic(&s, 'P');
        status = ct__model_write(&s, gp, bare, path);
    }
    if (!status) status = ct__stream_end(&s);
    free(s.data);
    return ct__gp_leave(gp, ct_file_writer_end(s.to, status));
}

ct_status ct_gp_save(ct_gp *gp, const char *path) { return ct_gp_save_with(gp, path, NULL); }
