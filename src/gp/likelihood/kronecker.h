/* A likelihood by Kronecker products, as an op (outputs.h). */
#ifndef CT_GP_KRONECKER_H
#define CT_GP_KRONECKER_H

#include <cotangent/op.h>

extern const struct ct_op ct__op_nlml_kronecker;

#endif
