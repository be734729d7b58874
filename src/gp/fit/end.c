/* The ways in which a fit can end. */
#include <cotangent/gp/fit.h>

bool ct_fit_converged(ct_fit_end end) { return end >= CT_FIT_GRADIENT && end <= CT_FIT_FIXED; }

const char *ct_fit_end_text(ct_fit_end end)
{
    static const char *const text[] = {
        [CT_FIT_UNKNOWN] = "unknown",
        [CT_FIT_GRADIENT] = "gradient below the tolerance",
        [CT_FIT_FLAT] = "steps no longer change the objective",
        [CT_FIT_FIXED] = "every parameter is fixed",
        [CT_FIT_ITERATIONS] = "iteration limit",
        [CT_FIT_EVALUATIONS] = "evaluation limit",
        [CT_FIT_STALLED] = "stalled: the line search finds no lower point",
        [CT_FIT_STOPPED] = "interrupted",
        [CT_FIT_NOT_STARTED] = "not started",
        [CT_FIT_FAILED] = "failed",
    };
    return text[(unsigned)end <= CT_FIT_FAILED ? end : CT_FIT_UNKNOWN];
}
