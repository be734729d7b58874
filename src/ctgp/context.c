/* What a command owns: its device, memory and tensors; and its standard output. */
#include "context.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "many.h"

/* -- what it owns -- */

struct owned {
    owned *before;
    void *object;
    void (*release)(void *object);
};

void *own(ctgp *c, void *object, void (*release)(void *object))
{
    if (!object) fail_device(c);
    owned *o = malloc(sizeof *o);
    if (!o) {
        release(object);
        fail(c, CODE_MEMORY, "out of memory");
    }
    *o = (owned){ c->owned, object, release };
    c->owned = o;
    return object;
}

void *take(ctgp *c, int64_t n, size_t size, const char *what)
{
    void *memory = calloc((size_t)n + 1, size);
    if (!memory) fail(c, CODE_MEMORY, "no memory for %lld %s", (long long)n, what);
    return own(c, memory, free);
}

char *text_of(ctgp *c, const char *format, ...)
{
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    const int length = vsnprintf(NULL, 0, format, values);
    char *text = take(c, length, 1, "letters");
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(values);
    va_end(again);
    return text;
}

const char *number_text(ctgp *c, double value)
{
    char *text = take(c, CT_NUMBER_TEXT, 1, "digits");
    ct_number_write(value, 0, text);
    return text;
}

static void release_tensor(void *tensor) { ct_release(tensor); }

ct_tensor *own_tensor(ctgp *c, ct_tensor *tensor) { return own(c, tensor, release_tensor); }

void *disown(ctgp *c, void *object)
{
    owned **o = &c->owned;
    while (*o && (*o)->object != object) o = &(*o)->before;
    owned *found = *o;
    if (found) *o = found->before;
    free(found);
    return object;
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

/* -- the device -- */

static void release_device(void *device) { ct_device_close(device); }

void open_device(ctgp *c)
{
    const char *name = c->device_name;
    if (c->device) return;
    if (many() && name && strcmp(name, "cpu") != 0)
        fail(c, CODE_UNSUPPORTED, "--device %s: a model over many processes lives on their CPUs", name);
    c->device = own(c, ct_device_open(many() ? "cpu" : name), release_device);
    check(c, ct_device_status(c->device));
}

ct_tensor *new_tensor(ctgp *c, ct_shape shape) { return own_tensor(c, ct_empty(c->device, CT_F64, shape)); }

double *tensor_values(ctgp *c, const ct_tensor *tensor)
{
    const int64_t n = ct_tensor_count(tensor);
    double *values = take(c, n, sizeof *values, "numbers");
    check(c, ct_read(tensor, values, (size_t)n * sizeof *values));
    return values;
}

/* -- files in memory -- */

static void release_memory(void *object)
{
    memory_file *m = object;
    if (m->to) fclose(m->to);
    free(m->text);
    free(m);
}

memory_file *memory_open(ctgp *c, const char *what)
{
    memory_file *m = calloc(1, sizeof *m);
    if (m) own(c, m, release_memory);
    if (m) m->to = open_memstream(&m->text, &m->size);
    if (!m || !m->to) fail(c, CODE_MEMORY, "no memory for %s", what);
    return m;
}

void memory_end(ctgp *c, memory_file *m, const char *what)
{
    const bool cut = ferror(m->to) | fclose(m->to);
    m->to = NULL;
    if (cut) fail(c, CODE_MEMORY, "no memory for %s", what);
}

/* -- standard output -- */

void end_output(ctgp *c)
{
    const bool bad = ferror(stdout);
    if (fflush(stdout) || bad) fail(c, CODE_IO, "standard output could not be written");
}
