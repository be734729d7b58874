/* The list of ops as a table. */
#include "list.h"

#include <string.h>

#define ADDRESS(name) &ct_op_##name,
static const ct_op *const ops[] = { CT_OPS(ADDRESS) };
#undef ADDRESS

const ct_op *const *ct_op_list(int *n)
{
    if (n) *n = (int)(sizeof ops / sizeof *ops);
    return ops;
}

const ct_op *ct_op_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}
