/* Several outputs of one table: p functions of the same inputs.
 *
 *     ct_outputs *o = ct_outputs_new(X, Y, ct_kernel_parse("scale * rbf(ard)"),
 *                                    &(ct_outputs_options){ .kind = CT_OUTPUTS_SHARED });
 *     ct_status s = o ? ct_outputs_fit(o, NULL) : ct_last_status(device);
 *     for (int64_t j = 0; j < ct_outputs_count(o) && !s; j++)
 *         s = ct_gp_predict(ct_outputs_model(o, j), Xs, mean[j], variance[j]);
 *
 * Every output is a model (model.h) with its own name and units, which predicts, draws, leaves rows out and
 * has numerics and sensitivities like any other. The kinds differ in what the outputs share:
 *
 *     EACH    nothing: p models, each with its own parameters, factor and, if values are missing, rows.
 *     SHARED  covariance and noise of the standardised outputs, and so one factor L Lᵀ = C = K + noise. With
 *             R (n, p), the standardised residuals, a fit minimises
 *                 Σ_j nlml_j = ½ tr(RᵀC⁻¹R) + p/2 log det C + np/2 log 2π
 *             with one factorisation per evaluation. [Rasmussen & Williams 2006, §9.1]
 *     COREGIONALISED
 *             a process over pairs (x, output): for the standardised outputs
 *                 cov(f_j(x), f_l(z)) = B_jl k(x, z),   B = W Wᵀ + diag κ,
 *             with B from the kernel `index` of rank `rank`, and a noise for each output. An output learns
 *             from the others, also at points where it has no value itself.
 *             [Bonilla, Chai & Williams 2008; Álvarez, Rosasco & Lawrence 2012, §4.2]
 *
 * SHARED and COREGIONALISED have one model of all outputs, ct_outputs_joint_model. It standardises each
 * output by the mean and standard deviation of its values, so its variances are shares of an output's
 * variance. The models of the outputs have the same parameters in their own units. */
#ifndef COTANGENT_GP_OUTPUTS_H
#define COTANGENT_GP_OUTPUTS_H

#include <cotangent/gp.h>

CT_BEGIN_DECLS

typedef struct ct_outputs ct_outputs;

typedef enum ct_outputs_kind {
    CT_OUTPUTS_EACH = 0,
    CT_OUTPUTS_SHARED,
    CT_OUTPUTS_COREGIONALISED,
} ct_outputs_kind;

enum { CT_OUTPUTS_MOST = 512 }; /* the most outputs */

/* Zero-initialise, then set what you need. */
typedef struct ct_outputs_options {
    ct_outputs_kind kind;
    /* As in ct_gp_new, but `output` is not read, and a communicator of several processes is refused. EACH
     * takes everything else. SHARED and COREGIONALISED always standardise and use the average as the mean:
     * CT_MEAN_CONSTANT and CT_MEAN_ZERO are the same there, and a term `constant` in the kernel makes the
     * mean uncertain. They refuse any other mean, given noise and a transform. COREGIONALISED learns one
     * noise for each output, and refuses any kind but CT_NOISE_LEARNED. */
    ct_gp_options model;
    const ct_column *outputs; /* [p], of different names, copied; NULL: numbers named y0, y1, ... */
    int rank;                 /* of W Wᵀ, for COREGIONALISED, 1 <= rank <= p; 0: 1 */
} ct_outputs_options;

/* Models of X (n, d) and Y (n, p), which are copied. Takes ownership of the kernel, also on failure. NaN in Y
 * is a missing value: EACH leaves the row out for that output, COREGIONALISED learns from the other values,
 * SHARED refuses it. For COREGIONALISED the kernel is k, on the inputs. A kernel that itself reads the column
 * "output", number d with the outputs' names as levels, is used as it is:
 * "index(dims=2) * rbf(dims=0:1) + index(rank=2, dims=2) * linear(dims=0:1)". options = NULL: the defaults.
 * NULL with ct_message(X's device) for whatever ct_gp_new refuses, and for an output with fewer than two
 * values. */
CT_API ct_outputs *ct_outputs_new(const ct_tensor *X, const ct_tensor *Y, ct_kernel *kernel,
                                  const ct_outputs_options *options);
/* Combines models that were made, chosen or fitted one by one, as EACH. They must have the same inputs,
 * device and dtype, and outputs of different names. Takes ownership of them, but not on failure: CT_EINVAL,
 * or CT_EUNSUPPORTED for models of a communicator. */
CT_API ct_outputs *ct_outputs_of(ct_gp *const *models, int64_t count);
CT_API void ct_outputs_free(ct_outputs *o);

CT_API int64_t ct_outputs_count(const ct_outputs *o); /* p */
/* The number of values of Y in the models. */
CT_API int64_t ct_outputs_values(const ct_outputs *o);
CT_API ct_outputs_kind ct_outputs_kind_of(const ct_outputs *o);
CT_API ct_device *ct_outputs_device(const ct_outputs *o);
/* The name of output j, owned by the outputs; NULL out of range. */
CT_API const char *ct_outputs_name(const ct_outputs *o, int64_t j);
/* The output of that name; -1 if there is none. */
CT_API int64_t ct_outputs_find(const ct_outputs *o, const char *name);
/* The model of all outputs, borrowed; NULL for EACH. Its parameters may be set, and its report is the
 * fit's. */
CT_API ct_gp *ct_outputs_joint_model(const ct_outputs *o);
/* The model of output j, borrowed until the outputs or the whole's parameters change. With SHARED and
 * COREGIONALISED the first call makes it, and factorises. NULL with ct_message on failure, and out of range.
 * Only read it; ct_gp_copy gives one that may be changed. A model of COREGIONALISED has the rows with a value
 * of this output; its parameters and its likelihood are those of the whole. ct_gp_cross_validate,
 * ct_gp_append, ct_gp_remove and ct_gp_save are CT_EUNSUPPORTED for it. */
CT_API ct_gp *ct_outputs_model(ct_outputs *o, int64_t j);

/* -log p(Y), in the units of the data, at the present parameters; NaN with a status on the device. */
CT_API double ct_outputs_nlml(ct_outputs *o);
/* Fits the whole, or each of the models (ct_gp_fit_many). SHARED is CT_EUNSUPPORTED for mixed precision and
 * the leave-one-out objective. After CT_ESTOPPED the outputs have the best point so far. */
CT_API ct_status ct_outputs_fit(ct_outputs *o, const ct_fit_options *options);

/* ½ tr(RᵀC⁻¹R) + p/2 log det C + np/2 log 2π with C = k(X, X) + diag(noise), as an op on the tape: theta (P),
 * X (n, d), R (n, p), noise (n) or (1) -> a scalar, with gradients in all four. Otherwise as ct_gp_nlml,
 * without batches. C̄ = ½ (p C⁻¹ - AAᵀ), A = C⁻¹R: one factorisation for all columns. */
CT_API ct_var ct_outputs_nlml_shared(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var R, ct_var noise);

/* ½ tr(RᵀA) + ½ log det C + np/2 log 2π with C = B ⊗ K + diag(noise) ⊗ I and vec A = C⁻¹ vec R, as an op on
 * the tape: K (n, n) and B (p, p), symmetric and positive semidefinite, R (n, p), noise (p) -> a scalar, with
 * gradients in all four. The lower triangles of K and B are read. A negative eigenvalue beyond rounding is
 * CT_ENUMERIC. Computed from the eigenvectors of K and of B scaled by the noise, in O(n³ + p³). On a CPU a
 * fit of COREGIONALISED uses it if no value is missing, the kernel is a product, and it is less work: for
 * more than 1000 values p³ > 20 threads, else p > 2. [Saatçi 2011, §5; Rakitsch, Lippert, Borgwardt & Stegle
 * 2013] */
CT_API ct_var ct_outputs_nlml_kronecker(ct_var K, ct_var B, ct_var R, ct_var noise);

/* Mean (m, p), may be NULL, and covariance (mp, mp) of all outputs at all points Xs (m, d). Element (ip + j,
 * lp + q) is the covariance of output j at point i and output q at point l, in the product of their units.
 * With `noisy`, of new observations. Only COREGIONALISED has covariances between outputs. Memory as for
 * ct_gp_predict_full at mp points. */
CT_API ct_status ct_outputs_predict_full(ct_outputs *o, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                                         ct_tensor *covariance);

/* Adds the rows X (k, d), Y (k, p) as ct_gp_append does, with NaN as in ct_outputs_new, and with noise for
 * EACH and SHARED. On failure nothing changes. */
CT_API ct_status ct_outputs_append(ct_outputs *o, const ct_tensor *X, const ct_tensor *Y,
                                   const ct_tensor *noise);

/* Saves all outputs in one file, with a shared factor only once; options as in ct_gp_save_with. A single
 * output is saved as a model's file. ct_outputs_load reads both. A factor that was left out is computed when
 * it is first needed. Errors as for ct_gp_save and ct_gp_load. */
CT_API ct_status ct_outputs_save(ct_outputs *o, const char *path, const ct_gp_save_options *options);
CT_API ct_outputs *ct_outputs_load(ct_device *device, const char *path);

CT_END_DECLS
#endif
