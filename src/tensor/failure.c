/* The note of a failed factorisation, on devices that compute asynchronously. */
#include "internal.h"

int64_t *ct__failure_note(ct_device *dev, ct_failure *failure)
{
    if (!failure->note) failure->note = ct_zeros(dev, CT_I64, ct_shape1(3));
    return failure->note ? failure->note->view.data : NULL;
}

void ct__failure_set(ct_failure *failure, int64_t member, int64_t detail, const char *what, const char *why)
{
    failure->set = true;
    failure->member = member;
    failure->detail = detail;
    failure->what = what;
    failure->why = why;
}

ct_status ct__failure_settle(ct_device *dev, ct_failure *failure)
{
    if (!failure->note || failure->set) return CT_OK;
    int64_t note[3];
    ct_status status = dev->backend->download(dev, note, failure->note->view.data, sizeof note);
    if (status || !note[0]) return status;
    ct__failure_set(failure, note[1], note[2], failure->what, failure->why);
    failure->position = note[0] - 1;
    return CT_OK;
}

ct_status ct__failure_clear(ct_device *dev, ct_failure *failure)
{
    const bool used = failure->note && failure->call;
    *failure = (ct_failure){ .note = failure->note };
    return used ? dev->backend->fill(dev, &failure->note->view, 0) : CT_OK;
}
