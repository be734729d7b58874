/* libFuzzer: any bytes as a .npy file. A tensor that comes out is no larger than the file allows, and saves
 * and loads to the same bytes; a refusal says why, in one line. */
#define _GNU_SOURCE
#include <cotangent/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ct_device *dev;
    static char in[64], out[64];
    static int file = -1;
    if (!dev) {
        dev = ct_device_open("cpu");
        file = memfd_create("fuzz", 0);
        snprintf(in, sizeof in, "/proc/self/fd/%d", file);
        snprintf(out, sizeof out, "/dev/shm/cotangent-fuzz-%ld.npy", (long)getpid());
    }
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    ct_tensor *t = ct_npy_load(dev, in);
    if (!t) {
        if (!*ct_message(dev) || strchr(ct_message(dev), '\n') || !ct_last_status(dev)) __builtin_trap();
        return 0;
    }
    size_t bytes = (size_t)ct_tensor_count(t) * ct_dtype_size(ct_tensor_dtype(t));
    if (bytes > 8 * size || !ct_tensor_is_contiguous(t)) __builtin_trap();
    if (size % 16 == 0) { /* saving waits for the file system, so not every input is saved */
        if (ct_npy_save(t, out)) __builtin_trap();
        ct_tensor *back = ct_npy_load(dev, out);
        if (!back || !ct_shape_equal(ct_tensor_shape(back), ct_tensor_shape(t))) __builtin_trap();
        if (bytes && memcmp(ct_tensor_data(back), ct_tensor_data(t), bytes)) __builtin_trap();
        ct_release(back);
        unlink(out);
    }
    ct_release(t);
    return 0;
}
