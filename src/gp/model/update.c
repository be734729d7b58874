/* Appends and removes rows by updating the factor, with unchanged parameters:
 *     append:  [ L      ]   B = K21 L⁻ᵀ,  S Sᵀ = K22 + noise - B Bᵀ                     k n² operations
 *              [ B   S  ]
 *     remove:  row and column q leave a column w behind; rotations of (L_jj, w_j) for j > q restore the
 *              triangle (packed_remove.c)                          35 to 70 (n - q)² for up to 16 rows
 * A model's tensors are never written, so copies of the model share them. */
#include <math.h>
#include <stdlib.h>

#include "gp/data/trend.h"
#include "gp/factor/system.h"
#include "gp/likelihood/density.h"

/* -- other rows ------------------------------------------------------------------------------------------ */

/* Computes L of `fresh`, which is gp with other rows, from gp's L; none if it is not positive definite.
 * Either the `count` rows gone[0] < gone[1] < ... of gp were removed or, with count = 0, the rows of `fresh`
 * from gp->n on are new. */
static ct_status update(ct_gp *gp, ct_gp *fresh, const int64_t *gone, int64_t count)
{
    ct_tape_reset(gp->tape);
    ct__graph g = count ? (ct__graph){ 0 } : ct__gp_present(fresh, fresh->factor.jitter);
    ct_var noise = g.variance;
    if (!count && ct_tensor_count(ct_value(noise)) > 1) noise = ct_slice(noise, 0, gp->n, fresh->n, 1);
    ct_view theta = ct_view_of(ct_value(g.theta)), added = ct_view_of(ct_value(noise));
    ct_call *c = ct_scope_open(gp->tape, count ? "remove" : "append");
    ct_view all = ct_scratch(c, gp->dtype, ct__packed_shape(fresh->n));
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n), to = ct__packed_of(all, fresh->n);
    if (count)
        ct__packed_remove(c, &L, gone, count, &to);
    else
        ct__packed_append(c, ct_kernel_program(gp->kernel), theta, ct_view_of(fresh->X), added, &L, &to);
    fresh->factor.L = ct_tensor_of(c, all);
    ct_scope_close(c);
    ct_status s = ct_tape_status(gp->tape);
    if (s) ct__gp_drop_factor(fresh);
    if (s && s != CT_ENUMERIC) return ct__gp_tape_failed(gp, count ? "the rows that stay" : "the new rows");
    ct_tape_reset(gp->tape);
    return CT_OK;
}

ct_status ct__gp_complete(ct_gp *gp)
{
    ct_tape_reset(gp->tape);
    ct__graph g = ct__gp_present(gp, gp->factor.jitter);
    ct_view y = ct_view_of(ct_value(g.residual)),
            C_diagonal = ct_view_of(ct_value(ct__graph_diagonal(gp, &g)));
    ct_call *c = ct_scope_open(gp->tape, "the new factor");
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    ct_view L_diagonal = ct_scratch(c, gp->dtype, ct_shape1(gp->n));
    ct_view line = ct_scratch(c, gp->dtype, ct_shape2(1, gp->n));
    ct_view alpha = ct_view_reshape(line, ct_shape2(gp->n, 1)), nlml = ct_scratch(c, gp->dtype, ct_shape0());
    ct_prim_copy(c, y, alpha);
    ct__packed_solve(c, &L, 0, line);
    ct__packed_solve_trans(c, &L, line);
    ct__packed_diagonal(c, &L, L_diagonal);
    ct_prim_flag_pivots(c, ct__gp_rounding(gp->dtype), C_diagonal, L_diagonal, alpha);
    ct__nlml_value(c, y, alpha, L_diagonal, nlml);
    gp->factor.nlml = ct_call_item(c, nlml) + ct__target_volume(gp);
    gp->factor.alpha = ct_tensor_of(c, alpha);
    ct_scope_close(c);
    ct_status s = ct_tape_status(gp->tape);
    if (!s && !isfinite(gp->factor.nlml)) s = CT_ENUMERIC;
    if (s && s != CT_ENUMERIC) return ct__gp_tape_failed(gp, "the new factor");
    ct_tape_reset(gp->tape);
    if (!s && gp->trend) s = ct__gp_restrict(gp, true);
    gp->factor.ready = !s;
    return s;
}

/* Whether an update is faster than a factorisation of the remaining rows; measured at 1000 and 3000 rows. */
static bool quicker(const ct_gp *gp, const int64_t *gone, int64_t count)
{
    double work = 0, m = (double)(gp->n - count);
    for (int64_t k = 0; k < count; k++) work += (double)(gp->n - gone[k]) * (double)(gp->n - gone[k]);
    return work <= m * m * m / 40;
}

/* Makes `fresh` the model: gp with the X, y and given of other rows, of which it takes ownership (NULL: one
 * could not be made). `gone` and `count` as above. An existing factor is updated; if that fails, all is
 * factorised. On failure gp is unchanged. */
static ct_status adopt(ct_gp *gp, ct_gp fresh, const int64_t *gone, int64_t count)
{
    ct_gp before = *gp;
    bool made = fresh.X && fresh.y && !fresh.given == !gp->given;
    ct_status s = made ? ct__noise_average_given(&fresh) : ct_last_status(gp->device);
    if (!s) s = ct__target_sum_slopes(&fresh);
    fresh.trend = NULL;
    fresh.shared = NULL; /* outputs/ sets its own */
    fresh.in_grid = 0;
    fresh.H = fresh.detrended = NULL;
    if (!s && gp->basis) s = ct__trend_make(&fresh, false);
    fresh.factor = (ct__gp_factor){ .jitter = gp->factor.jitter };
    if (!s && gp->factor.ready && quicker(gp, gone, count)) s = update(gp, &fresh, gone, count);
    *gp = fresh;
    if (!s && gp->factor.L) s = ct__gp_complete(gp);
    if (s == CT_ENUMERIC || (!s && before.factor.ready && !gp->factor.L)) {
        ct__gp_drop_factor(gp);
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
    if (gp->lens) return ct__lens_refuse(gp, who, "ct_outputs_append adds rows to all outputs");
    if (ct__group_is_one(gp->options.group)) return CT_OK;
    return ct_device_fail(gp->device, CT_EUNSUPPORTED,
                          "%s: the rows of a model over many processes cannot change: make a new one", who);
}

static ct_status check_new(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise)
{
    if (!X || !y) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_append: X or y is NULL");
    ct_status s = ct__gp_check_inputs(gp, X, "ct_gp_append: X");
    if (!s) s = ct__gp_check_out(gp, y, ct_tensor_dim(X, 0), "ct_gp_append: y");
    if (!s && (gp->given != NULL) != (noise != NULL))
        s = ct_device_fail(gp->device, CT_EINVAL,
                           "ct_gp_append: noise_variances belong with CT_NOISE_GIVEN and "
                           "CT_NOISE_GIVEN_PLUS, noise_levels with CT_NOISE_BY_LEVEL");
    const char *what = gp->options.noise == CT_NOISE_BY_LEVEL ? "ct_gp_append: noise_levels"
                                                              : "ct_gp_append: noise_variances";
    return s ? s : ct__noise_check_rows(gp, noise, ct_tensor_dim(X, 0), what);
}

ct_status ct_gp_append(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise)
{
    if (!gp) return CT_EINVAL;
    ct_status s = check_alone(gp, "ct_gp_append");
    if (!s) s = check_new(gp, X, y, noise);
    const int64_t k = s ? 0 : ct_tensor_dim(X, 0);
    if (s || !k) return s;
    ct_gp fresh = *gp;
    fresh.n += k;
    s = ct__gp_reserve(gp->device, ct_gp_bytes_needed(fresh.n, gp->d, gp->dtype, false), false,
                       "ct_gp_append: the model", "append fewer rows");
    if (s) return s;
    const ct_shape of_X = ct_shape2(k, gp->d), of_y = ct_shape2(k, 1);
    fresh.y = fresh.given = NULL;
    ct_tensor *more = ct__gp_table(gp, X, of_X, "X", gp->shift, gp->scale, NULL, false);
    fresh.X = extended(gp, gp->X, more, "X");
    if (fresh.X) {
        ct_tensor *z = ct__target_of(gp, y, false);
        more = z ? ct__gp_table(gp, z, of_y, "y", &gp->y_shift, &gp->y_scale, NULL, false) : NULL;
        fresh.y = extended(gp, gp->y, more, "y");
        ct_release(z);
    }
    if (fresh.y && gp->given)
        fresh.given = extended(gp, gp->given, ct__noise_rows(gp, noise, k), "the noise");
    return adopt(gp, fresh, NULL, 0);
}

/* -- remove ---------------------------------------------------------------------------------------------- */

/* order[0..n): the rows that stay, then those that are removed, both in ascending order. */
static ct_status sort_out(ct_gp *gp, const int64_t *index, int64_t count, bool *gone, int64_t *order)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t row = index[i];
        if (row < 0 || row >= gp->n || gone[row])
            return ct_device_fail(gp->device, CT_EINDEX, "ct_gp_remove: row %lld %s", (long long)row,
                                  row >= 0 && row < gp->n ? "is named twice" : "is not there");
        gone[row] = true;
    }
    for (int64_t i = 0, stays = 0, goes = gp->n - count; i < gp->n; i++)
        order[gone[i] ? goes++ : stays++] = i;
    return CT_OK;
}

ct_status ct_gp_remove(ct_gp *gp, const int64_t *index, int64_t count)
{
    if (!gp) return CT_EINVAL;
    if (count < 0 || (count && !index))
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_remove: %lld rows, and no list of them",
                              (long long)count);
    if (!count || check_alone(gp, "ct_gp_remove")) return count ? CT_EUNSUPPORTED : CT_OK;
    if (count >= gp->n)
        return ct_device_fail(gp->device, CT_EINVAL,
                              "ct_gp_remove: %lld of %lld rows: one at least must stay", (long long)count,
                              (long long)gp->n);
    ct_gp fresh = *gp;
    fresh.n -= count;
    bool *gone = ct__gp_alloc(gp->device, (uint64_t)gp->n, sizeof *gone);
    int64_t *order = ct__gp_alloc(gp->device, (uint64_t)gp->n, sizeof *order);
    ct_status s = gone && order ? sort_out(gp, index, count, gone, order) : CT_ENOMEM;
    if (!s)
        s = ct__gp_reserve(gp->device, ct_gp_bytes_needed(fresh.n, gp->d, gp->dtype, false), false,
                           "ct_gp_remove: the smaller model", "free what else the device holds");
    if (!s) {
        fresh.X = ct__gp_take_rows(gp->X, gp->n, order, fresh.n);
        fresh.y = fresh.X ? ct__gp_take_rows(gp->y, gp->n, order, fresh.n) : NULL;
        fresh.given = fresh.y && gp->given ? ct__gp_take_rows(gp->given, gp->n, order, fresh.n) : NULL;
        s = adopt(gp, fresh, order + fresh.n, count);
    }
    free(gone);
    free(order);
    return s;
}
