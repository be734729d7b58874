/* Everything of the library for exact Gaussian processes, libcotangent-gp, in one include. gp/mpi.h is apart,
 * because it needs MPI.
 *
 *     ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), NULL);
 *     ct_status s = gp ? ct_gp_fit(gp, NULL) : ct_last_status(device);
 *     if (!s) s = ct_gp_predict(gp, Xs, mean, variance);
 *     if (s) fprintf(stderr, "%s\n", ct_message(device)); */
#ifndef COTANGENT_GP_H
#define COTANGENT_GP_H

#include <cotangent/gp/choose.h>
#include <cotangent/gp/column.h>
#include <cotangent/gp/comm.h>
#include <cotangent/gp/csv.h>
#include <cotangent/gp/file.h>
#include <cotangent/gp/fit.h>
#include <cotangent/gp/kernel.h>
#include <cotangent/gp/likelihood.h>
#include <cotangent/gp/loo.h>
#include <cotangent/gp/model.h>
#include <cotangent/gp/number.h>
#include <cotangent/gp/numerics.h>
#include <cotangent/gp/outputs.h>
#include <cotangent/gp/predict.h>
#include <cotangent/gp/season.h>
#include <cotangent/gp/sensitivity.h>
#include <cotangent/gp/transform.h>
#include <cotangent/gp/trend.h>
#include <cotangent/gp/update.h>

#endif
