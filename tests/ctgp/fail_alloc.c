/* Preloaded into a program, this library refuses allocations FAIL_ALLOC_FROM to FAIL_ALLOC_TO (counted from
 * 1) and finally writes their number to the file FAIL_ALLOC_COUNT. It counts only requests of the program and
 * of libcotangent, since some of libgomp, OpenBLAS, NLopt and libc abort without memory; with
 * FAIL_ALLOC_PROGRAM those of the program alone. With FAIL_THREADS OpenMP gets no threads. Programs that the
 * program starts are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static atomic_long requests;
static long from, to;
static const char *count_path;
static bool no_threads, library = true;
static void *program;               /* where the program is loaded; NULL before the start */
static _Thread_local bool checking; /* dladdr may allocate */

static void stop(void) { program = NULL; }

static bool ours(const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info)) return false;
    return info.dli_fbase == program || (library && strstr(info.dli_fname, "libcotangent"));
}

static bool grant(const void *caller)
{
    if (!program || checking) return true;
    checking = true;
    long request = ours(caller) ? atomic_fetch_add(&requests, 1) + 1 : 0;
    if (request == 1) atexit(stop); /* what comes later may be gcov's, which cannot do without */
    checking = false;
    if (!request || request < from || request > to) return true;
    errno = ENOMEM;
    return false;
}

static long number(const char *name) { return getenv(name) ? atol(getenv(name)) : 0; }

__attribute__((constructor)) static void start(void)
{
    from = number("FAIL_ALLOC_FROM");
    to = number("FAIL_ALLOC_TO");
    count_path = getenv("FAIL_ALLOC_COUNT");
    no_threads = getenv("FAIL_THREADS");
    library = !getenv("FAIL_ALLOC_PROGRAM");
    unsetenv("LD_PRELOAD");
    Dl_info info;
    if (dladdr((void *)getauxval(AT_ENTRY), &info)) program = info.dli_fbase;
}

__attribute__((destructor)) static void finish(void)
{
    program = NULL;
    FILE *f = count_path ? fopen(count_path, "w") : NULL;
    if (f) fprintf(f, "%ld\n", (long)requests), fclose(f);
}

/* -- what stands before libc's -- */

#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)
#define GRANTED grant(__builtin_return_address(0))

void *malloc(size_t bytes)
{
    REAL(malloc);
    return GRANTED ? real(bytes) : NULL;
}

void *calloc(size_t n, size_t bytes)
{
    REAL(calloc);
    return GRANTED ? real(n, bytes) : NULL;
}

void *realloc(void *p, size_t bytes)
{
    REAL(realloc);
    return GRANTED ? real(p, bytes) : NULL;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    REAL(aligned_alloc);
    return GRANTED ? real(alignment, bytes) : NULL;
}

int posix_memalign(void **p, size_t alignment, size_t bytes)
{
    REAL(posix_memalign);
    return GRANTED ? real(p, alignment, bytes) : ENOMEM;
}

char *strdup(const char *s)
{
    REAL(strdup);
    return GRANTED ? real(s) : NULL;
}

static bool openmp(const char *file) { return strstr(file, "libgomp") || strstr(file, "libomp"); }

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
    REAL(pthread_create);
    Dl_info info;
    if (no_threads && dladdr(__builtin_return_address(0), &info) && openmp(info.dli_fname)) return EAGAIN;
    return real(thread, how, run, argument);
}
