/* The text of a table from a file, a pipe or standard input. It is read once, as a pipe cannot be read again.
 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "many.h"
#include "table.h"
#include "unpack.h"

static void release_source(void *object)
{
    source *t = object;
    if (t->file.data) ct_bytes_free(t->device, &t->file);
    free(t->input);
    free(t);
}

/* Takes over the text in place of the one before. */
static void take_text(source *t, memory_file *m)
{
    free(t->input);
    t->input = m->text;
    t->size = m->size;
    m->text = NULL;
}

/* Standard input is read as it is, since it may be a socket, which cannot be opened by a name. */
static void read_input(ctgp *c, source *t)
{
    char block[1 << 16];
    memory_file *m = memory_open(c, t->name);
    for (size_t got; (got = fread(block, 1, sizeof block, stdin)) > 0;) fwrite(block, 1, got, m->to);
    if (ferror(stdin)) fail(c, CODE_IO, "%s: %s", t->name, strerror(errno));
    memory_end(c, m, t->name);
    take_text(t, m);
}

/* Reads a table, and unpacks one that is compressed. */
static void read_source(ctgp *c, source *t, const char *path)
{
    if (is_standard(path)) {
        read_input(c, t);
    } else {
        check(c, ct_bytes_load(c->device, path, &t->file));
        t->size = t->file.size;
    }
    memory_file *m = unpack(c, t->name, t->input ? t->input : t->file.data, t->size);
    if (m) take_text(t, m);
}

/* Process 0 reads for all. */
source *source_open(ctgp *c, const char *path)
{
    source *t = own(c, calloc(1, sizeof *t), release_source);
    *t = (source){ .name = is_standard(path) ? "standard input" : path, .device = c->device };
    const bool first = ct_comm_rank(many()) == 0;
    if (first) read_source(c, t, path);
    many_share(c, &t->size, sizeof t->size);
    if (!first && !(t->input = malloc(t->size + 1)))
        fail(c, CODE_MEMORY, "%s: no memory for %zu bytes", t->name, t->size);
    t->data = t->input ? t->input : t->file.data;
    many_share(c, (void *)(uintptr_t)t->data, t->size);
    return t;
}

void source_close(ctgp *c, source *t) { release_source(disown(c, t)); }
