/* A device's messages: its last error, and lines for a log. */
#include "internal.h"

#include <stdio.h>

const char *ct_message(const ct_device *dev) { return dev ? dev->message : "the device is NULL"; }
ct_status ct_last_status(const ct_device *dev) { return dev ? dev->last_status : CT_EINVAL; }

/* A device without references is the static one of device.c, which is never written to. */
ct_status ct__fail(ct_device *dev, ct_status status, const char *format, ...)
{
    if (!dev || !dev->refs) return status;
    va_list args;
    va_start(args, format);
    if (!format) format = "ct_device_fail: the format is NULL";
    ct__message(dev->message, sizeof dev->message, format, args);
    va_end(args);
    return dev->last_status = status;
}

/* The same under its public name */
ct_status ct_device_fail(ct_device *dev, ct_status status, const char *format, ...)
    __attribute__((alias("ct__fail")));

void ct__remark(ct_device *dev, const char *format, ...)
{
    char *end = dev->description + strlen(dev->description), line[sizeof dev->description];
    va_list args;
    va_start(args, format);
    ct__vprint(line, sizeof line, format, args);
    va_end(args);
    snprintf(end, sizeof dev->description - (size_t)(end - dev->description), "; %s", line);
    if (dev->log) dev->log(dev->log_context, line);
}

bool ct__may_wait(ct_device *dev, const char *what)
{
    if (!dev->in_step) return true;
    if (dev->in_step == CT__IN_STEP)
        ct__fail(dev, CT_EUNSUPPORTED,
                 "%s waits for the device, which is not possible inside a step: read after ct_step_replay",
                 what);
    dev->in_step = CT__STEP_REFUSED;
    return false;
}
