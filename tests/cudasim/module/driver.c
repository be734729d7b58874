/* A driver with as many GPUs as the environment says, or one that does not start. */
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return number("DRIVER_ERROR", 0);
}

int cuDeviceGetCount(int *count)
{
    *count = number("DRIVER_GPUS", 1);
    return 0;
}
