#include <cotangent/cotangent.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    ct_device *device = ct_device_open("cpu");
    ct_tensor *x = ct_full(device, CT_F64, ct_shape2(2, 3), 1.5);
    double value[6] = { 0 };
    int bad = !x || ct_read(x, value, sizeof value) != CT_OK || value[5] != 1.5;
    bad |= strcmp(ct_version(), VERSION) != 0;
    if (bad) fprintf(stderr, "%s\n", ct_message(device));
    ct_release(x);
    ct_device_close(device);
    return bad;
}
