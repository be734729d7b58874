/* Signals that end the program wait while a file is written, or a part of it would stay beside its place. */
#include "signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { SIGNALS = 3 };
static const int number[SIGNALS] = { SIGHUP, SIGINT, SIGTERM };

static struct sigaction before[SIGNALS];
static bool held;
static volatile sig_atomic_t waiting;

static void keep(int which) { waiting = which; }

/* By a handler, since a mask of this thread would leave the signals to others. The second SIGINT, say, ends
 * the program. */
void signals_hold(const char *path)
{
    const struct sigaction action = { .sa_handler = keep, .sa_flags = SA_RESTART | SA_RESETHAND };
    struct stat info;
    held = stat(path, &info) || S_ISREG(info.st_mode);
    for (int i = 0; i < SIGNALS && held; i++) {
        sigaction(number[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(number[i], &action, NULL);
    }
}

void signals_release(void)
{
    for (int i = 0; i < SIGNALS && held; i++) sigaction(number[i], &before[i], NULL);
    if (waiting) raise(waiting);
    waiting = 0;
}
