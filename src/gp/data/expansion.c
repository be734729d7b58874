/* A term of a basis in standardised inputs. A column is x = shift + scale s = c (u + v s) with |u| + v = 1,
 * and by the binomial theorem
 *     Π x^a = Π c^a · Π Σ_j (a over j) u^(a-j) v^j s^j
 * where all coefficients after Π c^a are at most 1. */
#include "trend.h"

#include <math.h>

/* x = c (u + v s) with |u| + v = 1 */
static double size_of(const ct_gp *gp, int column) { return fabs(gp->shift[column]) + gp->scale[column]; }

double ct__term_size(const ct_gp *gp, const ct__term *t)
{
    double size = 1;
    for (int k = 0; k < t->factors; k++) size *= pow(size_of(gp, t->column[k]), t->power[k]);
    return size > 1e-300 ? size : 0;
}

/* The index of a monomial, which is added if it is new; -1 if there are too many. */
static int64_t index_of(ct__trend *t, const ct__term *m)
{
    int64_t k = 0;
    while (k < t->monomials && !ct__term_equal(&t->monomial[k], m)) k++;
    if (k == CT__MOST_MONOMIALS) return -1;
    if (k == t->monomials) t->monomial[t->monomials++] = *m;
    return k;
}

/* Adds the expansion of Π (u + v s)^power to the coefficients e (NULL: only lists its monomials), recursively
 * from factor k on; m and `weight` come from the factors before. False if there are too many monomials. */
static bool expand(const ct_gp *gp, ct__trend *t, const ct__term *h, int k, ct__term m, double weight,
                   double *e)
{
    if (k == h->factors) {
        int64_t at = index_of(t, &m);
        if (at >= 0 && e) e[at] += weight;
        return at >= 0;
    }
    const double c = size_of(gp, h->column[k]), u = gp->shift[h->column[k]] / c,
                 v = gp->scale[h->column[k]] / c;
    double choose = 1; /* power over j */
    bool good = true;
    for (int j = 0; j <= h->power[k] && good; j++) {
        ct__term with = m;
        if (j) with.column[with.factors] = h->column[k], with.power[with.factors++] = j;
        const double share = choose * pow(u, h->power[k] - j) * pow(v, j);
        if (share != 0) good = expand(gp, t, h, k + 1, with, weight * share, e);
        choose *= (double)(h->power[k] - j) / (j + 1);
    }
    return good;
}

bool ct__term_expand(const ct_gp *gp, ct__trend *t, int64_t k, double *e)
{
    return expand(gp, t, &t->basis.term[k], 0, (ct__term){ 0 }, 1, e);
}

void ct__monomials_at(const ct__trend *t, const double *s, double *mono)
{
    for (int64_t k = 0; k < t->monomials; k++) {
        const ct__term *m = &t->monomial[k];
        mono[k] = 1;
        for (int f = 0; f < m->factors; f++)
            for (int j = 0; j < m->power[f]; j++) mono[k] *= s[m->column[f]];
    }
}
