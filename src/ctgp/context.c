/* The context of a command: its first failure, and what it owns. */
#include "command.h"

#include <stdlib.h>

struct owned {
    owned *before;
    void *object;
    void (*release)(void *object);
};

void stop(ctgp *c, int result)
{
    if (c->code <= CODE_OK) c->code = result;
}

void *own(ctgp *c, void *object, void (*release)(void *object))
{
    owned *o = object ? malloc(sizeof *o) : NULL;
    if (o) {
        *o = (owned){ c->owned, object, release };
        c->owned = o;
        return object;
    }
    if (object) release(object);
    if (going(c)) fail(c, CODE_MEMORY, "out of memory");
    return NULL;
}

void *take(ctgp *c, int64_t n, size_t size, const char *what)
{
    if (!going(c)) return NULL;
    void *memory = calloc((size_t)n + 1, size);
    if (!memory) fail(c, CODE_MEMORY, "no memory for %lld %s", (long long)n, what);
    return own(c, memory, free);
}

static void release_tensor(void *tensor) { ct_release(tensor); }

ct_tensor *own_tensor(ctgp *c, ct_device *device, ct_tensor *tensor)
{
    if (!tensor && going(c)) fail_device(c, device, NULL);
    return own(c, tensor, release_tensor);
}

void give_back(ctgp *c, const owned *until)
{
    while (c->owned != until) {
        owned *last = c->owned;
        c->owned = last->before;
        last->release(last->object);
        free(last);
    }
}
