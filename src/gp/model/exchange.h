/* Checks and converts the caller's tensors. */
#ifndef CT_GP_EXCHANGE_H
#define CT_GP_EXCHANGE_H

#include "model.h"

/* Fails unless t has f64 or f32 numbers on the model's device; the message begins with `what`. */
ct_status ct__gp_check_numbers(ct_gp *gp, const ct_tensor *t, const char *what);
/* Fails unless `out` (may be NULL) can take m numbers. */
ct_status ct__gp_check_out(ct_gp *gp, const ct_tensor *out, int64_t m, const char *what);
/* Fails unless X is (rows, d), numbers, on the model's device. */
ct_status ct__gp_check_inputs(ct_gp *gp, const ct_tensor *X, const char *what);
/* Fails unless `noise` (may be NULL) has that many rows. */
ct_status ct__gp_check_noise(ct_gp *gp, const ct_tensor *noise, int64_t rows, const char *what);
/* CT_ENUMERIC if out cannot hold one of these numbers. */
ct_status ct__gp_check_results(ct_gp *gp, const double *host, const ct_tensor *out);
/* The points Xs (m, ct__gp_cols), in the units of the data, as the model's (m, d): standardised and, of a
 * joint model, with the output's code. */
ct_tensor *ct__gp_points(const ct_gp *gp, const ct_tensor *Xs);
/* Writes host numbers, in a communicator those of process 0, to out, whatever its dtype, shape and strides.
 * */
ct_status ct__gp_deliver(ct_gp *gp, double *host, ct_tensor *out);
/* Reads a value of gp's tape as doubles; `what` names it in the message if the tape has failed. */
ct_status ct__gp_fetch(ct_gp *gp, ct_var v, const char *what, double *out);
/* Closes the scope c on gp's tape and reads x of it as doubles. */
ct_status ct__gp_close_with(ct_gp *gp, struct ct_call *c, ct_view x, const char *what, double *out);
/* Reads the n numbers that `line_of` computes from the factor. The model must have one. */
ct_status ct__gp_fetch_line(ct_gp *gp, void (*line_of)(ct_call *c, const ct__factor *L, ct_view line),
                            const char *what, double *out);

#endif
