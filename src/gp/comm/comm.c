/* Communicators: the module for MPI, messages, and how all processes agree on a failure. */
#include "comm.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/crc64.h"

/* Shared constants; nothing changes them. */
static ct_comm one = { .sub = { { .size = 1 } } };
static ct_comm no_memory = { .sub = { { .size = 1 } },
                             .status = CT_ENOMEM,
                             .message = "no memory for a communicator" };

CT_PRINTF(3, 4) static void fail(ct_comm *g, ct_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!g->status) vsnprintf(g->message, sizeof g->message, format, args);
    if (!g->status) g->status = status;
    va_end(args);
}

/* Records an error of MPI; false if there is one. After an error the processes are out of step. */
static bool sent(ct_comm *g, int error)
{
    char text[256] = "";
    if (error) g->transport->describe(error, text);
    if (error) fail(g, CT_EIO, "the processes have lost contact: %s", text);
    return !g->status;
}

/* -- the module ------------------------------------------------------------------------------------------ */

/* MPI's own plug-ins need its symbols, so they are loaded globally. */
static void find_transport(ct_comm *g)
{
    char path[4200];
    const char *reason = NULL;
    void *module = ct_module_load(CT__TRANSPORT_FILE, true, path, sizeof path, &reason);
    const ct__transport *t = module ? dlsym(module, CT__TRANSPORT_SYMBOL) : NULL;
    if (module) dlclose(module);
    const bool found = t && t->version == CT__TRANSPORT_VERSION;
    if (!found)
        fail(g, CT_EUNSUPPORTED,
             module ? "%s belongs to another build than this: install both from one build"
                    : "no module for MPI (%.200s): build with -Dmpi=enabled and install it, "
                      "or use one process",
             module || !reason ? CT__TRANSPORT_FILE : reason);
    else
        g->transport = t;
}

/* -- communicators --------------------------------------------------------------------------------------- */

/* Without memory this process still makes the collective calls, so that the others do not wait for it. */
static ct_comm *open_comm(int communicator, bool world)
{
    ct_comm *g = calloc(1, sizeof *g), stand_in = { .started = false }, *at = g ? g : &stand_in;
    int without = !g;
    at->sub[CT__COMM_ALL].size = 1;
    find_transport(at);
    if (at->status) return g ? g : &no_memory;
    const int error = at->transport->open(communicator, world, &without, at->sub, &at->started);
    if (!g) at->transport->close(at->sub, at->started);
    if (!g) return &no_memory;
    if (!g->sub[CT__COMM_ALL].communicator)
        fail(g, CT_EIO, "MPI does not start: %s",
             world ? "run the program by mpirun" : "call MPI_Init before ct_comm_mpi");
    else if (!error && without >= 0)
        fail(g, CT_ENOMEM, "process %d of %d: no memory for the communicator", without,
             g->sub[CT__COMM_ALL].size);
    else
        sent(g, error);
    return g;
}

ct_comm *ct_comm_from_handle(int communicator) { return open_comm(communicator, false); }

/* A launcher of MPI programs sets one of these variables in each process. */
static bool was_started_as_one_of_many(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return true;
    return false;
}

ct_comm *ct_comm_world(void) { return was_started_as_one_of_many() ? open_comm(0, true) : &one; }

void ct_comm_free(ct_comm *g)
{
    if (!g || g == &one || g == &no_memory) return;
    if (g->transport) g->transport->close(g->sub, g->started);
    free(g->watch.heard);
    free(g);
}

ct_status ct_comm_status(const ct_comm *g) { return g ? g->status : CT_EINVAL; }
const char *ct_comm_message(const ct_comm *g) { return g ? g->message : "the communicator is NULL"; }
int ct_comm_rank(const ct_comm *g) { return g ? g->sub[CT__COMM_ALL].rank : 0; }
int ct_comm_size(const ct_comm *g) { return g ? g->sub[CT__COMM_ALL].size : 1; }

/* -- messages and agreement ------------------------------------------------------------------------------ */

void ct__comm_begin(ct_comm *g, int part, void *data, size_t bytes, int root)
{
    ct__subcomm *sub = &g->sub[part];
    if (!g->status && sub->size > 1) sent(g, g->transport->broadcast(sub, data, bytes, root));
}

bool ct__comm_wait(ct_comm *g)
{
    for (int i = 0; i < CT__SUBCOMMS; i++) sent(g, g->transport->wait(&g->sub[i]));
    return !g->status;
}

bool ct__comm_broadcast(ct_comm *g, void *data, size_t bytes, int root)
{
    ct__comm_begin(g, CT__COMM_ALL, data, bytes, root);
    return ct__comm_wait(g);
}

bool ct__comm_reduce(ct_comm *g, int part, ct_dtype dtype, void *data, int64_t count, int root)
{
    return !g->status && sent(g, g->transport->reduce(&g->sub[part], dtype, data, count, root));
}

bool ct__comm_allreduce(ct_comm *g, ct_dtype dtype, void *data, int64_t count)
{
    return ct__comm_reduce(g, CT__COMM_ALL, dtype, data, count, 0) &&
           ct__comm_broadcast(g, data, (size_t)count * ct_dtype_size(dtype), 0);
}

/* Where a process agrees with the others. A process that has failed leaves the call, then the common work,
 * and waits at the end of each until all are there. */
typedef enum stage { AFTER_THE_WORK, AFTER_THE_CALL, WITHIN } stage;

/* If several processes have failed, the status of the lowest rank counts. The failure of another process is
 * in g->message, with its rank. `own` is the message of a failure of this process. *last: the stage of the
 * process that has the most left to do. */
static ct_status agree_at(ct_comm *g, ct_status status, const char *own, stage at, stage *last,
                          int64_t *value)
{
    const int rank = g->sub[CT__COMM_ALL].rank, size = g->sub[CT__COMM_ALL].size;
    char prefix[48] = "";
    struct {
        int64_t status;
        char message[sizeof g->message];
    } failure = { .status = status };
    int64_t most[] = { status ? size - rank : 0, at, -(int64_t)at, value ? *value : 0 };
    if (!status) g->reported = false;
    if (!ct__comm_allreduce(g, CT_I64, most, 4)) return g->status;
    if (last) *last = (stage)most[1];
    if (value) *value = most[3];
    if (!most[0] && most[1] == -most[2]) return CT_OK;
    if (!most[0]) {
        snprintf(g->message, sizeof g->message, "the processes make different calls");
        g->reported = true;
        return CT_EINVAL;
    }
    const int failed = size - (int)most[0];
    if (!g->reported) snprintf(prefix, sizeof prefix, "process %d of %d: ", rank, size);
    snprintf(failure.message, sizeof failure.message, "%s%.460s", prefix, own);
    if (!ct__comm_broadcast(g, &failure, sizeof failure, failed)) return g->status;
    if (failed == rank) return status;
    memcpy(g->message, failure.message, sizeof g->message);
    g->reported = true;
    return (ct_status)failure.status;
}

/* The same for a device, which takes the message over. */
static ct_status agree_on(ct_comm *g, ct_device *device, ct_status status, stage at, stage *last,
                          int64_t *value)
{
    status = agree_at(g, status, ct_message(device), at, last, value);
    return g->status || (status && g->reported) ? ct_device_fail(device, status, "%s", g->message) : status;
}

ct_status ct__comm_agree(ct_comm *g, ct_device *device, ct_status status, int64_t *value)
{
    return ct__comm_is_one(g) ? status : agree_on(g, device, status, WITHIN, NULL, value);
}

ct_status ct__comm_agree_broadcast(ct_comm *g, ct_device *device, ct_status status, void *data, size_t bytes)
{
    if (ct__comm_is_one(g)) return status;
    status = agree_on(g, device, status, WITHIN, NULL, NULL);
    if (status || ct__comm_broadcast(g, data, bytes, 0)) return status;
    return ct_device_fail(device, g->status, "%s", g->message);
}

ct_status ct__comm_same(ct_comm *g, ct_device *device, const void *data, size_t bytes, const char *what)
{
    const uint64_t own = ct__crc64(data, bytes);
    uint64_t first = own;
    ct_status status = ct__comm_agree_broadcast(g, device, CT_OK, &first, sizeof first);
    if (own != first)
        status = ct_device_fail(device, CT_EINVAL,
                                "%s differ between the processes: give all of them the same", what);
    return ct__comm_agree(g, device, status, NULL);
}

ct_status ct__comm_usable(const ct_comm *g, ct_device *device)
{
    if (g && g->status) return ct_device_fail(device, g->status, "%s", g->message);
    if (ct__comm_is_one(g) || !strcmp(ct_device_name(device), "cpu")) return CT_OK;
    return ct_device_fail(device, CT_EUNSUPPORTED,
                          "a model over many processes must be on the CPU: open \"cpu\"");
}

void ct__comm_enter(ct_comm *g)
{
    if (!ct__comm_is_one(g)) g->depth++;
}

ct_status ct__comm_leave(ct_comm *g, ct_device *device, ct_status status)
{
    stage last = AFTER_THE_CALL;
    if (ct__comm_is_one(g) || --g->depth > 0) return status;
    do status = agree_on(g, device, status, AFTER_THE_CALL, &last, NULL);
    while (last > AFTER_THE_CALL && !g->status);
    return status;
}

/* -- the program's own work ------------------------------------------------------------------------------ */

ct_status ct_comm_share(ct_comm *g, void *data, size_t bytes)
{
    if (!g || (!data && bytes)) return CT_EINVAL;
    if (g->status || ct__comm_is_one(g)) return g->status;
    const ct_status status = agree_at(g, CT_OK, "", WITHIN, NULL, NULL);
    if (!status) ct__comm_broadcast(g, data, bytes, 0);
    return status ? status : g->status;
}

ct_status ct_comm_leave(ct_comm *g, ct_status status, const char *message)
{
    stage last = AFTER_THE_WORK;
    if (!g) return CT_EINVAL;
    if (g->status || ct__comm_is_one(g)) return g->status ? g->status : status;
    do status = agree_at(g, status, message ? message : "", AFTER_THE_WORK, &last, NULL);
    while (last > AFTER_THE_WORK && !g->status);
    return status;
}

ct_status ct_comm_watch(ct_comm *g, double seconds, ct_comm_silence report, void *context)
{
    if (!g || !(seconds > 0) || !report) return CT_EINVAL;
    if (g->status || ct__comm_is_one(g)) return g->status;
    if (!g->watch.heard) g->watch.heard = calloc((size_t)g->sub[CT__COMM_ALL].size, sizeof *g->watch.heard);
    if (!g->watch.heard) return CT_ENOMEM;
    g->watch = (ct__watch){ &g->sub[CT__COMM_ALL], seconds, report, context, g->watch.heard };
    for (int i = 0; i < CT__SUBCOMMS; i++) g->sub[i].watch = &g->watch;
    return CT_OK;
}
