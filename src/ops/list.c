/* The list of ops: those of maps.h, then those that the files of this folder define. The build collects the
 * latter in ops.inc, one row OP(name, ) for each. */
#include <cotangent/op.h>

#include <string.h>

#define OP(name, ...) extern const ct_op ct_op_##name;
CT_MAPS1(OP)
CT_MAPS2(OP)
#include "ops/ops.inc"
#undef OP

#define OP(name, ...) &ct_op_##name,
static const ct_op *const ops[] = { CT_MAPS1(OP) CT_MAPS2(OP)
#include "ops/ops.inc"
};

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
