/* What a command owns: its device, memory and tensors; and its standard output. */
#ifndef CTGP_CONTEXT_H
#define CTGP_CONTEXT_H

#include <stdio.h>

#include "ctgp.h"

/* Zeroed memory for n things; fails with "no memory for 17 rows". */
void *take(ctgp *c, int64_t n, size_t size, const char *what);
/* A text that is made by a format. */
char *text_of(ctgp *c, const char *format, ...) CT_PRINTF(2, 3);
/* A number in the fewest digits that read back as it. */
const char *number_text(ctgp *c, double value);
/* Hands an object to the context, which calls `release`. NULL is a failure of the device, or one of memory.
 * */
void *own(ctgp *c, void *object, void (*release)(void *object));
ct_tensor *own_tensor(ctgp *c, ct_tensor *tensor);
/* Takes an object (may be NULL) back from the context, for a function that will own it. */
void *disown(ctgp *c, void *object);
/* Releases what the context owns, the last first, down to what c->owned was before; all for NULL. */
void give_back(ctgp *c, const owned *until);
/* Opens the command's device, unless it is open. */
void open_device(ctgp *c);
/* A new tensor in f64, and the numbers of one. */
ct_tensor *new_tensor(ctgp *c, ct_shape shape);
double *tensor_values(ctgp *c, const ct_tensor *tensor);

/* A file in memory. */
typedef struct memory_file {
    FILE *to;
    char *text; /* [size], once it is ended */
    size_t size;
} memory_file;

memory_file *memory_open(ctgp *c, const char *what);
/* Ends it; fails with "no memory for the picture" where it lacks a part. */
void memory_end(ctgp *c, memory_file *m, const char *what);

/* Ends what goes to standard output. It fails where that could not all be written, to a full disk or a closed
 * pipe. */
void end_output(ctgp *c);

#endif
