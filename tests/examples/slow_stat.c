/* Preloaded into a program, it waits after each stat: what two of them see may then differ, where another
 * program replaces the file between them. */
#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>

int stat(const char *restrict path, struct stat *restrict found)
{
    int (*next)(const char *, struct stat *) = (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "stat");
    const int result = next(path, found);
    nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000 * 1000 }, NULL);
    return result;
}
