/* The likelihood of outputs that share their covariance. */
#ifndef CT_GP_SHARED_H
#define CT_GP_SHARED_H

#include "likelihood.h"

extern const ct__likelihood ct__shared;
extern const struct ct_op ct__op_nlml_shared; /* outputs.h */

#endif
