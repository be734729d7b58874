/* The note of a failed factorisation, on devices that compute asynchronously. */
#include "internal.h"

static ct_view view_of(void *note)
{
    return (ct_view){ .data = note, .dtype = CT_I64, .ndim = 1, .dim = { 3 }, .stride = { 1 } };
}

int64_t *ct__failure_note(ct_device *dev, ct_failure *failure)
{
    if (failure->note) return failure->note;
    size_t bytes = 3 * sizeof *failure->note;
    int64_t *note = ct__pool_get(dev, &bytes);
    ct_view view = view_of(note);
    if (note && dev->backend->fill(dev, 0, &view)) {
        ct__pool_put(dev, note, bytes);
        return NULL;
    }
    failure->note_bytes = bytes;
    failure->note_pool = ct__pool_now(dev);
    return failure->note = note;
}

ct_status ct__failure_settle(ct_device *dev, ct_failure *failure)
{
    if (!failure->note || failure->set) return CT_OK;
    int64_t note[3];
    ct_status status = dev->backend->download(dev, note, failure->note, sizeof note);
    if (status || !note[0]) return status;
    failure->set = true;
    failure->position = note[0] - 1;
    failure->member = note[1];
    failure->detail = note[2];
    return CT_OK;
}

ct_status ct__failure_clear(ct_device *dev, ct_failure *failure)
{
    ct_view view = view_of(failure->note);
    const bool used = failure->note && failure->call;
    *failure = (ct_failure){ .note = failure->note,
                             .note_bytes = failure->note_bytes,
                             .note_pool = failure->note_pool };
    return used ? dev->backend->fill(dev, 0, &view) : CT_OK;
}

void ct__failure_free(ct_device *dev, ct_failure *failure)
{
    if (failure->note) ct__pool_return(dev, failure->note_pool, failure->note, failure->note_bytes);
    failure->note = NULL;
}
