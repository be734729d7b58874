/* Products of bf16 by AMX that read the columns of B in place. */
#ifndef CT_TENSOR_CPU_GEMM_COLUMNS_H
#define CT_TENSOR_CPU_GEMM_COLUMNS_H

#include "batch.h"

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
