#include "gp_device.h"

ct_device *device;

static int open_device(const char *name)
{
    device = ct_device_open(name);
    return ct_device_status(device) != CT_OK;
}

int open_check_device(void **state)
{
    (void)state;
    return open_device(check_device());
}

int open_cpu(void **state)
{
    (void)state;
    return open_device("cpu");
}

int close_device(void **state)
{
    (void)state;
    assert_true(ct_memory(device).bytes_now == 0);
    ct_device_close(device);
    return 0;
}

char path[256];

int open_check_device_with_path(void **state)
{
    gp_temporary(path);
    return open_check_device(state);
}

int open_cpu_with_path(void **state)
{
    gp_temporary(path);
    return open_cpu(state);
}

int close_with_path(void **state)
{
    remove(path);
    return close_device(state);
}

ct_tensor *tensor(ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *f64 = assert_tensor(ct_from(device, CT_F64, shape, x), device);
    ct_tensor *t = assert_tensor(ct_tensor_cast(f64, dtype), device);
    ct_release(f64);
    return t;
}
