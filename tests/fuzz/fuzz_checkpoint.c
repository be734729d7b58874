/* libFuzzer: any bytes, and changes to the checkpoint of a fit, with its checksums corrected or not. The fit
 * that goes on from it ends with finite numbers, or refuses it in one line; so does the one after it. */
#define _GNU_SOURCE
#include <cotangent/gp.h>

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "gp/data/crc64.h"

enum { ROWS = 6, PARAMETERS = 3, HEADER = 28, RECORD = 52 + 16 * PARAMETERS, LARGEST = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ct_device *device(void)
{
    static ct_device *dev;
    if (!dev) dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    return dev;
}

/* Fits a model with the file of that descriptor. */
static ct_status fit(int descriptor)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ct_tensor *X = ct_rand_uniform(device(), CT_F64, ct_shape2(ROWS, 1), 1, 0);
    ct_tensor *y = ct_rand_normal(device(), CT_F64, ct_shape1(ROWS), 1, 1);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("rbf"), NULL);
    MUST(gp && ct_gp_params(gp) == PARAMETERS);
    ct_status status = ct_gp_fit(
        gp, &(ct_fit_options){ .restarts = CT_FIT_NO_RESTARTS, .max_iterations = 5, .checkpoint = path });
    for (int64_t i = 0; i < ct_gp_params(gp); i++) MUST(isfinite(ct_gp_param(gp, i)->value));
    ct_fit_report report = ct_gp_report(gp);
    MUST(status || (isfinite(report.objective) && report.evaluations <= 60));
    MUST(!status || (*ct_message(device()) && !strchr(ct_message(device()), '\n')));
    MUST(!status || status == CT_ENUMERIC || status == CT_EFORMAT || status == CT_EINVAL);
    ct_gp_free(gp);
    ct_release(X), ct_release(y);
    MUST(ct_memory(device()).bytes_now == 0);
    return status;
}

static void put(int descriptor, const void *data, size_t size)
{
    MUST(!ftruncate(descriptor, 0) && pwrite(descriptor, data, size, 0) == (ssize_t)size);
}

/* The whole checkpoint of the fit into file[LARGEST]; its size. Its head is found in the file that the fit
 * makes. */
static size_t whole(uint8_t *file)
{
    static uint8_t kept[LARGEST];
    static size_t size;
    if (!size) {
        char path[64];
        snprintf(path, sizeof path, "/dev/shm/cotangent-fuzz-%ld.log", (long)getpid());
        ct_tensor *X = ct_rand_uniform(device(), CT_F64, ct_shape2(ROWS, 1), 1, 0);
        ct_tensor *y = ct_rand_normal(device(), CT_F64, ct_shape1(ROWS), 1, 1);
        ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("rbf"), NULL);
        MUST(!ct_gp_fit(gp, &(ct_fit_options){
                                .restarts = CT_FIT_NO_RESTARTS, .max_iterations = 5, .checkpoint = path }));
        ct_gp_free(gp);
        ct_release(X), ct_release(y);
        FILE *f = fopen(path, "r");
        MUST(f);
        size = fread(kept, 1, sizeof kept, f);
        fclose(f);
        unlink(path);
        MUST(size > HEADER + RECORD && (size - HEADER) % RECORD == 0);
    }
    memcpy(file, kept, size);
    return size;
}

static void seal(uint8_t *record, size_t bytes)
{
    uint64_t crc = ct__crc64(record, bytes - 8);
    memcpy(record + bytes - 8, &crc, 8);
}

/* Changes what the bytes say. */
static size_t change(bytes *b, uint8_t *file, size_t size)
{
    static const double odd[] = { 0, -1, 1, 1e300, -1e300, 5e-324, INFINITY, -INFINITY, NAN };
    while (more(b)) {
        int what = below(b, 6), k = below(b, (int)((size - HEADER) / RECORD));
        uint8_t *record = file + HEADER + k * RECORD, *at = record + below(b, RECORD - 16);
        uint64_t value = word(b);
        if (what == 0) at[0] = (uint8_t)value;
        if (what == 1) memcpy(at, &value, 8);
        if (what == 2) memcpy(record + 4 + 8 * (value % 11), &odd[value / 16 % 9], 8);
        if (what == 3) memcpy(file + value % HEADER, record, 1);
        if (what == 4) size -= value % (size - HEADER - RECORD + 1);
        if (what == 5) memmove(record, file + HEADER + value % ((size - HEADER) / RECORD) * RECORD, RECORD);
        if (what == 1 || what == 2) seal(record, RECORD);
        if (what == 3 && value & 64) seal(file, HEADER);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[LARGEST];
    static int descriptor = -1;
    if (descriptor < 0) descriptor = memfd_create("fuzz", 0);
    bytes b = { data, data + size };
    if (byte(&b) % 4 == 0) { /* the bytes as the file, or as what comes after its head */
        size_t raw = (size_t)(b.end - b.at), head = byte(&b) % 2 ? HEADER : 0;
        whole(file);
        raw = raw < LARGEST - HEADER ? raw : LARGEST - HEADER;
        memcpy(file + head, b.at, (size_t)(b.end - b.at) < raw ? (size_t)(b.end - b.at) : raw);
        put(descriptor, file, head + raw);
    } else {
        put(descriptor, file, change(&b, file, whole(file)));
    }
    ct_status first = fit(descriptor);
    MUST(fit(descriptor) == first);
    return 0;
}
