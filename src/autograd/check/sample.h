/* The driver's side of an op's `sample`: its request, and the inputs that it gets. */
#ifndef CT_AUTOGRAD_SAMPLE_H
#define CT_AUTOGRAD_SAMPLE_H

#include <cotangent/op.h>

#define CT__SAMPLE_ATTR   768
#define CT__SAMPLE_VALUES 16

typedef enum ct__sample_kind {
    CT__SAMPLE_NONE,
    CT__SAMPLE_NORMAL,
    CT__SAMPLE_UNIFORM,
    CT__SAMPLE_SPD,
    CT__SAMPLE_LOWER,
    CT__SAMPLE_UPPER,
    CT__SAMPLE_INDEX,
} ct__sample_kind;

/* Set the first group, call ct__sample_draw, read the second group, and finish with ct__sample_clear. */
struct ct_sample {
    ct_device *device;
    ct_dtype dtype; /* of the floating inputs; f32 draws are f64 draws, rounded */
    int64_t size;
    ct_shape batch; /* dimensions put before every input, unless the op samples unbatched */
    uint64_t seed;
    int variant;

    int n_variants; /* 1 if the op declares none */
    int n_in;
    ct_tensor *in[CT_MAX_INPUTS]; /* contiguous */
    ct__sample_kind kind[CT_MAX_INPUTS];
    uint64_t symmetric; /* bit i: input i is symmetric */
    bool unbatched;
    bool batched; /* some input has the batch dimensions */
    bool kinks;   /* differences cannot be taken at these inputs */
    _Alignas(16) unsigned char attr[CT__SAMPLE_ATTR];
    size_t attr_size; /* 0: none */
    ct_status status; /* of the drawing; the message is the device's */
};

/* Runs op's sample. Returns the status; on failure the inputs are all NULL. */
ct_status ct__sample_draw(ct_sample *s, const ct_op *op);
/* Releases the inputs and forgets them. */
void ct__sample_clear(ct_sample *s);

#endif
