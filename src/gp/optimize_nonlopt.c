/* A build without NLopt has no L-BFGS. */
#include "gp/model/model.h"

const bool ct__has_lbfgs = false;

ct__search_end ct__search_lbfgs(ct__search *s)
{
    (void)s;
    return CT__SEARCH_ABSENT;
}
