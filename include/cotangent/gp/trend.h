/* A trend (CT_MEAN_BASIS): y = h(x)ᵀβ + f(x) + ε with a flat prior on β: universal kriging. The text of a
 * basis is
 *     basis  = term { "+" term }        term  = factor { "*" factor }
 *     factor = "1" | column [ "^" power ]
 * A column is an input's name, in double quotes unless it consists of letters, digits, "_" and "."; or x0,
 * x1, ..., unless a column has that name. A function has a degree of up to 8 in the columns, which are in the
 * units of the data; none is a category. CT_EFORMAT for a wrong text; the message has three lines: the
 * reason, the text, and a caret under the place. A prediction takes a few more numbers for each point and
 * function.
 *
 * With C = k(X, X) + diag(noise), H (n, p) with rows h(x_i)ᵀ, A = HᵀC⁻¹H and β̂ = A⁻¹HᵀC⁻¹y, the model has
 *     -log p(y) = ½ (y - Hβ̂)ᵀC⁻¹(y - Hβ̂) + ½ log det C + ½ log det A + (n-p)/2 log 2π
 *     mean*     = h(x*)ᵀβ̂ + k*ᵀC⁻¹(y - Hβ̂)
 *     variance* = k(x*, x*) - k*ᵀC⁻¹k* + RᵀA⁻¹R,   R = h(x*) - HᵀC⁻¹k*
 * With a transform y is z here. Adding a combination of the functions to y adds it to the predictions and
 * changes nothing else. Leave-one-out estimates β without the row. Making a model, and appending or removing
 * rows, is CT_EINVAL if there are not more rows than functions, or if a function is a combination of those
 * before it on these rows; the message names it. CT_EUNSUPPORTED: the leave-one-out objective, mixed
 * precision, and models over many processes. The likelihoods of models with different functions cannot be
 * compared. [O'Hagan 1978; Rasmussen & Williams 2006, §2.7, eqs 2.41-2.45] */
#ifndef COTANGENT_GP_TREND_H
#define COTANGENT_GP_TREND_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

enum { CT_GP_FUNCTIONS = 64 }; /* the most functions */

/* The number p of functions; 0 without a basis. */
CT_API int64_t ct_gp_functions(const ct_gp *gp);
/* Writes function i with the names of the columns, such as "x^2". Size and result as for snprintf; 0 out of
 * range. */
CT_API size_t ct_gp_function(const ct_gp *gp, int64_t i, char *text, size_t size);
/* β̂ (p) and its standard errors (p), the roots of diag A⁻¹, in the units of the data. Either may be NULL. */
CT_API ct_status ct_gp_coefficients(ct_gp *gp, double *value, double *error);

CT_END_DECLS
#endif
