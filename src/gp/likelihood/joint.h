/* The likelihood of a joint model, whose rows are pairs of a point and an output. */
#ifndef CT_GP_JOINT_H
#define CT_GP_JOINT_H

#include "likelihood.h"

/* Sets grid and pivot for a joint model, which then takes its row anew. */
ct_status ct__joint_find_grid(ct_gp *gp);

#endif
