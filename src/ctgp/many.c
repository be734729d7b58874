/* ctgp over the processes of mpirun: process 0 reads, prints and writes; all of them hold the model. */
#include "many.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "text.h"

enum { PATIENCE = 30 }; /* seconds, after which silent processes are named */

static ct_comm *processes;
static bool are_one;
static FILE *voice; /* standard error, also of a process that prints nothing else */

ct_comm *many(void) { return are_one ? NULL : processes; }

FILE *many_voice(void) { return voice ? voice : stderr; }

static void print_silent(void *context, const int *silent, int count)
{
    char number[16];
    name_choice all = { 0 };
    (void)context;
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%d", silent[i]);
        add_name(&all, number);
    }
    fprintf(voice, "ctgp: process%s %s of %d: silent for %d s, stopped or still at work; the others wait\n",
            count > 1 ? "es" : "", all.list, ct_comm_size(processes), PATIENCE);
    fflush(voice);
}

static bool fall_silent(void)
{
    const int copy = dup(STDERR_FILENO);
    voice = copy < 0 ? NULL : fdopen(copy, "w");
    return voice && freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr);
}

/* A process without memory for its communicator does not know its number, so the lowest of the others prints
 * it. */
static bool is_lowest_with_group(void)
{
    const bool first_has_none = !strncmp(ct_comm_message(processes), "process 0 ", 10);
    return ct_comm_size(processes) > 1 && ct_comm_rank(processes) == first_has_none;
}

void many_begin(ctgp *c, bool together)
{
    processes = ct_comm_world();
    are_one = !together || ct_comm_size(processes) == 1;
    voice = stderr;
    const ct_status status = ct_comm_status(processes);
    if (status && (status != CT_ENOMEM || is_lowest_with_group()))
        fprintf(stderr, "ctgp: %s\n", ct_comm_message(processes));
    if (status) stop(c, code_of(status));
    if (are_one && ct_comm_rank(processes)) stop(c, CODE_OK);
    if (are_one) return;
    signal(SIGPIPE, SIG_IGN); /* mpirun may end before the model is written */
    c->silent = ct_comm_rank(processes) != 0;
    if (c->silent && !fall_silent())
        fail(c, CODE_IO, "/dev/null cannot be opened");
    else if (ct_comm_watch(processes, PATIENCE, print_silent, NULL))
        fail(c, CODE_MEMORY, "no memory for %d processes", ct_comm_size(processes));
}

/* Process 0 has printed its own failure, or prints here that of another, and all exit with its code. */
void many_end(ctgp *c)
{
    if (many()) {
        const ct_status status = ct_comm_leave(many(), status_of(c->code), c->failure);
        if (status) report(c, code_of(status), ct_comm_message(many()));
        ct_comm_share(many(), &c->code, sizeof c->code);
    }
    ct_comm_free(processes);
}

void many_share(ctgp *c, void *data, size_t bytes)
{
    const ct_status status = many() ? ct_comm_share(many(), data, bytes) : CT_OK;
    if (status) fail(c, code_of(status), "%s", ct_comm_message(many()));
}
