/* The module for MPI, which group.c loads: the functions of transport.h, each a call of MPI. */
#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "transport.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(ct__request) && sizeof(MPI_Comm) <= sizeof(uint64_t),
               "numbers of 64 bits hold MPI's handles");

static MPI_Comm comm_of(const ct__line *line)
{
    MPI_Comm comm;
    memcpy(&comm, &line->communicator, sizeof comm);
    return comm;
}

/* Takes `comm` over, whose errors are returned from now on. */
static int keep(MPI_Comm comm, ct__line *line)
{
    int error = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (!error) error = MPI_Comm_rank(comm, &line->rank);
    if (!error) error = MPI_Comm_size(comm, &line->size);
    memcpy(&line->communicator, &comm, sizeof comm);
    return error;
}

static int split(const ct__line *all, int colour, ct__line *part)
{
    MPI_Comm own;
    const int error = MPI_Comm_split(comm_of(all), colour, all->rank, &own);
    return error ? error : keep(own, part);
}

static int open_lines(int communicator, bool world, bool *fine, ct__line line[CT__LINES], bool *started)
{
    int already = 0, ended = 0, level, rows = 1, all_fine = *fine, error = MPI_Initialized(&already);
    ct__line *all = &line[CT__ALL];
    MPI_Comm own;
    if (!error) error = MPI_Finalized(&ended);
    if (error || ended || (!already && !world)) return MPI_ERR_OTHER;
    if (!already) error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    *started = !already && !error;
    if (!error) error = MPI_Comm_dup(world ? MPI_COMM_WORLD : MPI_Comm_f2c(communicator), &own);
    if (!error) error = keep(own, all);
    if (!error) error = MPI_Allreduce(MPI_IN_PLACE, &all_fine, 1, MPI_INT, MPI_MIN, own);
    *fine = all_fine;
    for (int r = 1; r * r <= all->size; r++)
        if (all->size % r == 0) rows = r;
    const int cols = all->size / rows;
    if (!error) error = split(all, all->rank / cols, &line[CT__ROW]);
    return error ? error : split(all, rows + all->rank % cols, &line[CT__COLUMN]);
}

static void close_lines(ct__line line[CT__LINES], bool started)
{
    for (int i = CT__LINES - 1; i >= 0; i--) {
        MPI_Comm comm = comm_of(&line[i]);
        if (line[i].communicator) MPI_Comm_free(&comm);
    }
    if (started) MPI_Finalize();
}

/* Counts of MPI are int: a large message goes as one of rows of numbers, and the numbers beside them. */
static int broadcast(const ct__line *line, void *data, size_t bytes, int root, ct__request *request)
{
    enum { ROW = 1 << 16 };
    MPI_Request begun = MPI_REQUEST_NULL;
    int error;
    if (bytes <= INT_MAX) {
        error = MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, comm_of(line), &begun);
    } else {
        MPI_Datatype row;
        const size_t rows = bytes / ROW;
        error = rows > INT_MAX ? MPI_ERR_COUNT : MPI_Type_contiguous(ROW, MPI_BYTE, &row);
        if (error) return error;
        error = MPI_Type_commit(&row);
        if (!error)
            error = MPI_Bcast((char *)data + rows * ROW, (int)(bytes % ROW), MPI_BYTE, root, comm_of(line));
        if (!error) error = MPI_Ibcast(data, (int)rows, row, root, comm_of(line), &begun);
        MPI_Type_free(&row);
    }
    memcpy(request, &begun, sizeof begun);
    return error;
}

static int wait_all(ct__request *request, int count)
{
    int error = 0;
    for (int i = 0; i < count; i++) {
        MPI_Request begun;
        memcpy(&begun, &request[i], sizeof begun);
        const int own = MPI_Wait(&begun, MPI_STATUS_IGNORE);
        if (!error) error = own;
    }
    return error;
}

static int reduce(const ct__line *line, ct_dtype dtype, void *data, int64_t count, int root)
{
    const MPI_Datatype type = dtype == CT_I64 ? MPI_INT64_T : dtype == CT_F32 ? MPI_FLOAT : MPI_DOUBLE;
    const MPI_Op op = dtype == CT_I64 ? MPI_MAX : MPI_SUM;
    const size_t size = dtype == CT_F32 ? sizeof(float) : sizeof(double);
    const bool own = line->rank == root;
    int error = 0;
    for (int64_t done = 0, some; done < count && !error; done += some) {
        some = count - done < INT_MAX ? count - done : INT_MAX;
        char *at = (char *)data + (size_t)done * size;
        error =
            MPI_Reduce(own ? MPI_IN_PLACE : at, own ? at : NULL, (int)some, type, op, root, comm_of(line));
    }
    return error;
}

static void describe(int error, char text[256])
{
    char own[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(error, own, &length)) length = 0;
    snprintf(text, 256, "%.*s", length, own);
}

extern CT_API const ct__transport ct__mpi_transport;
const ct__transport ct__mpi_transport = { .version = CT__TRANSPORT_VERSION,
                                          .open = open_lines,
                                          .close = close_lines,
                                          .broadcast = broadcast,
                                          .wait = wait_all,
                                          .reduce = reduce,
                                          .describe = describe };
