/* The levels of a category. */
#ifndef CT_GP_CSV_LEVELS_H
#define CT_GP_CSV_LEVELS_H

#include <cotangent/device.h>
#include <cotangent/gp/column.h>

/* Distinct texts, numbered in order of appearance. Zero-initialise, then set the device. */
typedef struct ct__levels {
    ct_device *device;
    char *text; /* each with a NUL */
    size_t used, room;
    size_t *at; /* [n]: where the texts begin */
    size_t n, capacity;
    int64_t *slot; /* [slots], a power of two: a text's number, or -1 */
    size_t slots;
} ct__levels;

/* The number of the text's level; -1 if there is none. */
int64_t ct__levels_find(const ct__levels *l, const char *text, size_t size);
/* The same, but adds a level if there is none; -1 if memory is exhausted. */
int64_t ct__levels_add(ct__levels *l, const char *text, size_t size);
void ct__levels_drop(ct__levels *l);
/* Gives the column a copy of the levels, in one block to be freed. If `number` is not NULL they are sorted,
 * and level i becomes level number[i]. */
ct_status ct__levels_give(const ct__levels *l, ct_column *c, int64_t *number);

#endif
