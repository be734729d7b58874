/* Compressed tables. */
#ifndef CTGP_UNPACK_H
#define CTGP_UNPACK_H

#include "source.h"

/* Replaces the text of a gzip file [RFC 1952] by what it holds. Leaves any other text alone, and every text
 * in a build without zlib. */
void unpack(ctgp *c, source *t);

#endif
