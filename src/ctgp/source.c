/* The text of a table from a file, a pipe or standard input. It is read once, as a pipe cannot be read again.
 * */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Standard input is read as it is, since it may be a socket, which cannot be opened by a name. */
static int read_input(ctgp *c, source *t)
{
    size_t room = 0, got;
    do {
        if (t->size == room) {
            room = room ? 2 * room : 1 << 16;
            char *more = realloc(t->input, room);
            if (!more) return fail(c, CODE_MEMORY, "%s: no memory for %zu bytes", t->name, room);
            t->input = more;
        }
        got = fread(t->input + t->size, 1, room - t->size, stdin);
        t->size += got;
    } while (got > 0);
    if (ferror(stdin)) return fail(c, CODE_IO, "%s: %s", t->name, strerror(errno));
    t->data = t->input;
    return GO_ON;
}

static int open_one(ctgp *c, source *t, const char *path)
{
    if (is_standard(path)) return read_input(c, t);
    if (ct_bytes_load(t->device, path, &t->file)) return fail_device(c, t->device, NULL);
    t->data = t->file.data;
    t->size = t->file.size;
    return GO_ON;
}

/* Process 0 reads for all. */
int source_open(ctgp *c, source *t, ct_device *device, const char *path)
{
    if (!going(c)) return c->code;
    *t = (source){ .name = is_standard(path) ? "standard input" : path, .device = device };
    const bool first = ct_group_rank(many()) == 0;
    int result = first ? open_one(c, t, path) : GO_ON;
    if (result == GO_ON) result = many_share(c, &t->size, sizeof t->size);
    if (result == GO_ON && !first && !(t->data = t->input = malloc(t->size + 1)))
        result = fail(c, CODE_MEMORY, "%s: no memory for %zu bytes", t->name, t->size);
    return result == GO_ON ? many_share(c, (void *)(uintptr_t)t->data, t->size) : result;
}

void source_close(source *t)
{
    if (t->file.data) ct_bytes_free(t->device, &t->file);
    free(t->input);
    *t = (source){ 0 };
}
