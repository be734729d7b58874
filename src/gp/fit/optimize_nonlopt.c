/* A build without NLopt has no L-BFGS. */
#include "optimize.h"

const bool ct__has_lbfgs = false;

ct_fit_end ct__search_lbfgs(ct__search *s)
{
    (void)s;
    return CT_FIT_FAILED;
}
