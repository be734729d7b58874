/* gp_nlml over the processes of a communicator: as dense.c, with each process's tiles of the matrix.
 * Collective. */
#include "dense.h"
#include "gp/model/graph.h"

static ct_shape shape(ct_call *c)
{
    ct_require(c, !ct_call_wants(c, CT__POINTS), CT_EUNSUPPORTED,
               "over many processes there is no gradient in the points");
    return ct__density_shape(c, false, ct__nlml_wants_inverse(c));
}

static void forward(ct_call *c)
{
    ct__grid grid;
    ct__cov_extra(ct_attr(c), &grid, sizeof grid);
    ct__nlml_compute(c, grid);
}

static void vjp(ct_rule *g) { ct__density_vjp(g, ct__nlml_composed); }

static const ct_op op = {
    .name = "gp_nlml", .n_in = CT__DENSITY_INPUTS, .shape = shape, .forward = forward, .vjp = vjp
};

static ct_var objective(ct_gp *gp, const ct__graph *g)
{
    const ct__grid grid = ct__gp_grid(gp);
    return ct__cov_apply_with(&op, ct_kernel_program(gp->kernel), &grid, sizeof grid,
                              (ct_var[]){ g->theta, g->X, g->residual, g->variance }, CT__DENSITY_INPUTS);
}

const ct__likelihood ct__over_processes = {
    .name = "over processes",
    .is = CT__ON_PROCESSES,
    .refusal = { { CT__BY_LEAVE_ONE_OUT | CT__IN_MIXED_PRECISION,
                   "over many processes there is only the likelihood in full precision" },
                 { CT__WITH_BASIS, "over many processes there is no basis: take another mean" },
                 { CT__SEVERAL_OUTPUTS, "several outputs cannot share a communicator" } },
    .bytes = ct__nlml_bytes,
    .objective = objective
};
