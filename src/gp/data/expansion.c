/* A term of a basis in standardised inputs. A column is x = shift + scale s = c (u + v s) with |u| + v = 1,
 * and by the binomial theorem
 *     Π x^a = Π c^a · Π Σ_j (a over j) u^(a-j) v^j s^j
 * where all coefficients after Π c^a are at most 1. */
#include "expansion.h"

#include <math.h>

/* x = c (u + v s) with |u| + v = 1 */
static double size_of(const ct__data_rows *rows, int column)
{
    return fabs(rows->shift[column]) + rows->scale[column];
}

double ct__term_size(const ct__data_rows *rows, const ct__term *t)
{
    double size = 1;
    for (int k = 0; k < t->factors; k++) size *= pow(size_of(rows, t->column[k]), t->power[k]);
    return size > 1e-300 ? size : 0;
}

/* The index of a monomial, which is added if it is new; -1 if there are too many. */
static int64_t index_of(ct__monomials *all, const ct__term *m)
{
    int64_t k = 0;
    while (k < all->count && !ct__term_equal(&all->term[k], m)) k++;
    if (k == CT__MOST_MONOMIALS) return -1;
    if (k == all->count) all->term[all->count++] = *m;
    return k;
}

/* Adds the expansion of Π (u + v s)^power to the coefficients e (NULL: only lists its monomials), recursively
 * from factor k on; m and `weight` come from the factors before. False if there are too many monomials. */
static bool expand(const ct__data_rows *rows, ct__monomials *all, const ct__term *h, int k, ct__term m,
                   double weight, double *e)
{
    if (k == h->factors) {
        int64_t at = index_of(all, &m);
        if (at >= 0 && e) e[at] += weight;
        return at >= 0;
    }
    const double c = size_of(rows, h->column[k]), u = rows->shift[h->column[k]] / c,
                 v = rows->scale[h->column[k]] / c;
    double choose = 1; /* power over j */
    bool good = true;
    for (int j = 0; j <= h->power[k] && good; j++) {
        ct__term with = m;
        if (j) with.column[with.factors] = h->column[k], with.power[with.factors++] = j;
        const double share = choose * pow(u, h->power[k] - j) * pow(v, j);
        if (share != 0) good = expand(rows, all, h, k + 1, with, weight * share, e);
        choose *= (double)(h->power[k] - j) / (j + 1);
    }
    return good;
}

bool ct__term_expand(const ct__data_rows *rows, ct__monomials *m, const ct__term *h, double *e)
{
    return expand(rows, m, h, 0, (ct__term){ 0 }, 1, e);
}

void ct__monomials_at(const ct__monomials *m, const double *s, double *mono)
{
    for (int64_t k = 0; k < m->count; k++) {
        const ct__term *t = &m->term[k];
        mono[k] = 1;
        for (int f = 0; f < t->factors; f++)
            for (int j = 0; j < t->power[f]; j++) mono[k] *= s[t->column[f]];
    }
}
