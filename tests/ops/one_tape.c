#include "one_tape.h"

ct_device *device;
ct_tape *tape;

int open_tape(void **state)
{
    (void)state;
    device = ct_device_open(check_device());
    tape = ct_tape_new(device);
    return tape == NULL;
}

int close_tape(void **state)
{
    (void)state;
    ct_tape_free(tape);
    uint64_t held = ct_memory(device).bytes_now;
    ct_device_close(device);
    return held != 0;
}
