/* With CT_TEST_ISA the programs of tests use no better instruction set than that number (kernel/isa.h). */
#include "tensor/cpu/kernel/isa.h"

#include <stdlib.h>

ct__isa __real_ct__best_isa(void);
ct__isa __wrap_ct__best_isa(void);

ct__isa __wrap_ct__best_isa(void)
{
    const char *asked = getenv("CT_TEST_ISA");
    const ct__isa best = __real_ct__best_isa(), most = asked ? (ct__isa)atoi(asked) : best;
    return most < best ? most : best;
}
