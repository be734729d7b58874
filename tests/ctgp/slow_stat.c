/* Preloaded into a program, this library waits after each stat, so that another program can replace a file
 * between two of them. */
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
