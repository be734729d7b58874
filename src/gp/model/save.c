/* Models to files. */
#include <stdlib.h>
#include <string.h>

#include "layout.h"

static void write_all(ct__stream *s, ct_gp *gp, char *kernel)
{
    ct__model_begin(s);
    ct__model_header(s, &gp->dtype, &gp->n, &gp->d, &gp->options);
    ct__model_middle(s, gp, &kernel);
    ct__model_parameters(s, gp);
    ct__model_body(s, gp);
    ct__stream_seal(s);
    ct__stream_flush(s);
}

/* Lets `write` write, some bytes at a time. */
static ct_status serialise(ct__stream *s, ct_gp *gp, const char *what,
                           void (*write)(ct__stream *, ct_gp *, char *))
{
    size_t length = ct_kernel_print(gp->kernel, false, NULL, 0) + 1;
    char *kernel = ct__gp_alloc(gp->device, length, 1);
    s->size = CT__STREAM_BUFFER;
    s->data = ct__gp_alloc(gp->device, s->size, 1);
    ct_status status = kernel && s->data ? CT_OK : CT_ENOMEM;
    if (kernel) ct_kernel_print(gp->kernel, false, kernel, length);
    if (!status && ct__gp_longest_text(gp) > CT__STREAM_TEXT)
        status = ct_device_fail(gp->device, CT_EINVAL, "%.200s: a name or a level is longer than %d bytes",
                                what, CT__STREAM_TEXT);
    if (!status) write(s, gp, kernel);
    free(kernel);
    free(s->data);
    if (s->no_memory)
        return ct_device_fail(gp->device, CT_ENOMEM, "%.200s: no memory for rows of the factor", what);
    return status || !s->bad ? status : ct_last_status(gp->device);
}

/* All that a fit depends on but its options. */
static void write_data(ct__stream *s, ct_gp *gp, char *kernel)
{
    ct__model_header(s, &gp->dtype, &gp->n, &gp->d, &gp->options);
    ct__model_middle(s, gp, &kernel);
    ct__model_parameters(s, gp);
    ct__model_data(s, gp);
    ct__stream_flush(s);
}

ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print)
{
    ct__stream s = { .device = gp->device };
    ct_status status = serialise(&s, gp, "ct_gp_fit", write_data);
    *print = s.crc;
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
    const bool bare = options && options->no_factor;
    ct__gp_enter(gp);
    ct__stream s = { .device = gp->device, .version = ct__model_version(gp, bare) };
    ct_status status = bare ? CT_OK : ct__gp_factorise(gp);
    if (!status && ct_group_rank(gp->options.group) == 0 && !(s.to = ct_file_writer_open(gp->device, path)))
        status = ct_last_status(gp->device);
    if (!status) status = serialise(&s, gp, path, write_all);
    return ct__gp_leave(gp, ct_file_writer_end(s.to, status));
}

ct_status ct_gp_save(ct_gp *gp, const char *path) { return ct_gp_save_with(gp, path, NULL); }
