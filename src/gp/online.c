/* Rows more and rows less, the parameters as they are, from the factor that is there:
 *     append:  [ L      ]   B = K21 L⁻ᵀ,  S Sᵀ = K22 + noise - B Bᵀ                     k n² operations
 *              [ B   S  ]
 *     remove:  row and column q leave a column w behind; rotations of (L_jj, w_j) for j > q restore the
 *              triangle (packed_remove.c)                          35 to 70 (n - q)² for up to 16 rows
 * A model's tensors are never written, so that copies of it share them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/factor/factor.h"
#include "gp/infer/density.h"
#include "gp/model/model.h"

/* -- what the rows of a model are ------------------------------------------------------------------------ */

typedef struct rows {
    int64_t n;
    ct_tensor *X, *y, *given;
    double given_mean;
    ct__gp_factor factor;
} rows;

static rows present_rows(const ct_gp *gp)
{
    return (rows){ gp->n, gp->X, gp->y, gp->given, gp->given_mean, gp->factor };
}

static void put_rows(ct_gp *gp, const rows *r)
{
    gp->n = r->n;
    gp->X = r->X;
    gp->y = r->y;
    gp->given = r->given;
    gp->given_mean = r->given_mean;
    gp->factor = r->factor;
}

static void release_rows(rows *r)
{
    ct_release(r->X);
    ct_release(r->y);
    ct_release(r->given);
    ct_release(r->factor.L);
    ct_release(r->factor.alpha);
}

static ct_status average_given(rows *r)
{
    if (!r->given) return CT_OK;
    double *v = ct__gp_doubles(r->given), sum = 0;
    if (!v) return CT_ENOMEM;
    for (int64_t i = 0; i < r->n; i++) sum += v[i];
    r->given_mean = sum / (double)r->n;
    free(v);
    return CT_OK;
}

/* Noise and jitter of rows first..n as a constant (n - first) on gp's tape. */
static ct_var noise_from(ct_gp *gp, const rows *r, int64_t first)
{
    double level = gp->factor.jitter + ct_gp_noise_variance(gp) / (gp->y_scale * gp->y_scale);
    ct_tensor *t = ct_full(gp->device, gp->dtype, ct_shape1(r->n - first), level);
    if (!t) ct_tape_fail(gp->tape, CT_ENOMEM, "no memory for %lld noises", (long long)(r->n - first));
    ct_var noise = ct_constant(gp->tape, t);
    ct_release(t);
    return r->given ? ct_add(noise, ct_slice(ct_constant(gp->tape, r->given), 0, first, r->n, 1)) : noise;
}

/* α and the likelihood that go with a new L, for the rows that gp has. CT_ENUMERIC where they are nothing but
 * rounding. */
static ct_status complete(ct_gp *gp)
{
    ct_tape_reset(gp->tape);
    rows r = present_rows(gp);
    ct_var X = ct_constant(gp->tape, gp->X);
    ct_var residual = ct_sub(ct_constant(gp->tape, gp->y), ct__gp_mean_at(gp, gp->tape, X));
    ct_var diagonal = ct_add(ct_cov_diag(gp->kernel, ct__gp_theta(gp, gp->tape), X), noise_from(gp, &r, 0));
    ct_call *c = ct_scope_open(gp->tape, "the new factor");
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    ct_view y = ct_view_of(ct_value(residual)), C_diagonal = ct_scratch(c, gp->dtype, ct_shape1(gp->n));
    ct_view alpha = ct_scratch(c, gp->dtype, ct_shape2(gp->n, 1));
    ct_view line = ct_view_reshape(alpha, ct_shape2(1, gp->n));
    ct_view L_diagonal = ct_scratch(c, gp->dtype, ct_shape1(gp->n));
    ct_view nlml = ct_scratch(c, gp->dtype, ct_shape0());
    ct_prim_copy(c, y, alpha);
    ct__packed_solve(c, &L, 0, line);
    ct__packed_solve_trans(c, &L, line);
    ct__packed_diagonal(c, &L, L_diagonal);
    ct_prim_copy(c, ct_view_of(ct_value(diagonal)), C_diagonal);
    ct__judge_pivots(c, C_diagonal, L_diagonal, alpha);
    ct__nlml_value(c, y, alpha, L_diagonal, nlml);
    double scaled = ct_call_item(c, nlml);
    gp->factor.nlml = scaled + (double)gp->n * log(gp->y_scale);
    gp->factor.alpha = ct_tensor_of(c, alpha);
    ct_scope_close(c);
    ct_status s = ct_tape_status(gp->tape);
    if (!s && !isfinite(gp->factor.nlml)) s = CT_ENUMERIC;
    if (s && s != CT_ENUMERIC) ct__gp_tape_failed(gp, "the new factor");
    ct_tape_reset(gp->tape);
    gp->factor.ready = !s;
    return s;
}

/* Makes `fresh` the rows of gp. Where its factor has an L, that is used; else, or where it is no good, and
 * the model had a factor, all is factorised. On failure gp is as before. `fresh` is taken over. */
static ct_status adopt(ct_gp *gp, rows *fresh)
{
    rows before = present_rows(gp);
    put_rows(gp, fresh);
    ct_status s = gp->factor.L ? complete(gp) : CT_OK;
    if (s == CT_ENUMERIC || (!gp->factor.L && before.factor.ready)) {
        ct__gp_drop_factor(gp);
        s = ct__gp_factorise(gp);
    }
    *fresh = present_rows(gp);
    if (s) put_rows(gp, &before);
    release_rows(s ? fresh : &before);
    return s;
}

/* The scope's end: the packed L is that of `fresh`, which has none where it is not positive definite. */
static ct_status close_factor(ct_gp *gp, ct_call *c, ct_view packed, rows *fresh, const char *what)
{
    ct_tensor *L = ct_tensor_of(c, packed);
    ct_scope_close(c);
    ct_status s = ct_tape_status(gp->tape);
    if (!s)
        fresh->factor = (ct__gp_factor){ .L = L, .jitter = gp->factor.jitter };
    else
        ct_release(L);
    if (s && s != CT_ENUMERIC) return ct__gp_tape_failed(gp, what);
    ct_tape_reset(gp->tape);
    return CT_OK;
}

/* -- append ---------------------------------------------------------------------------------------------- */

/* a above b; NULL with the reason on the device */
static ct_tensor *stacked(ct_gp *gp, const ct_tensor *a, const ct_tensor *b)
{
    if (!a || !b) return NULL;
    ct_shape shape = ct_tensor_shape(a);
    int64_t n = shape.dim[0];
    shape.dim[0] += ct_tensor_dim(b, 0);
    ct_tensor *all = ct_empty(gp->device, gp->dtype, shape);
    ct_tensor *top = all ? ct_tensor_slice(all, 0, 0, n, 1) : NULL;
    ct_tensor *rest = all ? ct_tensor_slice(all, 0, n, shape.dim[0], 1) : NULL;
    bool good = top && rest && !ct_copy(a, top) && !ct_copy(b, rest);
    ct_release(top);
    ct_release(rest);
    if (good) return all;
    ct_release(all);
    return NULL;
}

/* Standardises new rows of t, like those of `old` in shape and units, and puts them under these. */
static ct_tensor *under(ct_gp *gp, const ct_tensor *old, const ct_tensor *t, const double *shift,
                        const double *scale, const char *what)
{
    double *x = ct__gp_doubles(t);
    ct_shape shape = ct_tensor_shape(old);
    shape.dim[0] = ct_tensor_dim(t, 0);
    ct_status s = !x                 ? CT_ENOMEM
                  : old == gp->given ? ct__gp_check_variances(gp->device, x, shape.dim[0])
                                     : ct__gp_check_finite(gp->device, x, shape.dim[0],
                                                           shape.ndim > 1 ? shape.dim[1] : 1, what);
    ct_tensor *fresh = s ? NULL : ct__gp_standardised(gp->device, gp->dtype, shape, x, shift, scale);
    ct_tensor *all = stacked(gp, old, fresh);
    ct_release(fresh);
    free(x);
    return all;
}

static ct_status check_new(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise)
{
    if (!X || !y) return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_append: X or y is NULL");
    ct_status s = ct__gp_check_inputs(gp, X, "ct_gp_append: X");
    if (!s) s = ct__gp_check_out(gp, y, ct_tensor_dim(X, 0), "ct_gp_append: y");
    if (!s && (gp->given != NULL) != (noise != NULL))
        s = ct_device_fail(
            gp->device, CT_EINVAL,
            "ct_gp_append: noise_variances belong with CT_NOISE_GIVEN and CT_NOISE_GIVEN_PLUS");
    return s ? s : ct__gp_check_out(gp, noise, ct_tensor_dim(X, 0), "ct_gp_append: noise_variances");
}

/* L of the rows of `fresh`, of which those from gp->n on are new. */
static ct_status append_factor(ct_gp *gp, rows *fresh)
{
    ct_tape_reset(gp->tape);
    ct_tensor *theta = ct_value(ct__gp_theta(gp, gp->tape)), *noise = ct_value(noise_from(gp, fresh, gp->n));
    ct_call *c = ct_scope_open(gp->tape, "append");
    ct_view all = ct_scratch(c, gp->dtype, ct__packed_shape(fresh->n));
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n), to = ct__packed_of(all, fresh->n);
    ct__packed_append(c, ct_kernel_program(gp->kernel), ct_view_of(theta), ct_view_of(fresh->X),
                      ct_view_of(noise), &L, &to);
    return close_factor(gp, c, all, fresh, "the new rows");
}

ct_status ct_gp_append(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise_variances)
{
    if (!gp) return CT_EINVAL;
    ct_status s = check_new(gp, X, y, noise_variances);
    int64_t k = s ? 0 : ct_tensor_dim(X, 0);
    if (s || !k) return s;
    double zero = 0, unit = gp->y_scale * gp->y_scale;
    rows fresh = { .n = gp->n + k };
    s = ct__gp_reserve(gp->device, ct_gp_bytes_needed(fresh.n, gp->d, gp->dtype, false), false,
                       "ct_gp_append: the model", "append fewer rows");
    if (s) return s;
    fresh.X = under(gp, gp->X, X, gp->shift, gp->scale, "X");
    fresh.y = fresh.X ? under(gp, gp->y, y, &gp->y_shift, &gp->y_scale, "y") : NULL;
    if (fresh.y && gp->given)
        fresh.given = under(gp, gp->given, noise_variances, &zero, &unit, "noise_variances");
    if (!fresh.y || (gp->given && !fresh.given)) s = ct_last_status(gp->device);
    if (!s) s = average_given(&fresh);
    if (!s && gp->factor.ready) s = append_factor(gp, &fresh);
    if (!s) return adopt(gp, &fresh);
    release_rows(&fresh);
    return s;
}

/* -- remove ---------------------------------------------------------------------------------------------- */

/* gone[i]: whether row i is to go. */
static ct_status mark(ct_gp *gp, const int64_t *index, int64_t count, bool *gone)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t row = index[i];
        if (row < 0 || row >= gp->n || gone[row])
            return ct_device_fail(gp->device, CT_EINDEX, "ct_gp_remove: row %lld %s", (long long)row,
                                  row >= 0 && row < gp->n ? "is named twice" : "is not there");
        gone[row] = true;
    }
    return CT_OK;
}

/* The rows of t (n, ...) that stay: (m, ...). */
static ct_tensor *kept(ct_gp *gp, ct_tensor *t, ct_tensor *index)
{
    ct_tape_reset(gp->tape);
    ct_var rest = ct_gather(ct_constant(gp->tape, t), ct_constant(gp->tape, index));
    ct_tensor *result = ct_value(rest) ? ct_retain(ct_value(rest)) : NULL;
    if (!result) ct__gp_tape_failed(gp, "the rows that stay");
    ct_tape_reset(gp->tape);
    return result;
}

/* L of the rows that stay, unless as many go that it is quicker to factorise what is left. */
static ct_status remove_factor(ct_gp *gp, const bool *gone, int64_t n_gone, rows *fresh)
{
    double work = 0, m = (double)fresh->n;
    for (int64_t i = 0; i < gp->n; i++) work += gone[i] ? (double)(gp->n - i) * (double)(gp->n - i) : 0;
    if (work > m * m * m / 40) return CT_OK; /* measured at m = 1000 and 3000 */
    int64_t *row = ct__gp_alloc(gp->device, (uint64_t)n_gone, sizeof *row), count = 0;
    if (!row) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n; i++)
        if (gone[i]) row[count++] = i;
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, "remove");
    ct_view rest = ct_scratch(c, gp->dtype, ct__packed_shape(fresh->n));
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n), to = ct__packed_of(rest, fresh->n);
    ct__packed_remove(c, &L, row, count, &to);
    free(row);
    return close_factor(gp, c, rest, fresh, "the rows that stay");
}

ct_status ct_gp_remove(ct_gp *gp, const int64_t *index, int64_t count)
{
    if (!gp) return CT_EINVAL;
    if (count < 0 || (count && !index))
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_remove: %lld rows, and no list of them",
                              (long long)count);
    if (!count) return CT_OK;
    if (count >= gp->n)
        return ct_device_fail(gp->device, CT_EINVAL,
                              "ct_gp_remove: %lld of %lld rows: one at least must stay", (long long)count,
                              (long long)gp->n);
    rows fresh = { .n = gp->n - count };
    bool *gone = ct__gp_alloc(gp->device, (uint64_t)gp->n, sizeof *gone);
    int64_t *stays = ct__gp_alloc(gp->device, (uint64_t)fresh.n, sizeof *stays), m = 0;
    ct_status s = gone && stays ? mark(gp, index, count, gone) : CT_ENOMEM;
    if (!s)
        s = ct__gp_reserve(gp->device, ct_gp_bytes_needed(fresh.n, gp->d, gp->dtype, false), false,
                           "ct_gp_remove: the smaller model", "free what else the device holds");
    for (int64_t i = 0; i < gp->n && !s; i++)
        if (!gone[i]) stays[m++] = i;
    ct_tensor *which = s ? NULL : ct_from(gp->device, CT_I64, ct_shape1(fresh.n), stays);
    if (which) fresh.X = kept(gp, gp->X, which);
    if (fresh.X) fresh.y = kept(gp, gp->y, which);
    if (fresh.y && gp->given) fresh.given = kept(gp, gp->given, which);
    if (!s && (!fresh.y || (gp->given && !fresh.given))) s = ct_last_status(gp->device);
    if (!s) s = average_given(&fresh);
    if (!s && gp->factor.ready) s = remove_factor(gp, gone, count, &fresh);
    ct_release(which);
    free(gone);
    free(stays);
    if (!s) return adopt(gp, &fresh);
    release_rows(&fresh);
    return s;
}
