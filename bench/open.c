/* The time that opening and closing a device takes: `open`. The first opening loads the CUDA backend. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { TIMES = 5 };

static void say(int number, double opened, double closed, const char *where)
{
    printf("bench=open case=%d who=cotangent pass=open seconds=%.4g close_seconds=%.4g%s\n", number, opened,
           closed, where);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench b;
    double start = bench_now();
    if (bench_open(&b, &argc, argv)) return 1;
    double opened = bench_now();
    char name[16];
    snprintf(name, sizeof name, "%s", ct_device_name(b.dev));
    bench_close(&b);
    say(1, opened - start, bench_now() - opened, b.where);
    for (int i = 2; i <= TIMES; i++) {
        start = bench_now();
        ct_device *dev = ct_device_open(name);
        opened = bench_now();
        if (ct_device_status(dev)) {
            fprintf(stderr, "open: %s\n", ct_message(dev));
            return ct_device_close(dev), 1;
        }
        ct_device_close(dev);
        say(i, opened - start, bench_now() - opened, b.where);
    }
    return 0;
}
