/* One device for all tests of a program: it is opened before the first and must hold nothing after the last.
 */
#ifndef TESTS_GP_DEVICE_H
#define TESTS_GP_DEVICE_H

#include "gp_support.h"

extern ct_device *device;

int open_check_device(void **state); /* the device that check_device() names */
int open_cpu(void **state);
int close_device(void **state);

/* The same, and the path of a new file in `path`, which is removed at the end. */
extern char path[256];
int open_check_device_with_path(void **state);
int open_cpu_with_path(void **state);
int close_with_path(void **state);

/* A tensor of values x, row-major, on the device. */
ct_tensor *tensor(ct_dtype dtype, ct_shape shape, const double *x);

#endif
