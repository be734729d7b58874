/* The text of a table, from a file, a pipe or standard input: read once, as a pipe cannot be read again. */
#include "ctgp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads all of standard input, which may be a socket and so cannot be opened by a name. */
static int read_input(source *t)
{
    size_t room = 0, got;
    do {
        if (t->size == room) {
            room = room ? 2 * room : 1 << 16;
            char *more = realloc(t->input, room);
            if (!more) return fail(CODE_MEMORY, "%s: no memory for %zu bytes", t->name, room);
            t->input = more;
        }
        got = fread(t->input + t->size, 1, room - t->size, stdin);
        t->size += got;
    } while (got > 0);
    if (ferror(stdin)) return fail(CODE_IO, "%s: %s", t->name, strerror(errno));
    t->data = t->input;
    return GO_ON;
}

int source_open(source *t, ct_device *device, const char *path)
{
    *t = (source){ .name = path, .device = device };
    if (is_standard(path)) {
        t->name = "standard input";
        return read_input(t);
    }
    if (ct_bytes_load(device, path, &t->file)) return fail_device(device, NULL);
    t->data = t->file.data;
    t->size = t->file.size;
    return GO_ON;
}

void source_close(source *t)
{
    if (t->file.data) ct_bytes_free(t->device, &t->file);
    free(t->input);
    *t = (source){ 0 };
}
