/* One tape on the tests' device for all tests of a program. The device must hold nothing after the last. */
#ifndef TESTS_OPS_ONE_TAPE_H
#define TESTS_OPS_ONE_TAPE_H

#include "check.h"

#include <cotangent/ops.h>

extern ct_device *device;
extern ct_tape *tape;

int open_tape(void **state);
int close_tape(void **state);

#endif
