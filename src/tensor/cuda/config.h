/* Every threshold, tile and block size of the CUDA backend. No value has been measured: no GPU has been at
 * hand. They follow from the sizes of a processor: 32 threads to a warp, 48 KiB of static shared memory to
 * a block, 64 Ki registers. Values marked "bits" decide the order of additions, and with it the last bits
 * of results. */
#ifndef CT_TENSOR_CUDA_CONFIG_H
#define CT_TENSOR_CUDA_CONFIG_H

enum {
    /* -- launches -- */
    CT__WARP = 32,     /* threads that the hardware runs together                                           */
    CT__BLOCK = 256,   /* threads of a block, where the kernel has no reason for another number; bits       */
    CT__GRID = 16384,  /* blocks, at most, where each thread walks on by the size of the grid               */
    CT__CHECKERS = 64, /* blocks that look at indices, each with a place for what it finds                  */

    /* -- memory -- */
    CT__LITERAL = 4032,            /* bytes that one kernel's arguments carry to the device             */
    CT__UPLOAD_BYTES = 64 << 10,   /* that many kernels carry, so that nobody waits; of more one waits  */
    CT__BLAS_WORKSPACE = 32 << 20, /* bytes of cuBLAS's workspace: what its documentation asks of Hopper */

    /* -- reductions -- */
    CT__REDUCE_FEW = 16, /* inputs of an output that are one thread's, until its block has no more; bits */
    CT__REDUCE_RUN = 64, /* inputs of a thread, about, where several blocks share an output; bits      */
    CT__REDUCE_PIECES = 1024, /* of an output, at most; bits                                                */
    CT__REDUCE_GRID = 1 << 17, /* threads that keep every processor busy: no more pieces than that; bits    */

    /* -- products -- */
    CT__SYRK_DIAGONAL = 512, /* extent of a symmetric product's diagonal blocks, which are computed whole   */

    /* -- gathered products and sums over groups of rows -- */
    CT__GROUP_ROWS = 6, /* a block's result has 2^6 rows and as many columns                            */
    CT__GROUP_THREADS = 128,
    CT__GROUP_DOWN = 8,    /* of these along the rows: a warp has two of them                              */
    CT__GROUP_DEPTH = 256, /* bytes of a row in shared memory at a time                                    */
    CT__GROUP_LENGTH = 8,  /* a sum over 2^8 rows is one block's, or one thread's of scatter_add; bits     */
    CT__SCATTER_RESIDENT = 5, /* blocks a processor that add up rows: bounds the registers              */

    /* -- factors of matrices -- */
    CT__TILE = 128, /* of a matrix that one block factors in its registers; where triangles end; bits */
    CT__TRIANGLE_BLOCK = 512, /* of one triangle that are inverted and squared whole; bits                  */
    CT__ONE_BY_ONE = 1024,    /* rows from which cuSOLVER factors, one after the other (bench/paths); bits */
    CT__QR_PANEL = 32, /* reflectors that are applied at once; bits                                        */

    /* -- covariances -- */
    CT__COV_LANES = 32,      /* rows of a task; bits                                                       */
    CT__COV_WARPS = 4,       /* which share its columns; bits                                              */
    CT__COV_ROOM = 40 << 10, /* bytes of shared memory, at most: five blocks on sm_90, two on sm_120; bits */
    CT__COV_TASKS = 1024,    /* that give every processor something to do; bits                            */
    CT__COV_LEAST = 16,      /* columns of a task, at least; bits                                          */
    CT__COV_MOST = 256,      /* and at most, unless x_bar would have too many pieces; bits                 */
    CT__COV_BLOCKS = 8192,   /* more gain nothing; bits                                                    */
    CT__COV_FEW = 8,         /* blocks, however little memory there is; bits                               */
    CT__COV_FILLING = 6,     /* blocks a processor that write a matrix: more would spill registers          */
    CT__COV_RESIDENT = 4,    /* blocks a processor that contract: unbounded, registers are for three       */
    CT__COV_SPREAD = 64,     /* pieces of a row, by the columns of x: so much memory for x_bar; bits       */
};

#endif
