/* Small data sets and shorthands for the tests of the GP. */
#ifndef TESTS_GP_SUPPORT_H
#define TESTS_GP_SUPPORT_H

#include "check.h"

#include <cotangent/gp.h>

/* y = 2 sin(3 x_0) + x_1 + 0.1 e on random points of [0, 2]^d (later columns have no effect), from a fixed
 * seed. */
typedef struct gp_data {
    ct_device *device;
    ct_tensor *X, *y;
    int64_t n, d;
    double *y_host;
} gp_data;

gp_data gp_data_new(ct_device *device, ct_dtype dtype, int64_t n, int64_t d);

void gp_data_free(gp_data *s);

void assert_gp_at(ct_gp *gp, ct_device *device, const char *file, int line);

#define assert_gp(gp, device) assert_gp_at((gp), (device), __FILE__, __LINE__)

/* Checks that the model is refused with this status and a message that contains the text. */
#define assert_refused(gp, device, status, text)                                                   \
    do {                                                                                           \
        assert_null(gp);                                                                           \
        assert_status(ct_last_status(device), (status), ct_message(device));                       \
        if (!strstr(ct_message(device), (text))) print_error("message: %s\n", ct_message(device)); \
        assert_non_null(strstr(ct_message(device), (text)));                                       \
    } while (0)

#define assert_failed(call, device, status, text)                                                  \
    do {                                                                                           \
        assert_status((call), (status), ct_message(device));                                       \
        if (!strstr(ct_message(device), (text))) print_error("message: %s\n", ct_message(device)); \
        assert_non_null(strstr(ct_message(device), (text)));                                       \
    } while (0)

/* Sets one parameter by name; fixed where asked. */
void gp_set(ct_gp *gp, const char *name, double value, bool fixed);

double gp_get(const ct_gp *gp, const char *name);

/* A tensor's elements as doubles, to be freed. */
double *gp_host(const ct_tensor *t);

/* A model of those points; options may be NULL. */
ct_gp *gp_of(const gp_data *s, const char *kernel, const ct_gp_options *options);

/* The value of -1.7 f, where f is ct_gp_nlml or a similar function, at the kernel's parameters with `noises`
 * noises of 0.02; and its gradients in theta, X, r and noise, to be freed. */
typedef ct_var gp_density(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);
double gp_density_at(gp_density *f, const ct_kernel *k, const gp_data *s, int64_t noises, double *bar[4]);

/* The path of a new file in TMPDIR, or /tmp; the caller unlinks it. */
void gp_temporary(char path[256]);
/* Makes these the contents of the file in place: a file that is truncated to nothing and closed waits for the
 * disk. */
void overwrite(const char *path, const void *data, size_t bytes);

#endif
