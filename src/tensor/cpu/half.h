/* bf16 and f16 on the CPU: conversion of rows and tiles to and from f32, and products that accumulate in
 * f32. */
#ifndef CT_TENSOR_CPU_HALF_H
#define CT_TENSOR_CPU_HALF_H

#include "batch.h"
#include "kernel/kit.h"
#include "tensor/half.h"

/* y = x for n contiguous elements, with the vectors of an instruction set (kernel/isa.h). The result equals
 * that of tensor/half.h to the bit. */
void ct__widen(int isa, ct_dtype from, int64_t n, const uint16_t *x, float *y);
void ct__narrow(int isa, ct_dtype to, int64_t n, const float *x, uint16_t *y);

/* Widens x (rows x cols, strides rs and cs) to y (row-major, leading dimension ld), or narrows the other
 * way. */
void ct__widen_tile(int isa, ct_dtype from, int64_t rows, int64_t cols, const uint16_t *x, int64_t rs,
                    int64_t cs, float *y, int64_t ld);
void ct__narrow_tile(int isa, ct_dtype to, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     uint16_t *y, int64_t rs, int64_t cs);

/* gemm, or affine with D as the fourth matrix, for a job of bf16 or f16. Sums are in f32, and each is rounded
 * once. */
ct_status ct__half_gemm(const ct__job *job);

/* Whether the CPU has AMX's products of bf16; whether the operating system grants them to this process, which
 * must ask first. */
bool ct__has_amx(void);
bool ct__ask_for_amx(void);

/* A product C = or += A B for the CPU's bf16 dot products: bf16 or f16 A and B, f32 C, and k at most 256. */
typedef struct ct__dots {
    int isa;
    bool amx; /* AMX is granted; it is used if 32 divides k, and f16 is computed only with it */
    ct_dtype dtype;
    ct__product f32; /* with A and B of the dtype */
    int64_t more;    /* rows of B below these, for the next call; they are prefetched */
    uint16_t *C;     /* if not NULL, A B, rounded, goes here, and f32.c is not used */
    int64_t ldC;
    const uint16_t *D; /* if not NULL, C is A B + D */
    int64_t ldD;
    uint32_t *strips; /* workspace of m (k + 1) / 2 words, twice as many for f16, with m rounded up to 16 */
} ct__dots;

/* Returns the number of leading columns that it has computed; it leaves the others unchanged. It computes
 * none if the CPU lacks the instructions, the product is too small, or A has a subnormal (for f16: an
 * infinity or NaN). It stops at the first panel of B in which a subnormal could matter. */
int64_t ct__bf16_multiply(const ct__dots *dots);

/* A tile of a member's C. */
typedef struct ct__tile {
    int64_t member, row, rows, col, cols;
} ct__tile;

/* The packed A of a bf16 job, for AMX's products that read B's columns in place. */
typedef struct ct__columns {
    int64_t strips, words; /* of 16 rows, of a member; words of each strip */
    int64_t members;       /* whose A is kept at a time: at first all, or one if all share it */
    uint32_t *packed;      /* the caller's memory, members x strips x words, aligned to 64 bytes */
} ct__columns;

/* 0 strips if the job is not of that kind. */
ct__columns ct__columns_of(const ct__job *job);
/* Packs strip i of the A of all members. */
void ct__columns_pack(const ct__job *job, const ct__columns *a, int64_t i);
/* Computes a tile of C whose first row CT__COLUMNS_STEP divides. As ct__bf16_multiply does, it returns the
 * number of leading columns that it has computed. work: CT__COLUMNS_STEP k elements. */
int64_t ct__columns_multiply(const ct__job *job, const ct__columns *a, const ct__tile *t, uint16_t *work);

#endif
