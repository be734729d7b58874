/* The meaning of the numbers in a table's column. */
#ifndef COTANGENT_GP_COLUMN_H
#define COTANGENT_GP_COLUMN_H

#include <cotangent/gp/number.h>

typedef enum ct_column_kind {
    CT_COLUMN_NUMBER = 0,
    CT_COLUMN_CATEGORY, /* i stands for levels[i], -1 for a level that is not among them */
    CT_COLUMN_TIME,     /* days since 1970-01-01T00:00:00Z [ISO 8601] */
    CT_COLUMN_FILLED,   /* a number; a missing cell is the number `fill` */
    CT_COLUMN_ABSENT,   /* 1 where a column of the kind before has a missing cell, else 0 */
} ct_column_kind;

typedef struct ct_column {
    const char *name;
    ct_column_kind kind;
    const char *const *levels; /* of a category: different texts; else NULL */
    int64_t n_levels;
    ct_time_form form; /* of a time: how a table writes it */
    double fill;       /* of CT_COLUMN_FILLED */
} ct_column;

/* The fewest letters that are inserted, left out, changed or swapped with the next to make one name of the
 * other, in any case [Damerau 1964]. INT_MAX for NULL and for a name of more than 48 bytes. */
CT_API int ct_name_distance(const char *a, const char *b);
/* Whether a name at this distance is likely the one that was meant: at most every third letter of `asked` is
 * wrong. */
CT_API bool ct_name_is_near(const char *asked, int distance);

#endif
