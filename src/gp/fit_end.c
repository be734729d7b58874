/* How a fit can end. */
#include <cotangent/gp.h>

bool ct_fit_converged(ct_fit_end end) { return end >= CT_FIT_GRADIENT && end <= CT_FIT_FIXED; }

const char *ct_fit_end_text(ct_fit_end end)
{
    switch (end) {
    case CT_FIT_GRADIENT: return "gradient below the tolerance";
    case CT_FIT_FLAT: return "steps no longer change the objective";
    case CT_FIT_FIXED: return "every parameter is fixed";
    case CT_FIT_ITERATIONS: return "iteration limit";
    case CT_FIT_EVALUATIONS: return "evaluation limit";
    case CT_FIT_STALLED: return "stalled: the line search finds no lower point";
    case CT_FIT_STOPPED: return "interrupted";
    case CT_FIT_UNBEGUN: return "not begun";
    case CT_FIT_FAILED: return "failed";
    case CT_FIT_UNTOLD: break;
    }
    return "unknown";
}
