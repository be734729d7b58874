/* Every threshold, tile and block size of the CUDA backend. No value has been measured on a GPU. They follow
 * from the hardware: 32 threads per warp, 48 KiB of static shared memory per block, 64 Ki registers per
 * multiprocessor. Values marked "bits" determine the order of additions, and so the last bits of results. */
#ifndef CT_TENSOR_CUDA_CONFIG_H
#define CT_TENSOR_CUDA_CONFIG_H

enum {
    /* -- launches -- */
    CT__WARP = 32,     /* threads that the hardware runs together                         */
    CT__BLOCK = 256,   /* threads of a block, unless the kernel sets another number; bits */
    CT__GRID = 16384,  /* most blocks of a grid-stride loop                               */
    CT__CHECKERS = 64, /* blocks that check indices, each with a place for its finding    */

    /* -- memory -- */
    CT__LITERAL = 4032,            /* bytes that one kernel's arguments upload              */
    CT__UPLOAD_BYTES = 64 << 10,   /* most bytes uploaded by kernels; larger uploads wait   */
    CT__BLAS_WORKSPACE = 32 << 20, /* bytes of cuBLAS's workspace: as documented for Hopper */

    /* -- reductions -- */
    CT__REDUCE_FEW = 16, /* inputs per thread from which an output gets more threads of its block; bits */
    CT__REDUCE_RUN = 64, /* approximate inputs per thread if several blocks share an output; bits       */
    CT__REDUCE_PIECES = 1024,  /* most pieces of an output; bits                                        */
    CT__REDUCE_GRID = 1 << 17, /* threads that occupy the GPU; more pieces gain nothing; bits           */

    /* -- recurrences -- */
    CT__RECURRENCE_LEAST = 32,   /* fewest steps of a piece; bits                                        */
    CT__RECURRENCE_FULL = 16384, /* sequences that occupy the GPU, so that none is divided; bits         */

    /* -- products -- */
    CT__SYRK_DIAGONAL = 512, /* extent of a symmetric product's diagonal blocks, which are computed whole */

    /* -- gathered products and sums over groups of rows -- */
    CT__GROUP_ROWS = 6, /* a block computes 2^6 rows and columns */
    CT__GROUP_THREADS = 128,
    CT__GROUP_DOWN = 8,    /* threads along the rows; a warp spans two of them                              */
    CT__GROUP_DEPTH = 256, /* bytes of a row in shared memory at a time                                     */
    CT__GROUP_LENGTH = 8,  /* 2^8 rows: the longest sum of one block, or of one thread of scatter_add; bits */
    CT__SCATTER_RESIDENT = 5, /* blocks per multiprocessor in scatter_add; bounds the registers             */

    /* -- factors of matrices -- */
    CT__TILE = 128, /* largest matrix that one block factors in registers; smallest triangle; bits     */
    CT__TRIANGLE_BLOCK = 512, /* blocks of a single triangle that are inverted and squared whole; bits */
    CT__ONE_BY_ONE = 1024,    /* rows from which cuSOLVER factors member by member (bench/paths); bits */
    CT__LU_ALONE = 512,       /* the same for the LU factors of one matrix; bits                       */
    CT__QR_ROWS = 257,        /* the same for QR factors of many matrices; bits                        */
    CT__QR_MANY = 16,         /* fewest that are many; bits                                            */
    CT__QR_ALONE = 128,       /* the same for QR factors of fewer; bits                                */
    CT__QR_PANEL = 32,        /* reflectors that are applied together; bits                            */
    CT__FACTOR_PANEL = 384, /* columns of the workspace beside a factor, for cuSOLVER and the covariances   */

    /* -- covariances -- */
    CT__COV_LANES = 32,        /* rows of a task; bits                                                   */
    CT__COV_WARPS = 4,         /* warps that share a task's columns; bits                                */
    CT__COV_SHARED = 40 << 10, /* most bytes of shared memory: five blocks on sm_90, two on sm_120; bits */
    CT__COV_TASKS = 1024,      /* tasks that occupy the GPU; bits                                        */
    CT__COV_LEAST = 16,        /* fewest columns of a task; bits                                         */
    CT__COV_MOST = 256,        /* most columns, unless x_bar would have too many pieces; bits            */
    CT__COV_BLOCKS = 8192,     /* most blocks; more gain nothing; bits                                   */
    CT__COV_FEW = 8,           /* fewest blocks, however little memory there is; bits                    */
    CT__COV_FILLING = 6,       /* blocks per multiprocessor that write a matrix; more spill registers    */
    CT__COV_RESIDENT = 4,      /* blocks per multiprocessor that contract; unbounded, only three fit     */
    CT__COV_SPREAD = 64,       /* pieces of a row times columns of x; bounds the memory of x_bar; bits   */
};

#endif
