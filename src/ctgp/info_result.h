/* ctgp info: what it says of an output. */
#ifndef CTGP_INFO_RESULT_H
#define CTGP_INFO_RESULT_H

#include "frame.h"
#include "result.h"

/* What ctgp info says of an output. `factor`: the file has it. `table`: the rows that the model has learned,
 * or NULL. Without `seed` there is no sensitivity. */
void write_info(writer *w, ct_gp *gp, bool factor, const frame *table, const uint64_t *seed);

#endif
