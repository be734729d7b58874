/* A communicator of processes from an MPI communicator, for programs that start MPI themselves. Only this
 * header includes <mpi.h>. It needs the same MPI that the library was built with. */
#ifndef COTANGENT_GP_MPI_H
#define COTANGENT_GP_MPI_H

#include <mpi.h>

#include <cotangent/gp/comm.h>

CT_BEGIN_DECLS

/* The processes of `communicator`, which the library duplicates. Collective. MPI must be started, and must
 * not end before ct_comm_free. Never NULL: see ct_comm_status. */
static inline ct_comm *ct_comm_mpi(MPI_Comm communicator)
{
    return ct_comm_from_handle((int)MPI_Comm_c2f(communicator));
}

CT_END_DECLS
#endif
