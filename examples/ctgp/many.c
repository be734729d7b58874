/* ctgp over the processes of mpirun: process 0 reads, prints and writes; all of them hold the model. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ct_group *processes;
static bool are_one;

ct_group *many(void) { return are_one ? NULL : processes; }

int many_begin(bool together)
{
    processes = ct_group_world();
    are_one = !together || ct_group_size(processes) == 1;
    const ct_status status = ct_group_status(processes);
    if (status)
        return fail(status == CT_ENOMEM ? CODE_MEMORY : CODE_UNSUPPORTED, "%s", ct_group_message(processes));
    if (ct_group_rank(processes) && !together) return CODE_OK;
    if (ct_group_rank(processes) &&
        (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
        return CODE_IO;
    return GO_ON;
}

/* A process without memory may have failed alone, so it does not wait for the others, which mpirun then ends.
 * It leaves process 0 the time to print why. */
int many_end(int result)
{
    if (result != CODE_MEMORY || ct_group_size(processes) == 1)
        ct_group_free(processes);
    else if (ct_group_rank(processes))
        sleep(1);
    return result;
}

int many_device(const char **name)
{
    if (!many()) return GO_ON;
    if (*name && strcmp(*name, "cpu") != 0)
        return fail(CODE_UNSUPPORTED, "--device %s: a model over many processes lives on their CPUs", *name);
    *name = "cpu";
    return GO_ON;
}

int many_share(int result)
{
    return many() && ct_group_share(many(), &result, sizeof result) ? CODE_IO : result;
}
