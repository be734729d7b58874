/* The parameters in standardised coordinates: units, starts, priors and bounds. */
#ifndef CT_GP_PARAM_UNITS_H
#define CT_GP_PARAM_UNITS_H

#include "model.h"

/* unit and origin of parameter i. */
double ct__gp_unit(const ct_gp *gp, int64_t i);
double ct__gp_origin(const ct_gp *gp, int64_t i);
bool ct__gp_positive(const ct_gp *gp, int64_t i);
double ct__gp_z_of(const ct_gp *gp, int64_t i, double v);
double ct__gp_v_of(const ct_gp *gp, int64_t i, double z);
/* Sets starts and priors from the data where the kernel has none. */
void ct__gp_first_values(ct_gp *gp);
/* Parameter i: its bounds in z; the standard deviation in z of a restart's draw. */
void ct__gp_bounds(const ct_gp *gp, int64_t i, double *lower, double *upper);
double ct__gp_draw_width(const ct_gp *gp, int64_t i);

#endif
