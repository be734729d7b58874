/* Basis functions of a trend: products of powers of the input columns. */
#ifndef CT_GP_BASIS_H
#define CT_GP_BASIS_H

#include <cotangent/gp/trend.h>

enum { CT__BASIS_TERMS = CT_GP_FUNCTIONS, CT__BASIS_DEGREE = 8 };

/* Π_k x_column[k], k < degree, columns ascending: [0, 0, 2] is x0² x2; 1 if there are no factors. */
typedef struct ct__term {
    int degree, column[CT__BASIS_DEGREE];
} ct__term;

typedef struct ct__basis {
    int count;
    ct__term term[CT__BASIS_TERMS];
} ct__basis;

/* Reads
 *     basis  = term { "+" term }        term  = factor { "*" factor }
 *     factor = "1" | column [ "^" power ]
 * A column is the name of one of columns[0..d), in double quotes unless it consists of letters, digits, "_"
 * and "."; or x0, x1, ..., unless a column has that name. With columns = NULL only x0, x1, ... are known. On
 * CT_EFORMAT the message has three lines: the reason, the text, and a caret under the place. */
ct_status ct__basis_parse(ct_device *device, const char *text, const ct_column *columns, int64_t d,
                          ct__basis *b);
/* Text that parses to the same term, or with columns = NULL to the same basis. Size and result as for
 * snprintf. */
size_t ct__term_print(const ct__term *t, const ct_column *columns, char *text, size_t size);
size_t ct__basis_print(const ct__basis *b, char *text, size_t size);

bool ct__term_equal(const ct__term *a, const ct__term *b);

#endif
