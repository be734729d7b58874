/* The text of a table from a file, a pipe or standard input. It is read once, as a pipe cannot be read again.
 * */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Standard input is read as it is, since it may be a socket, which cannot be opened by a name. */
static void read_input(ctgp *c, source *t)
{
    if (!going(c)) return;
    size_t room = 0, got;
    do {
        if (t->size == room) {
            room = room ? 2 * room : 1 << 16;
            char *more = realloc(t->input, room);
            if (!more) {
                fail(c, CODE_MEMORY, "%s: no memory for %zu bytes", t->name, room);
                return;
            }
            t->input = more;
        }
        got = fread(t->input + t->size, 1, room - t->size, stdin);
        t->size += got;
    } while (got > 0);
    if (ferror(stdin)) fail(c, CODE_IO, "%s: %s", t->name, strerror(errno));
    t->data = t->input;
}

static void open_one(ctgp *c, source *t, const char *path)
{
    if (!going(c)) return;
    if (is_standard(path)) {
        read_input(c, t);
    } else if (ct_bytes_load(t->device, path, &t->file)) {
        fail_device(c, t->device, NULL);
    } else {
        t->data = t->file.data;
        t->size = t->file.size;
    }
}

/* Process 0 reads for all. */
void source_open(ctgp *c, source *t, ct_device *device, const char *path)
{
    if (!going(c)) return;
    *t = (source){ .name = is_standard(path) ? "standard input" : path, .device = device };
    const bool first = ct_comm_rank(many()) == 0;
    if (first) open_one(c, t, path);
    many_share(c, &t->size, sizeof t->size);
    if (going(c) && !first && !(t->data = t->input = malloc(t->size + 1)))
        fail(c, CODE_MEMORY, "%s: no memory for %zu bytes", t->name, t->size);
    many_share(c, (void *)(uintptr_t)t->data, t->size);
}

void source_close(source *t)
{
    if (t->file.data) ct_bytes_free(t->device, &t->file);
    free(t->input);
    *t = (source){ 0 };
}
