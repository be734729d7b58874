/* A likelihood of a model: one file each, whose row table.c lists. Nothing else in a model knows which
 * likelihood it has. */
#ifndef CT_GP_LIKELIHOOD_H
#define CT_GP_LIKELIHOOD_H

#include <cotangent/gp/model.h>

struct ct__graph;

/* What a model, its options and those of a fit ask for. */
enum {
    CT__IN_F32 = 1 << 0,
    CT__BY_LEAVE_ONE_OUT = 1 << 1,
    CT__IN_MIXED_PRECISION = 1 << 2,
    CT__ON_PROCESSES = 1 << 3,
    CT__WITH_BASIS = 1 << 4,
    CT__WITH_MEAN = 1 << 5, /* another than a constant */
    CT__WITH_TRANSFORM = 1 << 6,
    CT__WITH_NOISE = 1 << 7, /* not learned as one variance */
    CT__WITH_GIVEN_NOISE = 1 << 8,
    CT__SEVERAL_OUTPUTS = 1 << 9,
    CT__SHARED_OUTPUTS = 1 << 10,
    CT__JOINT_OUTPUTS = 1 << 11,
};

typedef struct ct__likelihood {
    const char *name;
    unsigned is; /* the features for which it is made; 0: for all that no other row is made for */
    /* Whether it can compute this model; NULL: always. Else a later row does. */
    bool (*able)(const ct_gp *gp);
    /* The features that do not go with it, each with the reason in words. */
    struct {
        unsigned features;
        const char *why;
    } refusal[6];
    /* Its value has a random error: no jitter is tried, a fit ends earlier and evaluates its winner again. */
    bool noisy;
    /* It may be highest for a level far from the data, so a fit holds the level near their mean. */
    bool holds_level;
    /* The most bytes of an evaluation for a fit of gp, or else of a factorisation; with d columns of data, or
     * 0 if the data are counted already. */
    uint64_t (*bytes)(const ct_gp *gp, int64_t d, bool fitting);
    /* -log p of the standardised problem, from the model on its tape. */
    ct_var (*objective)(ct_gp *gp, const struct ct__graph *g);
    /* Completes a factor L and α = C⁻¹r of gp, and its likelihood; NULL: nothing is missing. */
    ct_status (*complete)(ct_gp *gp);
} ct__likelihood;

#endif
