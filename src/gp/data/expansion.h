/* The terms of a basis, expanded in standardised inputs. */
#ifndef CT_GP_EXPANSION_H
#define CT_GP_EXPANSION_H

#include "basis.h"
#include "rows.h"

enum { CT__MOST_MONOMIALS = 1024 };

/* Products of powers of the columns of s. */
typedef struct ct__monomials {
    int64_t count;
    ct__term *term; /* [CT__MOST_MONOMIALS] */
} ct__monomials;

/* The factor Π c before the expansion of a term; 0 or infinite if it leaves the range of numbers. */
double ct__term_size(const ct__data_rows *rows, const ct__term *t);
/* Adds the expansion of h, without that factor, to the coefficients e (count; NULL: skipped), and its new
 * monomials to m. False if there are more than CT__MOST_MONOMIALS. */
bool ct__term_expand(const ct__data_rows *rows, ct__monomials *m, const ct__term *h, double *e);
/* mono (count) at s (d) */
void ct__monomials_at(const ct__monomials *m, const double *s, double *mono);

#endif
