/* The note of a failed factorisation, on devices that compute asynchronously. */
#include "internal.h"

int64_t *ct__failure_note(ct_device *dev, ct_failure *failure)
{
    if (!failure->note) failure->note = ct_zeros(dev, CT_I64, ct_shape1(3));
    return failure->note ? failure->note->view.data : NULL;
}

ct_status ct__failure_settle(ct_device *dev, ct_failure *failure)
{
    if (!failure->note || failure->set) return CT_OK;
    int64_t note[3];
    ct_status status = dev->backend->download(dev, note, failure->note->view.data, sizeof note);
    if (status || !note[0]) return status;
    failure->set = true;
    failure->position = note[0] - 1;
    failure->member = note[1];
    failure->detail = note[2];
    return CT_OK;
}

ct_status ct__failure_clear(ct_device *dev, ct_failure *failure)
{
    const bool used = failure->note && failure->call;
    *failure = (ct_failure){ .note = failure->note };
    return used ? dev->backend->fill(dev, &failure->note->view, 0) : CT_OK;
}
