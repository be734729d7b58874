/* libFuzzer: any text as the kernel of a likelihood, of leave-one-out, and of a model that is fitted for a
 * few iterations to a handful of rows. What answers CT_OK has values and gradients that are finite. The
 * first bytes are the options and the scales. */
#include <cotangent/gp.h>

#include <math.h>

#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed);

enum { HEAD = 16 };

typedef struct problem {
    ct_device *dev;
    ct_dtype dtype;
    int64_t n, d;
    ct_tensor *X, *y, *noise;
} problem;

/* Mostly 1, else a power of ten that occurs in data. */
static double scale(bytes *b)
{
    static const double scales[] = { 1e-9, 1e-6, 1e-3, 10, 1e3, 1e6, 1e9, 0 };
    uint8_t how = byte(b);
    return how < 200 ? 1 : scales[how % 8];
}

static ct_tensor *draw(const problem *p, ct_shape shape, double factor, double shift, uint64_t stream)
{
    double values[64];
    int64_t count = ct_shape_count(shape);
    ct_tensor *t = ct_rand_normal(p->dev, CT_F64, shape, 1, stream);
    MUST(t && count <= 64 && !ct_read(t, values, (size_t)count * sizeof *values));
    for (int64_t i = 0; i < count; i++)
        values[i] = stream == 2 ? factor * fabs(values[i]) : shift + factor * values[i];
    MUST(!ct_write(t, values, (size_t)count * sizeof *values));
    ct_tensor *result = ct_tensor_cast(t, p->dtype);
    ct_release(t);
    return result;
}

static void all_finite(const ct_tensor *t)
{
    double values[64];
    if (!t) return;
    ct_tensor *wide = ct_tensor_cast(t, CT_F64);
    int64_t count = ct_tensor_count(wide);
    if (count <= 64) {
        MUST(!ct_read(wide, values, (size_t)count * sizeof *values));
        for (int64_t i = 0; i < count; i++) MUST(isfinite(values[i]));
    }
    ct_release(wide);
}

static void likelihood(const problem *p, const ct_kernel *kernel, bool left_out)
{
    ct_tape *tape = ct_tape_new(p->dev);
    ct_var theta = ct_kernel_theta(kernel, tape, p->dtype);
    ct_var X = ct_leaf(tape, p->X), r = ct_leaf(tape, p->y), noise = ct_leaf(tape, p->noise);
    ct_var value =
        left_out ? ct_gp_loo_nlpd(kernel, theta, X, r, noise) : ct_gp_nlml(kernel, theta, X, r, noise);
    if (ct_backward(value) == CT_OK && ct_check(value) == CT_OK) {
        MUST(isfinite(ct_item(value)));
        all_finite(ct_cotangent(theta));
        all_finite(ct_cotangent(X));
        all_finite(ct_cotangent(r));
        all_finite(ct_cotangent(noise));
    } else
        MUST(*ct_tape_message(tape) && !strchr(ct_tape_message(tape), '\n'));
    ct_tape_free(tape);
}

static void fit(const problem *p, ct_kernel *kernel, bytes *b)
{
    const ct_gp_noise noise = (ct_gp_noise)below(b, 6);
    const ct_transform_kind transform = (ct_transform_kind)below(b, 4);
    const ct_tensor *y = transform ? p->noise : p->y; /* the noise is positive */
    const ct_gp_options options = { .mean = (ct_gp_mean)below(b, 3),
                                    .noise = noise,
                                    .transform = transform,
                                    .standardize = (ct_gp_standardize)below(b, 4),
                                    .priors = (ct_gp_priors)below(b, 2),
                                    .noise_variances = noise == CT_NOISE_GIVEN || noise == CT_NOISE_GIVEN_PLUS
                                                           ? p->noise
                                                           : NULL,
                                    .noise_levels = noise == CT_NOISE_BY_LEVEL ? p->noise : NULL };
    const ct_fit_options how = { .optimizer = (ct_optimizer)below(b, 3),
                                 .objective = (ct_fit_objective)below(b, 2),
                                 .restarts = below(b, 2) ? 1 : CT_FIT_NO_RESTARTS,
                                 .max_iterations = 1 + below(b, 3) };
    ct_gp *gp = ct_gp_new(p->X, y, kernel, &options);
    if (!gp) MUST(ct_last_status(p->dev) && *ct_message(p->dev));
    if (gp && ct_gp_fit(gp, &how) == CT_OK) {
        MUST(isfinite(ct_gp_report(gp).objective));
        for (int64_t i = 0; i < ct_gp_params(gp); i++) MUST(isfinite(ct_gp_param(gp, i)->value));
        double out[16];
        ct_tensor *mean = ct_wrap(p->dev, CT_F64, ct_shape1(p->n), out, NULL, NULL);
        ct_tensor *variance = ct_wrap(p->dev, CT_F64, ct_shape1(p->n), out + 8, NULL, NULL);
        if (ct_gp_predict(gp, p->X, mean, variance) == CT_OK) {
            all_finite(mean);
            all_finite(variance);
        }
        ct_release(mean), ct_release(variance);
    }
    ct_gp_free(gp);
}

/* -- the mutator: another text half of the time ---------------------------------------------------------- */

typedef struct writer {
    char text[512];
    size_t n;
    uint64_t state;
} writer;

static unsigned draw_below(writer *w, unsigned n)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->state >> 33) % n;
}

static void put(writer *w, const char *text)
{
    size_t n = strlen(text);
    if (w->n + n >= sizeof w->text) return;
    memcpy(w->text + w->n, text, n);
    w->n += n;
}

/* One of a list of n; the first third is chosen twice as often. */
static void put_one(writer *w, const char *const *list, unsigned n)
{
    put(w, list[draw_below(w, 3) ? draw_below(w, n) : draw_below(w, n / 3)]);
}

static void put_value(writer *w)
{
    static const char *const values[] = { "1",    "0.5",    "3",      "0.1",    "10",    "1e-3",
                                          "1e3",  "1e-320", "1e-200", "1e-160", "1e-80", "1e-20",
                                          "1e-9", "1e9",    "1e20",   "1e80",   "1e160", "1e300" };
    put_one(w, values, sizeof values / sizeof *values);
    if (!draw_below(w, 4)) put(w, "!");
}

static void put_profile(writer *w)
{
    static const struct {
        const char *name, *own;
        bool lengthscale;
    } profiles[] = {
        { "rbf", NULL, true },           { "matern12", NULL, true },
        { "matern32", NULL, true },      { "matern52", NULL, true },
        { "rq", "alpha=", true },        { "periodic", "period=", true },
        { "cosine", "period=", false },  { "linear", NULL, true },
        { "poly", "offset=", true },     { "constant", "variance=", false },
        { "white", "variance=", false },
    };
    static const char *const more[] = { "", "", "", ", ard", ", dims=0", ", dims=0:1" };
    unsigned k = draw_below(w, sizeof profiles / sizeof *profiles);
    const char *option = profiles[k].lengthscale && draw_below(w, 2) ? "lengthscale=" : profiles[k].own;
    put(w, profiles[k].name);
    if (!option) return;
    put(w, "(");
    put(w, option);
    put_value(w);
    if (profiles[k].lengthscale) put_one(w, more, sizeof more / sizeof *more);
    put(w, ")");
}

static void put_sum(writer *w, int depth)
{
    do {
        if (draw_below(w, 2)) put(w, "scale("), put_value(w), put(w, ") * ");
        do {
            if (depth && !draw_below(w, 4))
                put(w, "("), put_sum(w, depth - 1), put(w, ")");
            else
                put_profile(w);
        } while (!draw_below(w, 3) && (put(w, " * "), true));
    } while (!draw_below(w, 2) && (put(w, " + "), true));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed)
{
    if (seed % 2 || limit < HEAD + sizeof((writer *)0)->text) return LLVMFuzzerMutate(data, size, limit);
    writer w = { .state = seed };
    if (size < HEAD) memset(data + size, 0, HEAD - size);
    put_sum(&w, 2);
    memcpy(data + HEAD, w.text, w.n);
    if (draw_below(&w, 2)) LLVMFuzzerMutate(data, HEAD, HEAD);
    return HEAD + w.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ct_device *dev;
    char text[512];
    if (!dev) dev = ct_device_open("cpu");
    if (size <= HEAD || size - HEAD >= sizeof text) return 0;
    memcpy(text, data + HEAD, size - HEAD);
    text[size - HEAD] = 0;
    bytes b = { data, data + HEAD };
    problem p = {
        .dev = dev, .dtype = byte(&b) % 4 ? CT_F64 : CT_F32, .n = 1 + below(&b, 8), .d = 1 + below(&b, 3)
    };
    ct_kernel *kernel = ct_kernel_parse(text);
    if (ct_kernel_bind(kernel, p.d) == CT_OK) {
        p.X = draw(&p, ct_shape2(p.n, p.d), scale(&b), scale(&b) - 1, 0);
        p.y = draw(&p, ct_shape1(p.n), scale(&b), scale(&b) - 1, 1);
        p.noise = draw(&p, ct_shape1(p.n), byte(&b) % 8 ? 0.1 : scale(&b), 0, 2);
        likelihood(&p, kernel, false);
        likelihood(&p, kernel, true);
        fit(&p, kernel, &b);
        ct_release(p.X), ct_release(p.y), ct_release(p.noise);
    } else
        ct_kernel_free(kernel);
    MUST(ct_memory(dev).bytes_now == 0);
    return 0;
}
