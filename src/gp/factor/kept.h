/* What a model keeps of a factorisation. */
#ifndef CT_GP_KEPT_H
#define CT_GP_KEPT_H

#include <cotangent/tensor.h>

typedef struct ct__kept {
    bool ready;
    ct_tensor *L, *alpha; /* L Lᵀ = k(X, X) + noise + jitter, as stored (factor.h); (n, 1)      */
    double jitter, nlml;  /* standardised; of y as given                                         */
    /* With a trend (trend.h): (p, n + p + 1), [G M w] with M Mᵀ = HᵀC⁻¹H, G = M⁻¹HᵀC⁻¹ and w = G r. */
    ct_tensor *trend;
    double restricted; /* the terms of nlml besides ½ rᵀα + Σ log L_ii + n/2 log 2π and ct__target_volume */
} ct__kept;

static inline void ct__kept_drop(ct__kept *k)
{
    ct_release(k->L);
    ct_release(k->alpha);
    ct_release(k->trend);
    *k = (ct__kept){ 0 };
}

/* A copy that shares the tensors. */
static inline ct__kept ct__kept_copy(const ct__kept *k)
{
    ct_retain(k->L);
    ct_retain(k->alpha);
    ct_retain(k->trend);
    return *k;
}

#endif
