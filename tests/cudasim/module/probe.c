/* probe [NAME]: opens that device, or the best without NAME, and computes on it. Prints its description and
 * the libraries loaded for it. */
#include <cotangent/cotangent.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    ct_device *device = ct_device_open(argc > 1 ? argv[1] : NULL);
    ct_tensor *x = ct_full(device, CT_F64, ct_shape1(100), 1.5);
    double sum = -1;
    ct_tape *tape = ct_tape_new(device);
    if (tape) sum = ct_item(ct_sum(ct_leaf(tape, x), CT_ALL, false));
    printf("%s, %s, sum %g\n%s\n%s\n", ct_device_name(device), ct_status_name(ct_device_status(device)), sum,
           ct_device_description(device), ct_message(device));
    ct_tape_free(tape);
    ct_release(x);
    ct_device_close(device);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    int loaded = 0;
    while (maps && fgets(line, sizeof line, maps)) loaded |= strstr(line, "libcotangent-cuda") != NULL;
    if (maps) fclose(maps);
    printf(loaded ? "the module is loaded\n" : "no module is loaded\n");
    return 0;
}
