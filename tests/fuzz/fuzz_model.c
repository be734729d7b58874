/* libFuzzer: any bytes as a file of a model or of several outputs, with the checksum corrected. A model that
 * loads is given to every function that reads one, and is saved to a file that loads to the same predictions.
 * A refusal says why in one line. The mutator makes its own models to begin with. */
#define _GNU_SOURCE
#include <cotangent/gp.h>

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "gp/data/crc64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed);

static ct_device *device(void)
{
    static ct_device *dev;
    if (!dev) dev = ct_device_open_with("cpu", &(ct_device_options){ .memory_limit = 1 << 28 });
    return dev;
}

/* A file in memory, and its name. */
static int file(char name[64])
{
    static int fd = -1;
    if (fd < 0) fd = memfd_create("fuzz", 0);
    snprintf(name, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static ct_outputs *load(const void *data, size_t size)
{
    char name[64];
    int fd = file(name);
    MUST(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
    return ct_outputs_load(device(), name);
}

/* The file in data[0..limit); its size, 0 where it does not fit. */
static size_t save(ct_outputs *o, bool no_factor, uint8_t *data, size_t limit)
{
    char name[64];
    snprintf(name, sizeof name, "/dev/shm/cotangent-fuzz-%ld.ctgp", (long)getpid());
    if (ct_outputs_save(o, name, &(ct_gp_save_options){ .no_factor = no_factor })) return 0;
    FILE *f = fopen(name, "r");
    size_t size = f ? fread(data, 1, limit, f) : 0;
    MUST(f);
    if (fgetc(f) != EOF) size = 0;
    fclose(f);
    unlink(name);
    return size;
}

/* -- the mutator ----------------------------------------------------------------------------------------- */

static size_t fresh(uint8_t *data, size_t limit, unsigned seed)
{
    static const char *const kernels[] = { "scale * rbf(ard)", "rbf + white",
                                           "scale * periodic * matern32 + linear",
                                           "poly(degree=2) + rq(dims=0) * index(dims=0, levels=3)",
                                           "constant + cosine + matern12" };
    int64_t n = 1 + seed % 5, d = 1 + seed / 5 % 2;
    ct_dtype dtype = seed / 10 % 2 ? CT_F32 : CT_F64;
    ct_tensor *X = ct_rand_normal(device(), dtype, ct_shape2(n, d), seed, 0);
    ct_tensor *y = ct_rand_normal(device(), dtype, ct_shape1(n), seed, 1);
    ct_tensor *given = ct_rand_uniform(device(), dtype, ct_shape1(n), seed, 2);
    static const char *const levels[] = { "a", "", "level" };
    static const ct_column inputs[] = {
        { .name = "s", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 3 },
        { .name = "t", .kind = CT_COLUMN_TIME, .form = CT_TIME_CLOCK }
    };
    const ct_gp_noise noise = (ct_gp_noise)(seed / 60 % 6);
    const bool variances = noise == CT_NOISE_GIVEN || noise == CT_NOISE_GIVEN_PLUS;
    const ct_gp_options options = { .inputs = seed / 5760 % 2 ? inputs : NULL,
                                    .mean = (ct_gp_mean)(seed / 20 % 3),
                                    .noise = noise,
                                    .standardize = (ct_gp_standardize)(seed / 360 % 4),
                                    .priors = (ct_gp_priors)(seed / 1440 % 2),
                                    .transform = (ct_transform_kind)(seed / 11520 % 4),
                                    .noise_variances = variances ? given : NULL,
                                    .noise_levels = noise == CT_NOISE_BY_LEVEL ? given : NULL };
    const ct_outputs_kind kind = (ct_outputs_kind)(seed / 11520 % 3);
    const bool several = seed / 34560 % 2;
    const ct_outputs_options how = { .kind = kind, .model = kind ? (ct_gp_options){ 0 } : options };
    ct_tensor *Y = ct_rand_uniform(device(), dtype, ct_shape2(n, 2), seed, 3);
    ct_gp *gp =
        several ? NULL
                : ct_gp_new(X, options.transform ? given : y, ct_kernel_parse(kernels[seed % 5]), &options);
    ct_outputs *o = several ? ct_outputs_new(X, Y, ct_kernel_parse("scale * rbf"), &how)
                    : gp    ? ct_outputs_of(&gp, 1)
                            : NULL;
    size_t size = o ? save(o, seed / 2880 % 2, data, limit) : 0;
    ct_outputs_free(o);
    ct_release(Y);
    ct_release(X), ct_release(y), ct_release(given);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed)
{
    static const double odd[] = { 0,      -1,     1,     1e308,    -1e308,    1e-308,
                                  5e-324, 1e-160, 1e160, INFINITY, -INFINITY, NAN };
    static const int64_t whole[] = { 0, 1, -1, 2, 5, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX / 8 };
    if (size < 64) return fresh(data, limit, seed);
    size_t at = seed / 256 % (size - 8);
    if (seed % 4 == 0)
        memcpy(data + at, &odd[seed / 4 % (sizeof odd / sizeof *odd)], 8);
    else if (seed % 16 == 1)
        memcpy(data + at, &whole[seed / 16 % (sizeof whole / sizeof *whole)], 8);
    else
        size = LLVMFuzzerMutate(data, size, limit);
    return size;
}

/* -- the use of what loads ------------------------------------------------------------------------------- */

/* Predicts mean and variance of three rows; returns whether that worked, as a file may have scales that
 * overflow. */
static bool predict_one(ct_gp *gp, double out[6])
{
    int64_t d = ct_gp_dims(gp);
    ct_tensor *X = ct_rand_normal(device(), CT_F64, ct_shape2(3, d), 7, 0);
    ct_tensor *mean = ct_wrap(device(), CT_F64, ct_shape1(3), out, NULL, NULL);
    ct_tensor *variance = ct_wrap(device(), CT_F64, ct_shape1(3), out + 3, NULL, NULL);
    ct_status status = ct_gp_predict(gp, X, mean, variance);
    for (int i = 0; i < 3 && !status; i++) MUST(!(out[3 + i] < 0));
    ct_release(X), ct_release(mean), ct_release(variance);
    return !status;
}

/* The sums over the outputs; whether that worked. */
static bool predict(ct_outputs *o, double out[6])
{
    double own[6];
    memset(out, 0, 6 * sizeof *out);
    for (int64_t j = 0; j < ct_outputs_count(o); j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        if (!gp || !predict_one(gp, own)) return false;
        for (int i = 0; i < 6; i++) out[i] += own[i];
    }
    return true;
}

static void use(ct_gp *gp)
{
    int64_t n = ct_gp_points(gp);
    MUST(n >= 1 && ct_gp_dims(gp) >= 1 && ct_kernel_status(ct_gp_kernel(gp)) == CT_OK &&
         ct_gp_output(gp)->name);
    for (int64_t i = 0; i < ct_gp_dims(gp); i++) {
        const ct_column *c = ct_gp_input(gp, i);
        MUST(c->name && c->kind <= CT_COLUMN_TIME && (c->kind == CT_COLUMN_CATEGORY || !c->n_levels));
        for (int64_t k = 0; k < c->n_levels; k++) MUST(c->levels[k][strlen(c->levels[k])] == 0);
    }
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        MUST(ct_gp_find(gp, p->name) == i && isfinite(p->value));
        ct_gp_at_bound(gp, i);
    }
    ct_fit_report report = ct_gp_report(gp);
    MUST(!report.start && report.optimizer <= CT_OPTIMIZER_ADAM);
    ct_gp_nlml_value(gp);
    ct_gp_jitter(gp);
    ct_gp_numerics numerics;
    ct_gp_inspect(gp, &numerics);
    double out[6], again[6];
    if (!predict_one(gp, out)) return;
    MUST(predict_one(gp, again) && !memcmp(out, again, sizeof out));
    ct_tensor *left = ct_empty(device(), CT_F64, ct_shape1(n)),
              *draws = ct_empty(device(), CT_F64, ct_shape2(2, n));
    ct_tensor *X = ct_rand_normal(device(), CT_F64, ct_shape2(n, ct_gp_dims(gp)), 8, 0);
    ct_gp_loo(gp, left, NULL, NULL);
    ct_gp_untransform(gp, left);
    ct_gp_data(gp, NULL, left);
    ct_gp_sample(gp, X, true, 1, draws);
    ct_gp *more = ct_gp_copy(gp);
    if (more && n > 1) ct_gp_remove(more, &(int64_t){ 0 }, 1);
    ct_gp_free(more);
    ct_release(left), ct_release(draws), ct_release(X);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t model[1 << 16], saved[1 << 16];
    if (size < 16 || size > sizeof model) return 0;
    memcpy(model, data, size);
    memcpy(model, "\211CTGP\r\n\032\1\0\0", 12);
    uint64_t crc = ct__crc64(model, size - 8);
    memcpy(model + size - 8, &crc, 8);
    ct_outputs *o = load(model, size);
    if (o) {
        double out[6], again[6];
        for (int64_t j = 0; j < ct_outputs_count(o); j++) {
            ct_gp *gp = ct_outputs_model(o, j);
            if (gp) use(gp);
        }
        if (size % 16 == 0 && predict(o, out)) { /* saving waits for the file system */
            size_t bytes = save(o, false, saved, sizeof saved);
            ct_outputs *back = load(saved, bytes);
            MUST(back && predict(back, again) && !memcmp(out, again, sizeof out));
            ct_outputs_free(back);
        }
        ct_outputs_free(o);
    } else
        MUST(ct_last_status(device()) && *ct_message(device()) && !strchr(ct_message(device()), '\n'));
    MUST(ct_memory(device()).bytes_now == 0);
    return 0;
}
