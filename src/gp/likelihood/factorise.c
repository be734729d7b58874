#include "factorise.h"

#include <math.h>

#include "dense.h"
#include "gp/data/numbers.h"
#include "gp/model/memory.h"
#include "ladder.h"
#include "likelihood.h"

/* Stores L and alpha in the model; *value: the likelihood. */
static ct_status attempt(ct_gp *gp, const double *s, double jitter, void *value)
{
    const ct__graph g = ct__graph_of(gp, s, jitter, false);
    const ct_view in[] = { ct_view_of(ct_value(g.theta)), ct_view_of(ct_value(g.X)),
                           ct_view_of(ct_value(g.residual)), ct_view_of(ct_value(g.variance)) };
    ct_call *c = ct_scope_open(gp->tape, "factorisation");
    ct_view alpha = ct_scratch(c, gp->rows.dtype, ct_shape2(gp->rows.n, 1)),
            nlml = ct_scratch(c, gp->rows.dtype, ct_shape0());
    ct__system system = ct__system_of(c, ct_kernel_program(gp->kernel), in, alpha, false, ct__gp_grid(gp));
    ct_prim_fill(c, nlml, NAN);
    if (ct__system_solve(c, &system, false)) ct__nlml_value(c, in[2], alpha, system.diagonal, nlml);
    const double v = *(double *)value = ct_call_item(c, nlml);
    gp->factor = (ct__kept){ .L = ct_tensor_of(c, system.C.numbers), .alpha = ct_tensor_of(c, alpha) };
    ct_scope_close(c);
    const ct_status status = ct_tape_status(gp->tape);
    if (status || !isfinite(v)) ct__kept_drop(&gp->factor);
    return status ? status : isfinite(v) ? CT_OK : CT_ENUMERIC;
}

/* What the model's likelihood has besides L and alpha. */
static ct_status finish(ct_gp *gp)
{
    return gp->likelihood.row->complete ? gp->likelihood.row->complete(gp) : CT_OK;
}

/* Makes all processes of a communicator have a factor of the same values, or none. */
static ct_status agree(ct_gp *gp)
{
    ct_comm *comm = gp->options.comm;
    int64_t missing = !gp->factor.ready;
    if (ct__comm_is_one(comm)) return CT_OK;
    ct_status s = ct__comm_agree(comm, gp->device, CT_OK, &missing);
    if (!s && missing) ct__kept_drop(&gp->factor);
    if (s) return s;
    return ct__comm_same(comm, gp->device, gp->params.s, (size_t)gp->params.count * sizeof *gp->params.s,
                         "the parameters");
}

ct_status ct__gp_factorise(ct_gp *gp)
{
    double nlml, jitter;
    ct_status status = agree(gp);
    if (status || gp->factor.ready) return status;
    status = ct__gp_reserve(gp->device, gp->likelihood.row->bytes(gp, 0, false), gp->rows.dtype == CT_F64,
                            "a factorisation", "use fewer rows");
    if (status) return status;
    status = ct__ladder(gp, gp->params.s, false, attempt, &nlml, &jitter);
    ct_tape_reset(gp->tape);
    status = ct__comm_agree(gp->options.comm, gp->device, status, NULL);
    if (!status) gp->factor.jitter = jitter;
    if (!status) gp->factor.nlml = nlml + ct__target_volume(&gp->target, gp->rows.n);
    if (!status) status = finish(gp);
    if (status) ct__kept_drop(&gp->factor);
    gp->factor.ready = !status;
    return status;
}

ct_status ct__gp_complete(ct_gp *gp)
{
    ct_tape_reset(gp->tape);
    ct__graph g = ct__gp_present(gp, gp->factor.jitter);
    ct_view y = ct_view_of(ct_value(g.residual)),
            C_diagonal = ct_view_of(ct_value(ct__graph_diagonal(gp, &g)));
    ct_call *c = ct_scope_open(gp->tape, "the new factor");
    const ct__factor L = ct__gp_factor_of(gp);
    ct_view L_diagonal = ct_scratch(c, gp->rows.dtype, ct_shape1(gp->rows.n));
    ct_view line = ct_scratch(c, gp->rows.dtype, ct_shape2(1, gp->rows.n));
    ct_view alpha = ct_view_reshape(line, ct_shape2(gp->rows.n, 1)),
            nlml = ct_scratch(c, gp->rows.dtype, ct_shape0());
    ct_prim_copy(c, y, alpha);
    ct__factor_solve(c, &L, 0, line);
    ct__factor_solve_trans(c, &L, 0, line);
    ct__factor_diagonal(c, &L, L_diagonal);
    ct_prim_flag_pivots(c, ct__gp_rounding(gp->rows.dtype), C_diagonal, L_diagonal, alpha);
    ct__nlml_value(c, y, alpha, L_diagonal, nlml);
    gp->factor.nlml = ct_call_item(c, nlml) + ct__target_volume(&gp->target, gp->rows.n);
    gp->factor.alpha = ct_tensor_of(c, alpha);
    ct_scope_close(c);
    ct_status s = ct_tape_status(gp->tape);
    if (!s && !isfinite(gp->factor.nlml)) s = CT_ENUMERIC;
    if (s && s != CT_ENUMERIC) return ct__gp_tape_failed(gp, "the new factor");
    ct_tape_reset(gp->tape);
    if (!s) s = finish(gp);
    gp->factor.ready = !s;
    return s;
}

/* -- from the factor ------------------------------------------------------------------------------------- */

/* Whether the model has a factor now. */
static bool factorised(ct_gp *gp)
{
    if (!gp) return false;
    ct__gp_enter(gp);
    return !ct__gp_leave(gp, ct__gp_factorise(gp));
}

double ct_gp_nlml_value(ct_gp *gp) { return factorised(gp) ? gp->factor.nlml : NAN; }

double ct_gp_jitter(ct_gp *gp)
{
    return factorised(gp) ? gp->factor.jitter * gp->target.scale * gp->target.scale : NAN;
}
