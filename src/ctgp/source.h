/* What a table is read from. */
#ifndef CTGP_SOURCE_H
#define CTGP_SOURCE_H

#include "ctgp.h"

typedef struct source {
    const char *name; /* for messages: the path, or "standard input" */
    const char *data; /* [size], held by one of the members below */
    size_t size;
    ct_device *device;
    ct_bytes file;
    char *input;
    bool noted; /* the notes on the table are printed */
} source;

/* Reads a whole file or pipe, or for "-" standard input. */
source *source_open(ctgp *c, const char *path);
/* Releases it before the command ends. */
void source_close(ctgp *c, source *t);

#endif
