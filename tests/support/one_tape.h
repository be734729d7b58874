/* One tape on the tests' device: for all tests of a program, or for each anew. The device must hold nothing
 * at the end. */
#ifndef TESTS_ONE_TAPE_H
#define TESTS_ONE_TAPE_H

#include "check.h"

#include <cotangent/ops.h>

static ct_device *device;
static ct_tape *tape;

static inline int open_tape(void **state)
{
    (void)state;
    device = ct_device_open(check_device());
    tape = ct_tape_new(device);
    return tape == NULL;
}

static inline int close_tape(void **state)
{
    (void)state;
    ct_tape_free(tape);
    uint64_t held = ct_memory(device).bytes_now;
    ct_device_close(device);
    return held != 0;
}

#endif
