/* Compressed tables, by zlib. */
#include "unpack.h"

#include <stdlib.h>
#include <zlib.h>

#include "context.h"
#include "failure.h"

static void end_stream(void *stream) { inflateEnd(stream); }

/* Unpacks all members of the file, one behind the other. */
static void unpack_members(ctgp *c, const source *t, z_stream *z, FILE *to)
{
    unsigned char block[1 << 16];
    size_t left = t->size;
    int status = Z_OK;
    while (status == Z_OK || left + z->avail_in > 0) {
        if (status == Z_STREAM_END) status = inflateReset(z);
        if (!z->avail_in) {
            z->next_in = (Bytef *)(uintptr_t)(t->data + (t->size - left));
            z->avail_in = left < sizeof block ? (uInt)left : (uInt)sizeof block;
            left -= z->avail_in;
        }
        z->next_out = block;
        z->avail_out = sizeof block;
        status = inflate(z, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) fail(c, CODE_MEMORY, "%s: no memory to unpack it", t->name);
        if (status != Z_OK && status != Z_STREAM_END)
            fail(c, CODE_DATA, "%s: the compressed file is damaged or cut off", t->name);
        fwrite(block, 1, sizeof block - z->avail_out, to);
    }
}

void unpack(ctgp *c, source *t)
{
    const unsigned char *lead = (const unsigned char *)t->data;
    if (t->size < 2 || lead[0] != 0x1f || lead[1] != 0x8b) return;
    z_stream *z = take(c, 1, sizeof *z, "streams");
    if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK) fail(c, CODE_MEMORY, "%s: no memory to unpack it", t->name);
    own(c, z, end_stream);
    memory_file *m = memory_open(c, t->name);
    unpack_members(c, t, z, m->to);
    memory_end(c, m, t->name);
    free(t->input);
    t->input = m->text;
    t->size = m->size;
    m->text = NULL;
}
