/* ctgp started by mpirun. */
#ifndef CTGP_MANY_H
#define CTGP_MANY_H

#include <stdio.h>

#include "ctgp.h"

/* The processes that hold a model together: all that mpirun started, or NULL for this one alone. */
ct_comm *many(void);
/* Begins a command. If only one process can run it, the others end; else they go on and print nothing. */
void many_begin(ctgp *c, bool together);
/* Standard error, also in a process that prints nothing else. */
FILE *many_voice(void);
/* Ends the command in all processes, also where it failed in one of them alone. All get the same code. */
void many_end(ctgp *c);
/* Copies bytes from process 0 to all. Fails with the code of a process that has failed. */
void many_share(ctgp *c, void *data, size_t bytes);

#endif
