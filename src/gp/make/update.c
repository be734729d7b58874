/* Appends and removes rows by updating the factor, with unchanged parameters:
 *     append:  [ L      ]   B = K21 L⁻ᵀ,  S Sᵀ = K22 + noise - B Bᵀ                     k n² operations
 *              [ B   S  ]
 *     remove:  row and column q leave a column w behind; QR decompositions of (L_jj, w_j) for j > q restore
 *              the triangle (packed_remove.c)                      66 to 96 (n - q)² for up to 16 rows
 * A model's tensors are never written, so copies of the model share them. */
#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/update.h>

#include "gp/data/numbers.h"
#include "gp/data/table.h"
#include "gp/data/trend.h"
#include "gp/factor/packed_append.h"
#include "gp/factor/packed_remove.h"
#include "gp/likelihood/factorise.h"
#include "gp/likelihood/table.h"
#include "gp/model/exchange.h"
#include "gp/model/graph.h"
#include "gp/model/memory.h"

/* -- other rows ------------------------------------------------------------------------------------------ */

/* Computes L of `fresh`, which is gp with other rows, from gp's L; none if it is not positive definite.
 * Either the `count` rows gone[0] < gone[1] < ... of gp were removed or, with count = 0, the rows of `fresh`
 * from gp->rows.n on are new. */
static ct_status update(ct_gp *gp, ct_gp *fresh, const int64_t *gone, int64_t count)
{
    ct_tape_reset(gp->tape);
    ct__graph g = count ? (ct__graph){ 0 } : ct__gp_present(fresh, fresh->factor.jitter);
    ct_var noise = g.variance;
    if (!count && ct_tensor_count(ct_value(noise)) > 1)
        noise = ct_slice(noise, 0, gp->rows.n, fresh->rows.n, 1);
    ct_view theta = ct_view_of(ct_value(g.theta)), added = ct_view_of(ct_value(noise));
    ct_call *c = ct_scope_open(gp->tape, count ? "remove" : "append");
    ct_view all = ct_scratch(c, gp->rows.dtype, ct__packed_shape(fresh->rows.n));
    const ct__factor L = ct__gp_factor_of(gp);
    const ct__packed to = ct__packed_of(all, fresh->rows.n);
    if (count)
        ct__packed_remove(c, &L.blocks, gone, count, &to);
    else
        ct__packed_append(c, ct_kernel_program(gp->kernel), theta, ct_view_of(fresh->rows.X), added, &L, &to);
    fresh->factor.L = ct_tensor_of(c, all);
    ct_scope_close(c);
    ct_status s = ct_tape_status(gp->tape);
    if (s) ct__kept_drop(&fresh->factor);
    if (s && s != CT_ENUMERIC) return ct__gp_tape_failed(gp, count ? "the rows that stay" : "the new rows");
    ct_tape_reset(gp->tape);
    return CT_OK;
}

/* Whether an update is faster than a factorisation of the remaining rows; measured at 1000 and 3000 rows. */
static bool quicker(const ct_gp *gp, const int64_t *gone, int64_t count)
{
    double work = 0, m = (double)(gp->rows.n - count);
    for (int64_t k = 0; k < count; k++)
        work += (double)(gp->rows.n - gone[k]) * (double)(gp->rows.n - gone[k]);
    return work <= m * m * m / 40;
}

/* Makes `fresh` the model: gp with the X, y and given of other rows, of which it takes ownership (NULL: one
 * could not be made). `gone` and `count` as above. An existing factor is updated; if that fails, all is
 * factorised. On failure gp is unchanged. */
static ct_status adopt(ct_gp *gp, ct_gp fresh, const int64_t *gone, int64_t count)
{
    ct_gp before = *gp;
    bool made = fresh.rows.X && fresh.target.y && !fresh.noise.given == !gp->noise.given;
    ct_status s = made ? ct__target_sum_slopes(&fresh.target) : ct_last_status(gp->device);
    fresh.mean.trend = NULL;
    fresh.likelihood.outputs = NULL; /* outputs/ sets its own */
    fresh.likelihood.grid = 0;
    if (!s && gp->mean.basis) s = ct__trend_make(&fresh.mean, &fresh.rows, fresh.target.y, false);
    ct__likelihood_take(&fresh, fresh.likelihood.features);
    fresh.factor = (ct__kept){ .jitter = gp->factor.jitter };
    if (!s && gp->factor.ready && quicker(gp, gone, count)) s = update(gp, &fresh, gone, count);
    *gp = fresh;
    if (!s && gp->factor.L) s = ct__gp_complete(gp);
    if (s == CT_ENUMERIC || (!s && before.factor.ready && !gp->factor.L)) {
        ct__kept_drop(&gp->factor);
        s = ct__gp_factorise(gp);
    }
    fresh = *gp;
    if (s) *gp = before;
    ct__gp_drop_rows(s ? &fresh : &before);
    return s;
}

/* -- append ---------------------------------------------------------------------------------------------- */

/* `old` with the rows of `fresh` below it, NULL for NULL; releases `fresh`. NULL with the reason on the
 * device. */
static ct_tensor *extended(ct_gp *gp, ct_tensor *old, ct_tensor *fresh, const char *what)
{
    ct_tensor *all = NULL;
    ct_tape_reset(gp->tape);
    if (fresh) {
        ct_var both[] = { ct_constant(gp->tape, old), ct_constant(gp->tape, fresh) };
        all = ct_retain(ct_value(ct_concat(both, 2, 0)));
        if (!all) ct__gp_tape_failed(gp, what);
    }
    ct_tape_reset(gp->tape);
    ct_release(fresh);
    return all;
}

static ct_status check_alone(const ct_gp *gp, const char *who)
{
    if (gp->one_output)
        return ct__one_output_refuse(gp->device, who, "ct_outputs_append adds rows to all outputs");
    if (ct__comm_is_one(gp->options.comm)) return CT_OK;
    return ct_device_fail(gp->device, CT_EUNSUPPORTED,
                          "%s: the rows of a model over many processes cannot change: make a new one", who);
}

static ct_status check_new(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise)
{
    if (!X || !y) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_append: X or y is NULL");
    ct_status s = ct__gp_check_inputs(gp, X, "ct_gp_append: X");
    if (!s) s = ct__gp_check_out(gp, y, ct_tensor_dim(X, 0), "ct_gp_append: y");
    if (!s && (gp->noise.given != NULL) != (noise != NULL))
        s = ct_device_fail(gp->device, CT_EINVAL,
                           "ct_gp_append: noise_variances belong with CT_NOISE_GIVEN and "
                           "CT_NOISE_GIVEN_PLUS, noise_levels with CT_NOISE_BY_LEVEL");
    const char *what =
        gp->noise.kind == CT_NOISE_BY_LEVEL ? "ct_gp_append: noise_levels" : "ct_gp_append: noise_variances";
    return s ? s : ct__gp_check_noise(gp, noise, ct_tensor_dim(X, 0), what);
}

ct_status ct_gp_append(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise)
{
    if (!gp) return CT_EINVAL;
    ct_status s = check_alone(gp, "ct_gp_append");
    if (!s) s = check_new(gp, X, y, noise);
    const int64_t k = s ? 0 : ct_tensor_dim(X, 0);
    if (s || !k) return s;
    ct_gp fresh = *gp;
    ct__data_rows *rows = &fresh.rows;
    ct__target *target = &fresh.target;
    rows->n += k;
    s = ct__gp_reserve(gp->device, ct_gp_bytes_needed(gp->device, rows->n, rows->d, rows->dtype, false),
                       false, "ct_gp_append: the model", "append fewer rows");
    if (s) return s;
    rows->X = target->y = fresh.noise.given = NULL;
    ct_tensor *z = ct__target_of(&gp->target, y, false);
    if (z)
        rows->X = extended(gp, gp->rows.X,
                           ct__table(gp->device, rows->dtype, X, ct_shape2(k, rows->d), "X",
                                     (ct__units){ .shift = rows->shift, .scale = rows->scale }),
                           "X");
    if (rows->X)
        target->y = extended(gp, gp->target.y,
                             ct__table(gp->device, rows->dtype, z, ct_shape2(k, 1), "y",
                                       (ct__units){ .shift = &target->shift, .scale = &target->scale }),
                             "y");
    if (target->y && noise)
        fresh.noise.given =
            extended(gp, gp->noise.given, ct__noise_rows(&gp->noise, noise, k, rows->dtype, target->scale),
                     "the noise");
    ct_release(z);
    return adopt(gp, fresh, NULL, 0);
}

/* -- remove ---------------------------------------------------------------------------------------------- */

/* order[0..n): the rows that stay, then those that are removed, both in ascending order. */
static ct_status sort_out(ct_gp *gp, const int64_t *index, int64_t count, bool *gone, int64_t *order)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t row = index[i];
        if (row < 0 || row >= gp->rows.n || gone[row])
            return ct_device_fail(gp->device, CT_EINDEX, "ct_gp_remove: row %lld %s", (long long)row,
                                  row >= 0 && row < gp->rows.n ? "is named twice" : "is not there");
        gone[row] = true;
    }
    for (int64_t i = 0, stays = 0, goes = gp->rows.n - count; i < gp->rows.n; i++)
        order[gone[i] ? goes++ : stays++] = i;
    return CT_OK;
}

ct_status ct_gp_remove(ct_gp *gp, const int64_t *index, int64_t count)
{
    if (!gp) return CT_EINVAL;
    if (count < 0 || (count && !index))
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_remove: %lld rows, and no list of them",
                              (long long)count);
    const ct_status alone = count ? check_alone(gp, "ct_gp_remove") : CT_OK;
    if (!count || alone) return alone;
    if (count >= gp->rows.n)
        return ct_device_fail(gp->device, CT_EINVAL,
                              "ct_gp_remove: %lld of %lld rows: one at least must stay", (long long)count,
                              (long long)gp->rows.n);
    ct_gp fresh = *gp;
    const int64_t n = gp->rows.n, stay = fresh.rows.n -= count;
    bool *gone = ct__gp_alloc(gp->device, (uint64_t)n, sizeof *gone);
    int64_t *order = ct__gp_alloc(gp->device, (uint64_t)n, sizeof *order);
    ct_status s = gone && order ? sort_out(gp, index, count, gone, order) : CT_ENOMEM;
    if (!s)
        s = ct__gp_reserve(gp->device,
                           ct_gp_bytes_needed(gp->device, stay, gp->rows.d, gp->rows.dtype, false), false,
                           "ct_gp_remove: the smaller model", "free what else the device holds");
    if (!s) {
        fresh.rows.X = ct__gp_take_rows(gp->rows.X, n, order, stay);
        fresh.target.y = ct__gp_take_rows(gp->target.y, n, order, stay);
        if (gp->noise.given) fresh.noise.given = ct__gp_take_rows(gp->noise.given, n, order, stay);
        s = adopt(gp, fresh, order + stay, count);
    }
    free(gone);
    free(order);
    return s;
}
