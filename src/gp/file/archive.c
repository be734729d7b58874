#include "archive.h"

#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"

enum { VERSION = 1 };
static const char magic[8] = { '\211', 'C', 'T', 'G', 'P', '\r', '\n', '\032' };

/* -- writing --------------------------------------------------------------------------------------------- */

ct_status ct__archive_begin(ct__stream *s, ct_device *device, const char *path)
{
    char first[sizeof magic];
    *s = (ct__stream){ .device = device, .size = CT__STREAM_BUFFER };
    if (path && !(s->to = ct_file_writer_open(device, path))) return ct_last_status(device);
    if (!(s->data = ct__gp_alloc(device, s->size, 1))) return CT_ENOMEM;
    memcpy(first, magic, sizeof magic);
    ct__stream_bytes(s, first, sizeof first);
    ct__stream_small(s, VERSION, INT32_MAX);
    return CT_OK;
}

ct_status ct__archive_end(ct__stream *s, ct_status status)
{
    if (!status) {
        ct__stream_end(s);
        status = s->bad ? ct_last_status(s->device) : CT_OK;
    }
    free(s->data);
    return ct_file_writer_end(s->to, status);
}

/* -- reading --------------------------------------------------------------------------------------------- */

void ct__archive_refuse(const ct__stream *s, const char *path, const char *why)
{
    if (!s->broken && !s->no_memory) ct_device_fail(s->device, CT_EFORMAT, "%.200s: %s", path, why);
}

/* The reason why the file's beginning is refused; NULL: it is not. */
static const char *fault(ct__stream *s)
{
    char first[sizeof magic];
    ct__stream_bytes(s, first, sizeof first);
    const bool outputs = !s->bad && first[4] == 'O'; /* a development version's mark of several outputs */
    if (outputs) first[4] = 'P';
    if (s->bad || memcmp(first, magic, sizeof magic) != 0) return "not a cotangent model";
    const int version = ct__stream_small(s, 0, INT32_MAX);
    if (s->bad) return "not a cotangent model";
    return outputs || version != VERSION
               ? "written by another version of this library, which this one does not read: fit it again"
               : NULL;
}

const char *ct__archive_open(ct__stream *s, ct_device *device, const char *path)
{
    char *word = NULL;
    *s = (ct__stream){ .device = device, .reading = true };
    if (!path) ct_device_fail(device, CT_EINVAL, "ct_gp_load: the path is NULL");
    if (path) s->from = ct_file_reader_open(device, path);
    if (s->from) s->data = ct__gp_alloc(device, CT__STREAM_BUFFER, 1);
    if (!s->data) return NULL;
    const uint64_t size = ct_file_reader_size(s->from);
    s->left = size > CT__STREAM_SEAL ? size - CT__STREAM_SEAL : 0;
    const char *why = fault(s), *kind = NULL;
    if (!why) ct__stream_text(s, &word);
    if (!why && !s->bad)
        kind = !strcmp(word, "model") ? "model" : !strcmp(word, "outputs") ? "outputs" : NULL;
    if (!kind) ct__archive_refuse(s, path, why ? why : "the model's first record makes no sense");
    free(word);
    return kind;
}

void ct__archive_close(ct__stream *s)
{
    ct_file_reader_close(s->from);
    free(s->data);
}

bool ct__archive_undamaged(ct__stream *s, const char *path)
{
    ct__stream_end(s);
    if (s->bad && !s->broken)
        ct_device_fail(s->device, CT_EFORMAT,
                       "%.200s: the model is damaged or cut short: its checksum is wrong", path);
    return !s->bad;
}
