#include "alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **p, size_t alignment, size_t bytes);
char *__real_strdup(const char *s);
void __real_free(void *p);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **p, size_t alignment, size_t bytes);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

/* The live blocks granted while watching: open addressing, linear probing. A block beyond the table's
 * capacity is not tracked; alloc_live then reports at least the capacity, so no leak hides. */
#define SLOTS ((size_t)1 << 15)
#define GONE  ((void *)1)

static struct {
    void *block;
    size_t bytes;
} table[SLOTS];

static atomic_flag lock = ATOMIC_FLAG_INIT;
static atomic_bool watching;
static int64_t calls, live, live_bytes, fail_at;
static bool fail_on, refused;

static void enter(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
    }
}

static void leave(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

static size_t slot_of(const void *p) { return ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 20 & (SLOTS - 1); }

/* Counts one request; false where it shall fail. */
static bool grant(void)
{
    if (!atomic_load(&watching)) return true;
    enter();
    calls++;
    bool ok = fail_at <= 0 || (fail_on ? calls < fail_at : calls != fail_at);
    if (!ok) refused = true, errno = ENOMEM;
    leave();
    return ok;
}

static void *keep(void *p, size_t bytes)
{
    if (!p || !atomic_load(&watching)) return p;
    enter();
    size_t i = slot_of(p), probes = 0;
    while (table[i].block && table[i].block != GONE && probes++ < SLOTS) i = (i + 1) & (SLOTS - 1);
    if (probes < SLOTS) {
        table[i].block = p;
        table[i].bytes = bytes;
        live++;
        live_bytes += (int64_t)bytes;
    }
    leave();
    return p;
}

/* Forgets p where it is known; returns its bytes, or 0. */
static size_t drop(void *p)
{
    size_t bytes = 0;
    if (!p || !atomic_load(&watching)) return 0;
    enter();
    for (size_t i = slot_of(p), probes = 0; table[i].block && probes < SLOTS;
         i = (i + 1) & (SLOTS - 1), probes++)
        if (table[i].block == p) {
            bytes = table[i].bytes;
            table[i].block = GONE;
            live--;
            live_bytes -= (int64_t)bytes;
            break;
        }
    leave();
    return bytes;
}

static void watch(int64_t k, bool on)
{
    enter();
    memset(table, 0, sizeof table);
    calls = live = live_bytes = 0;
    fail_at = k;
    fail_on = on;
    refused = false;
    leave();
    atomic_store(&watching, true);
}

void alloc_watch(void) { watch(0, false); }
void alloc_fail_at(int64_t k) { watch(k, false); }
void alloc_fail_from(int64_t k) { watch(k, true); }
void alloc_unwatch(void) { atomic_store(&watching, false); }
int64_t alloc_calls(void) { return calls; }
int64_t alloc_live(void) { return live; }
int64_t alloc_live_bytes(void) { return live_bytes; }
bool alloc_refused(void) { return refused; }

void *__wrap_malloc(size_t bytes) { return grant() ? keep(__real_malloc(bytes), bytes) : NULL; }

void *__wrap_calloc(size_t n, size_t bytes)
{
    return grant() ? keep(__real_calloc(n, bytes), n * bytes) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return grant() ? keep(__real_aligned_alloc(alignment, bytes), bytes) : NULL;
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t bytes)
{
    if (!grant()) return ENOMEM;
    int error = __real_posix_memalign(p, alignment, bytes);
    if (!error) keep(*p, bytes);
    return error;
}

char *__wrap_strdup(const char *s) { return grant() ? keep(__real_strdup(s), strlen(s) + 1) : NULL; }

void *__wrap_realloc(void *p, size_t bytes)
{
    if (!grant()) return NULL;
    size_t old = drop(p);
    void *q = __real_realloc(p, bytes);
    if (q) return keep(q, bytes);
    if (old) keep(p, old);
    return NULL;
}

void __wrap_free(void *p)
{
    drop(p);
    __real_free(p);
}
