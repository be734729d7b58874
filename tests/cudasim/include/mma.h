/* Tensor cores: matrices of 16 x 16 that a warp has together. Here its first thread has them whole and does
 * the work of all, so what the others put into shared memory must be there before, by a barrier. Addresses
 * are multiples of 32 bytes and rows multiples of 16, as the hardware wants them. */
#ifndef CUDASIM_MMA_H
#define CUDASIM_MMA_H

#include "cuda_runtime.h"

namespace nvcuda
{
namespace wmma
{
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static_assert(M == 16 && N == 16 && K == 16, "the one shape that is simulated");
    T part[M][N];
};

static CUDASIM_UNSEEN inline bool first_of_warp() { return threadIdx.x % 32 == 0; }

template <class F, class T> CUDASIM_UNSEEN void fill_fragment(F &f, T x)
{
    for (auto &row : f.part)
        for (auto &e : row) e = x;
}

template <class Use, class T, class Layout>
CUDASIM_UNSEEN void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout> &f, const T *from, unsigned ld)
{
    cudasim::check_tile(from, ld * sizeof(T));
    const bool by_row = std::is_same<Layout, row_major>::value;
    for (int i = 0; i < 16 && first_of_warp(); i++)
        for (int j = 0; j < 16; j++) f.part[i][j] = from[by_row ? i * ld + j : j * ld + i];
}

template <class T>
CUDASIM_UNSEEN void store_matrix_sync(T *to, const fragment<accumulator, 16, 16, 16, T> &f, unsigned ld,
                                      layout_t layout)
{
    cudasim::check_tile(to, ld * sizeof(T));
    for (int i = 0; i < 16 && first_of_warp(); i++)
        for (int j = 0; j < 16; j++) to[layout == mem_row_major ? i * ld + j : j * ld + i] = f.part[i][j];
}

/* D = A B + C; products of halves are exact */
template <class D, class A, class B, class C>
CUDASIM_UNSEEN void mma_sync(D &d, const A &a, const B &b, const C &c)
{
    cudasim::check_tile(nullptr, 0);
    for (int i = 0; i < 16 && first_of_warp(); i++)
        for (int j = 0; j < 16; j++) {
            float sum = c.part[i][j];
            for (int k = 0; k < 16; k++) sum += (float)a.part[i][k] * (float)b.part[k][j];
            d.part[i][j] = sum;
        }
}
} // namespace wmma
} // namespace nvcuda

#endif
