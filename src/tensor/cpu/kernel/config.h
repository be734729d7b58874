/* Every tile size and threshold of the CPU backend. Each section names where its values were measured: a
 * heading of docs/notebook.md, which names the machine, or a program in bench/. A value marked "bits" decides
 * the order of additions: a change of it changes the last bits of results. The others decide speed alone. */
#ifndef CT_TENSOR_CPU_CONFIG_H
#define CT_TENSOR_CPU_CONFIG_H

/* -- registers: rows and vectors of a tile, by instruction set (isa.h) ----------------------------------- */

/* Of products, substitution and the sweep, which has 2 vectors where one has 16 numbers; bench/inverse,
 * bench/mll. */
#define CT__TILE_ROWS(isa)    ((isa) == 2 ? 8 : 4)
#define CT__TILE_VECTORS(isa) ((isa) == 0 ? 2 : 3)
/* Of grouped products, whose rows are 64 numbers wide more often than not: 6 rows at most; bench/gather. */
#define CT__GROUP_VECTORS(isa) ((isa) == 2 ? 4 : 2)
/* Rows and columns of a small B, above which BLAS is faster with AVX2 ("Many processes"). */
#define CT__TALL_MOST(isa) ((isa) == 2 ? 256 : 128)

enum {
    /* -- elementwise, reductions, copies; bench/overhead -- */
    CT__GRAIN = 32768,    /* elements a thread should have before a second one is woken */
    CT__MAP_GRAIN = 8192, /* the same of functions such as exp */
    CT__MAP_STRIP = 256,  /* elements made contiguous, or f32, at a time */
    CT__LOOP_TILE = 32,   /* where operands disagree about the inner dimension */
    CT__RANDOM_CHUNK = 512,
    CT__RANDOM_ALONE = 8,     /* chunks that one thread had better do alone */
    CT__REDUCE_WIDTH = 256,   /* outputs worked on together; elements summed in one go; bits */
    CT__REDUCE_LEAF = 4096,   /* and run after run; above this by halves; bits */
    CT__REDUCE_LANES = 8,     /* sums of a run side by side; bits */
    CT__REDUCE_ROWS = 16,     /* rows added up in one go; bits */
    CT__REDUCE_PIECES = 32,   /* of a long reduction; bits */
    CT__REDUCE_PIECE = 32768, /* elements that make a piece; bits */
    CT__REDUCE_UNITS = 8,     /* outputs' units from which no reduction is cut; bits */
    CT__SQDIST_STRIP = 128,   /* points of y that are turned together */
    CT__SQDIST_DEPTH = 16,    /* and their dimensions */
    CT__SQDIST_ROWS = 64,     /* points of x of one task */

    /* -- batches of matrices ("One matrix: one thread or two?", "Triangular solves of a batch") -- */
    CT__SMALL = 8,                /* extents up to which plain loops beat any call */
    CT__MEMBER_WORK = 1000000000, /* operations from which BLAS's own threads beat the batch */
    CT__WAKE_WORK = 100000,       /* operations that waking the threads costs */
    CT__TURN_WORK = 1000000,      /* of more, members are taken by whoever is free */
    /* extents from which one matrix is better given to all threads than to one: */
    CT__SPD_ALONE = 224,      /* the inverse by Cholesky */
    CT__GENERAL_ALONE = 384,  /* LAPACK's inverse after LU */
    CT__LU_ALONE = 768,       /* LAPACK's LU */
    CT__BAR_ALONE = 128,      /* an inverse's adjoint by gemm */
    CT__ROOT_MAX = 32768,     /* extent of a matrix whose triangle BLAS can still count */
    CT__INVERSE_COLUMNS = 64, /* of L⁻ᵀ that a thread takes at once, and rows of A⁻¹ */
    CT__BAR_ROWS = 256,       /* of a symmetric product that BLAS computes at once */
    CT__POTRF_SMALL = 16,     /* extent up to which Cholesky is a loop */
    /* Substitution is ours from so many right-hand sides on and for less operations than these. */
    CT__SUBSTITUTE_COLUMNS = 2,
    CT__SUBSTITUTE_WORK = 1 << 30,
    CT__SUBSTITUTE_COPIED = 128, /* right-hand sides whose transposes are copied at once */
    CT__LAPACK_PANEL = 64,       /* LAPACK's widest */

    /* -- one thread's products and tiles ("Products that skip triangles", "Inverses") -- */
    CT__NEAR = 128,      /* rows of a panel that stay in the first-level cache ("Small likelihoods") */
    CT__AHEAD = 8,       /* rows between the one worked on and the one fetched, of longer panels */
    CT__TILE = 32,       /* what blocked routines do on the diagonal at once; bits */
    CT__STRIP = 64,      /* rows of an LU panel worked on together */
    CT__DEPTH = 256,     /* depths worked on at once: a tile's operands stay in the first caches; bits */
    CT__STRIPS = 8,      /* of a tile's rows of A that are packed together */
    CT__PANELS = 11,     /* of B in the second-level cache */
    CT__PANEL_ROW = 192, /* bytes of a panel's row, at most */

    /* -- gemm's own ways ("Block-diagonal layers") -- */
    CT__TINY = 64, /* up to so many multiplications a product is three loops at once */
    /* A B goes through the grouped kernels where A has FEW_LEAST to FEW rows, B at least twice FEW_LEAST rows
     * and columns and at most FEW_DEEP rows, and the batch at least FEW_WORK operations. */
    CT__FEW_LEAST = 16,
    CT__FEW = 256,
    CT__FEW_DEEP = 4096,
    CT__FEW_WORK = 200000,
    /* AᵀB goes through the kit's product where A and B have THIN_LEAST to THIN_DEEP rows, A at least twice
     * and B at least three times THIN_LEAST columns, and the product at least THIN_WORK multiplications. */
    CT__THIN_LEAST = 32,
    CT__THIN_DEEP = 256,
    CT__THIN_WORK = 1 << 20,
    /* So does A B where A has at least TALL_ROWS rows for each thread, and B at least TALL_LEAST rows and
     * columns and at most TALL_MOST. So many rows to the left of a triangle of TALL_LEAST to TALL_SOLVED rows
     * are substituted. */
    CT__TALL_ROWS = 64,
    CT__TALL_LEAST = 16,
    CT__TALL_SOLVED = 256,

    /* -- bf16 and f16 (bench/blockdiag; "Block-diagonal layers") -- */
    CT__HALF_ROWS = 512,      /* of a tile of C, at most; its columns, too; bits */
    CT__HALF_DEPTH = 256,     /* of the tiles of A and B, of f16 with AMX half of it; bits */
    CT__HALF_LEAST = 64,      /* no tile is halved below this */
    CT__HALF_ALONE = 1 << 16, /* multiplications that one thread had better do alone */
    CT__HALF_TILES = 2,       /* for each thread: they end together */
    CT__BF16_ROWS = 8,        /* of a tile in registers */
    CT__BF16_VECTORS = 3,     /* of 16 numbers, in that tile */
    CT__BF16_PAIRS = 128,     /* of depths, at most, that the dot products take at once; of f16 64 */
    CT__BF16_DEPTH = 64,      /* the least inner extent that they are used for */

    /* -- grouped products, and gemm's of few rows ("Gathered products"; bench/gather, bench/blockdiag) -- */
    CT__GROUP_TILE = 6,          /* rows of a tile in registers, at most */
    CT__GROUP_ROWS = 96,         /* of one group worked on together: they stay in the cache; bits */
    CT__GROUP_BLOCK = 128,       /* rows of a plain product worked on together */
    CT__GROUP_DEPTH = 256,       /* inner extent of a packed panel; bits */
    CT__GROUP_STRIP = 64,        /* columns that a thread has of a plain product, at least */
    CT__GROUP_AHEAD = 32,        /* rows between the one worked on and the one asked for */
    CT__GROUP_FETCHED = 1 << 16, /* bytes of a matrix that are asked for ahead, at most */
    CT__GROUP_CACHE = 1 << 23,   /* bytes of results that need not pass through the caches */
    CT__GROUP_CUTS = 4,          /* pieces of work for each thread; bits */
    CT__GROUP_COST = 8,          /* of a group beside its rows, in rows */
    CT__GROUP_ALONE = 1 << 15,   /* multiplications that one thread had better do alone */
    CT__GROUP_PART = 1 << 16,    /* numbers of a matrix that are f32 at a time; bits */

    /* -- covariances ("Where the likelihood's time goes"; bench/mll) -- */
    CT__COV_ROWS = 32,     /* of one task; theta_bar is summed by such blocks, whatever the threads; bits */
    CT__COV_WIDTH = 256,   /* columns of one tile, and pairs worked on together; bits */
    CT__COV_GROUP = 16,    /* columns beyond the last that vector loops may read */
    CT__COV_ALONE = 25600, /* entries that one thread had better do alone */
    CT__COV_MANY_F64 = 32, /* columns of the data from which on distances come from products */
    CT__COV_MANY_F32 = 64,

    /* -- the sweep ("Where the likelihood's time goes"; bench/mll) -- */
    CT__SWEEP_ALONE = 160, /* rows that one thread had better do alone */
    /* A task has SHARE per cent of the rows, LEAST to MOST, and a step pivots for TASKS of them. Above LARGE
     * it has those for DEEP of them. Measured on two cores. All of these: bits. */
    CT__SWEEP_SHARE = 16,
    CT__SWEEP_LEAST = 48,
    CT__SWEEP_MOST = 96,
    CT__SWEEP_TASKS = 2,
    CT__SWEEP_LARGE = 1500,
    CT__SWEEP_DEEP = 4,
    CT__SWEEP_STRETCHES = 12, /* of rows, that a part should have at least */

    /* -- threads -- */
    CT__TEAM_EACH = 4,     /* threads that a device may ask for, for each processor, */
    CT__TEAM_LEAST = 64,   /* or this many where that is more */
    CT__TEAM_SPINS = 4000, /* looks before a thread that waits sleeps: 40 to 200 microseconds */
    CT__PACE_WINDOW = 20,  /* milliseconds over which it is judged whether the machine is busy */
    CT__PACE_REST = 20,    /* one thread works alone for so many times as long, then */
};

#endif
