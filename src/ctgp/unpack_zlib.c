/* Compressed tables, by zlib. */
#include "unpack.h"

#include <zlib.h>

#include "failure.h"

static void end_stream(void *stream) { inflateEnd(stream); }

/* Unpacks all members of the file, one behind the other. */
static void unpack_members(ctgp *c, const char *name, const char *data, size_t size, z_stream *z, FILE *to)
{
    unsigned char block[1 << 16];
    size_t left = size;
    int status = Z_OK;
    while (status == Z_OK || left + z->avail_in > 0) {
        if (status == Z_STREAM_END) status = inflateReset(z);
        if (!z->avail_in) {
            z->next_in = (Bytef *)(uintptr_t)(data + (size - left));
            z->avail_in = left < sizeof block ? (uInt)left : (uInt)sizeof block;
            left -= z->avail_in;
        }
        z->next_out = block;
        z->avail_out = sizeof block;
        status = inflate(z, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) fail(c, CODE_MEMORY, "%s: no memory to unpack it", name);
        if (status != Z_OK && status != Z_STREAM_END)
            fail(c, CODE_DATA, "%s: the compressed file is damaged or cut off", name);
        fwrite(block, 1, sizeof block - z->avail_out, to);
    }
}

memory_file *unpack(ctgp *c, const char *name, const char *data, size_t size)
{
    const unsigned char *lead = (const unsigned char *)data;
    if (size < 2 || lead[0] != 0x1f || lead[1] != 0x8b) return NULL;
    z_stream *z = take(c, 1, sizeof *z, "streams");
    if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK) fail(c, CODE_MEMORY, "%s: no memory to unpack it", name);
    own(c, z, end_stream);
    memory_file *m = memory_open(c, name);
    unpack_members(c, name, data, size, z, m->to);
    memory_end(c, m, name);
    return m;
}
