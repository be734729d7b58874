/* The covariances that a choice tries. */
#ifndef CT_GP_CANDIDATES_H
#define CT_GP_CANDIDATES_H

#include <cotangent/gp/choose.h>

/* Checks the options of a choice by `rows` rows, and lists the candidates in choice->tried. */
ct_status ct__candidates(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                         const ct_gp_choose_options *how, int64_t rows, ct_gp_choice *choice);

#endif
