/* Checks of options that are numbers. */
#ifndef CT_GP_OPTIONS_H
#define CT_GP_OPTIONS_H

#include <cotangent/device.h>

typedef struct ct__option {
    const char *name;
    double value, least, most;
} ct__option;

/* CT_EINVAL if an option is outside its range or NaN; the message names it, and begins with `who`. */
ct_status ct__options_check(ct_device *device, const char *who, const ct__option *o, size_t count);

#endif
