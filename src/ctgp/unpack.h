/* Compressed tables. */
#ifndef CTGP_UNPACK_H
#define CTGP_UNPACK_H

#include "context.h"

/* What a gzip file of this name [RFC 1952] holds. NULL for any other text, and for every one in a build
 * without zlib. */
memory_file *unpack(ctgp *c, const char *name, const char *data, size_t size);

#endif
