/* ctgp: before main, and where a library ends the program.
 *
 * When OpenBLAS is loaded, it takes a buffer for each of its threads, and at the first call on several
 * threads one more. Where a limit on addresses (ulimit -v) leaves none it tries for ever. So this limit is
 * checked before the constructors of shared libraries run: the loader calls what is in .preinit_array
 * first. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctgp.h"
#include "many.h"

static bool returned;

/* libgomp, for instance, ends a program with code 1 where it gets no thread. */
static void end_elsewhere(void)
{
    if (returned) return;
    fprintf(many_voice(), "ctgp: a library has ended the program: there was no memory or no thread for it\n");
    fflush(many_voice());
    _exit(CODE_MEMORY);
}

void program_begin(void) { atexit(end_elsewhere); }

int program_end(int result)
{
    returned = true;
    return result;
}

#if defined __linux__ && defined __GLIBC__
enum { BUFFER = 128, REST = 16 }; /* MiB: OpenBLAS's for one thread; stacks and heap */

static long threads_of(char **environment)
{
    static const char *const names[] = { "OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_NUM_THREADS=" };
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    for (; *environment; environment++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const size_t length = strlen(names[i]);
            if (strncmp(*environment, names[i], length)) continue;
            const long given = strtol(*environment + length, NULL, 10);
            if (given > 0 && given < threads) threads = given;
        }
    return threads;
}

static void check_addresses(int argc, char **argv, char **environment)
{
    static const char message[] =
        "ctgp: the limit on addresses (ulimit -v) leaves no memory for OpenBLAS, 128 MiB "
        "for each thread: raise it, or set OMP_NUM_THREADS=1\n";
    const long threads = threads_of(environment);
    const size_t bytes = (size_t)((threads > 1 ? threads + 1 : 1) * BUFFER + REST) << 20;
    void *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)argc;
    (void)argv;
    if (space != MAP_FAILED) {
        munmap(space, bytes);
        return;
    }
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(CODE_MEMORY);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = check_addresses;
#endif
