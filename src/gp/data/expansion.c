/* A term of a basis in standardised inputs. A column is x = shift + scale s = c (u + v s) with |u| + v = 1,
 * so that
 *     Π x = Π c · Π (u + v s)
 * where all coefficients after Π c are at most 1. */
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
    for (int k = 0; k < t->degree; k++) size *= size_of(rows, t->column[k]);
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

/* Adds the expansion of Π (u + v s) to the coefficients e (NULL: only lists its monomials), recursively from
 * factor k on; m and `weight` come from the factors before. False if there are too many monomials. */
static bool expand(const ct__data_rows *rows, ct__monomials *all, const ct__term *h, int k, ct__term m,
                   double weight, double *e)
{
    if (k == h->degree) {
        int64_t at = index_of(all, &m);
        if (at >= 0 && e) e[at] += weight;
        return at >= 0;
    }
    const int column = h->column[k];
    const double c = size_of(rows, column), u = rows->shift[column] / c, v = rows->scale[column] / c;
    if (u != 0 && !expand(rows, all, h, k + 1, m, weight * u, e)) return false;
    m.column[m.degree++] = column;
    return expand(rows, all, h, k + 1, m, weight * v, e);
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
        for (int f = 0; f < t->degree; f++) mono[k] *= s[t->column[f]];
    }
}
