/* A mistake of the program under test is printed with what was running, and ends the program, or is kept
 * where a test expects it. A host access to device memory arrives here as a signal. */
#include "sim.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sim
{
const char *running;

static bool expecting;
static char kept[512];

void report(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (expecting) {
        if (!kept[0])
            snprintf(kept, sizeof kept, "%.400s%s%.80s", text, running ? ", in " : "",
                     running ? running : "");
        return;
    }
    fprintf(stderr, "cudasim: %s%s%s\n", text, running ? ", in " : "", running ? running : "");
    fflush(stderr);
    abort();
}
} // namespace sim

void cudasim_expect_report(void)
{
    sim::expecting = true;
    sim::kept[0] = '\0';
}

const char *cudasim_take_report(void)
{
    sim::expecting = false;
    return sim::kept;
}
