#include "options.h"

ct_status ct__options_check(ct_device *device, const char *who, const ct__option *o, size_t count)
{
    for (const ct__option *end = o + count; o < end; o++)
        if (!(o->value >= o->least && o->value <= o->most))
            return ct_device_fail(device, CT_EINVAL, "%s: the option %s is %g, it must be %g to %g", who,
                                  o->name, o->value, o->least, o->most);
    return CT_OK;
}
