/* Table of the GP's ops, for tests. */
#include <cotangent/gp/likelihood.h>

#include "dense.h"
#include "kronecker.h"
#include "leave_one_out.h"
#include "shared.h"

const ct_op *const *ct_gp_op_list(int *n)
{
    static const ct_op *const ops[] = { &ct_op_cov,          &ct_op_cov_diag,     &ct__op_gp_nlml,
                                        &ct__op_gp_loo_nlpd, &ct__op_nlml_shared, &ct__op_nlml_kronecker };
    if (n) *n = (int)(sizeof ops / sizeof *ops);
    return ops;
}
