/* The sizes of the CPU backend that the compiler must know, or that determine bits on every processor;
 * tuning.h has those of a microarchitecture. Each section names where its values were measured: a heading of
 * docs/notebook.md, which names the machine, or a program in bench/. A value marked "bits" determines the
 * order of additions, so changing it changes the last bits of results. The others affect speed alone. */
#ifndef CT_TENSOR_CPU_CONFIG_H
#define CT_TENSOR_CPU_CONFIG_H

/* -- registers: rows and vectors of a register tile, by instruction set (isa.h) -------------------------- */

/* For products, substitution and the sweep; if a vector has 16 numbers, the sweep uses 2 vectors.
 * bench/inverse, bench/mll. */
#define CT__TILE_ROWS(isa)    ((isa) == 2 ? 8 : 4)
#define CT__TILE_VECTORS(isa) ((isa) == 0 ? 2 : 3)
/* For grouped products, most of whose rows have 64 numbers. At most 6 rows; bench/gather. */
#define CT__GROUP_VECTORS(isa) ((isa) == 2 ? 4 : 2)
/* The inner extent of a product's block; bits. Strips of A, at most CT__STRIPS, that a panel of B serves
 * before the next panel. Panels that are packed together if B has contiguous rows. With AVX2 half of a
 * first-level cache holds a panel and a strip. "Products with AVX2". */
#define CT__BLOCK_DEPTH(isa)     ((isa) == 1 ? 128 : 256)
#define CT__STRIPS_TOGETHER(isa) ((isa) == 1 ? 8 : 1)
#define CT__PANELS_TOGETHER(isa) ((isa) == 1 ? 4 : 1)

enum {
    /* -- elementwise, reductions, copies; bench/overhead -- */
    CT__MAP_STRIP = 256, /* elements made contiguous, or converted to f32, at a time */
    CT__LOOP_TILE = 32,  /* extents of a tile if an operand's strides are in another order */
    CT__RANDOM_CHUNK = 512,
    CT__RANDOM_ALONE = 8,     /* chunks up to which one thread is faster */
    CT__REDUCE_WIDTH = 256,   /* outputs reduced together; elements of a run; bits */
    CT__REDUCE_LEAF = 4096,   /* elements reduced run after run; above, by halves; bits */
    CT__REDUCE_LANES = 8,     /* partial sums of a run; bits */
    CT__REDUCE_ROWS = 16,     /* rows reduced one after the other; above, by halves; bits */
    CT__REDUCE_PIECES = 32,   /* pieces of a long reduction, at most; bits */
    CT__REDUCE_PIECE = 32768, /* elements of a piece, at least; bits */
    CT__REDUCE_UNITS = 8,     /* units of outputs from which on reductions are not cut into pieces; bits */
    CT__SQDIST_STRIP = 128,   /* points of y that are transposed together */
    CT__SQDIST_DEPTH = 16,    /* dimensions of them */
    CT__SQDIST_ROWS = 64,     /* points of x in a task */

    /* -- batches of matrices ("One matrix: one thread or two?", "Triangular solves of a batch") -- */
    CT__SMALL = 8,               /* extents up to which plain loops beat BLAS */
    CT__TINY = 64,               /* multiplications up to which a product is three plain loops */
    CT__ROOT_MAX = 32768,        /* extent up to which BLAS can index a packed triangle */
    CT__INVERSE_COLUMNS = 64,    /* columns of L⁻ᵀ, or rows of A⁻¹, in a task */
    CT__BAR_ROWS = 256,          /* rows of a symmetric product in one BLAS call */
    CT__POTRF_SMALL = 16,        /* extent up to which Cholesky is a plain loop */
    CT__SUBSTITUTE_COPIED = 128, /* right-hand sides that are transposed at once */
    CT__LAPACK_PANEL = 64,       /* LAPACK's largest panel width */

    /* -- one thread's products and tiles ("Products that skip triangles", "Inverses") -- */
    CT__NEAR = 128,  /* rows of a panel up to which it stays in the first-level cache ("Small likelihoods") */
    CT__AHEAD = 8,   /* prefetch distance in longer panels, in rows */
    CT__TILE = 32,   /* extent of a diagonal tile in blocked routines; bits */
    CT__STRIP = 64,  /* rows of an LU panel updated together */
    CT__DEPTH = 256, /* inner extent of a block, at most: a tile's operands stay in the caches */
    CT__STRIPS = 8,  /* register tiles' rows of A that are packed together */
    CT__PANELS = 11, /* panels of B that stay in the second-level cache */
    CT__PANEL_ROW = 192, /* bytes of a panel's row, at most */

    /* -- bf16 and f16 (bench/blockdiag; "Block-diagonal layers") -- */
    CT__HALF_ROWS = 512,        /* rows and columns of a tile of C, at most; bits */
    CT__HALF_DEPTH = 256,       /* inner extent of tiles of A and B; half of it for f16 with AMX; bits */
    CT__HALF_PART = 96,         /* columns of B in f32 at a time, and of C for what AMX cannot compute */
    CT__HALF_LEAST = 64,        /* rows and columns below which no tile is halved */
    CT__HALF_TILES = 2,         /* tiles for each thread, at least, to balance the load */
    CT__BF16_ROWS = 8,          /* rows of a register tile */
    CT__BF16_VECTORS = 3,       /* vectors of 16 numbers in that tile */
    CT__BF16_PAIRS = 128,       /* pairs along the inner extent, at most, in one call; 64 for f16 */
    CT__BF16_DEPTH = 64,        /* smallest inner extent for which they are used */
    CT__COLUMNS_STEP = 32,      /* rows and columns of C computed together if AMX reads B in place */
    CT__COLUMNS_DEPTH = 8192,   /* largest inner extent for which AMX reads B in place; bits */
    CT__COLUMNS_A = 1 << 19,    /* elements of A in a tile, which stay in the second-level cache */
    CT__COLUMNS_KEPT = 1 << 19, /* bytes of packed A for each thread, or more to keep all busy */
    CT__COLUMNS_AHEAD = 24,     /* lines that are prefetched ahead of their use */

    /* -- grouped products, and gemm's of few rows ("Gathered products"; bench/gather, bench/blockdiag) -- */
    CT__GROUP_TILE = 6,          /* rows of a register tile, at most */
    CT__GROUP_ROWS = 96,         /* rows of a group in a block, which stays in the cache; bits */
    CT__GROUP_BLOCK = 128,       /* rows of a block in a plain product */
    CT__GROUP_DEPTH = 256,       /* inner extent of a packed panel; bits */
    CT__GROUP_NEAR = 128,        /* with AVX2, stride of B's rows up to which they are read in place; bits */
    CT__GROUP_STRIP = 64,        /* columns of a plain product for each thread, at least */
    CT__GROUP_AHEAD = 32,        /* prefetch distance, in rows */
    CT__GROUP_FETCHED = 1 << 16, /* bytes of a matrix up to which it is prefetched */
    CT__GROUP_CUTS = 4,          /* pieces of work for each thread; bits */
    CT__GROUP_COST = 8,          /* the cost of a group besides its rows, in rows */
    CT__GROUP_PART = 1 << 16,    /* numbers of a matrix converted to f32 at a time; bits */

    /* -- covariances ("Where the likelihood's time goes"; bench/mll) -- */
    CT__COV_ROWS = 32,     /* rows of a task; theta_bar is summed over such blocks; bits */
    CT__COV_WIDTH = 256,   /* columns of a tile, and pairs of a strip; bits */
    CT__COV_GROUP = 16,    /* columns beyond the last that vector loops may read */
    CT__COV_MANY_F64 = 32, /* active columns from which on distances are computed from products */
    CT__COV_MANY_F32 = 64,

    /* -- threads -- */
    CT__TEAM_EACH = 4,     /* threads per processor that a device may ask for, */
    CT__TEAM_LEAST = 64,   /* or this many if that is more */
    CT__TEAM_SPINS = 4000, /* polls before a waiting thread sleeps: 40 to 200 microseconds */
    CT__PACE_WINDOW = 20,  /* milliseconds of measurement that show whether the machine is busy */
    CT__PACE_REST = 20,    /* single-thread back-off if it is, relative to that time */
};

#endif
