/* The Cholesky factor or the inverse of a symmetric positive definite matrix, in place on one packed
 * triangle, by one sweep over blocks of pivots. A step takes the next b rows as its pivots. Let L Lᵀ = A_kk,
 * and let S00 be the part swept so far, which holds an inverse:
 *
 *     A = [ S00         ]     W_i = A_ik L⁻ᵀ for all other i              S00 = A00⁻¹
 *         [ Ak0 Akk     ]     A_ij -= W_i W_jᵀ, but S_ij += W_i W_jᵀ      Ak0 = -A_k0 A00⁻¹ at first
 *         [ A20 A2k A22 ]     A_ik = -W_i L⁻¹ (swept: + W_i L⁻¹),  A_kk = L⁻ᵀL⁻¹,
 *
 * The sweep takes n³ operations, as Cholesky, trtri and lauum in sequence do. But nearly all of them are in
 * one rank-b update of the whole triangle, which has the same size in every step, so all threads stay busy.
 * The next pivot block is updated and factorised first (look-ahead), while other threads update the rest.
 * Without the inverse, the rows already swept are skipped, W_i replaces A_ik, and the result is L.
 * [Bientinesi, Gunter & van de Geijn 2008, "Families of algorithms related to the inversion of a symmetric
 * positive definite matrix"]
 *
 * The panel W is packed in slivers. A sliver has as many rows as a register tile is wide, and stores one
 * pivot's numbers contiguously. The product reads both of its operands in this form. */
#include "sweep.h"
#include "sweep_run.h"

static ct__layout layout_of(int64_t n, const ct_view *A)
{
    if (A->dim[0] == n) return (ct__layout){ .n = n, .ld = A->stride[0] };
    return (ct__layout){ n, n - n / 2, A->stride[0], 1 - n % 2, n % 2 };
}

/* -- sweeps ---------------------------------------------------------------------------------------------- */

static ct__sweep problem_of(const ct_device *dev, ct__layout A, bool inverse, double tolerance, void *data,
                            void *z, int64_t columns, void *diagonal)
{
    const int parts = A.n <= dev->tuning->sweep_alone ? 1 : dev->threads;
    return (ct__sweep){ dev->tuning, A,        inverse, tolerance, data,
                        z,           diagonal, columns, parts,     ct__team(dev, parts) };
}

uint64_t ct__cpu_sweep_bytes(const ct_device *dev, ct_dtype dtype, int64_t n)
{
    const ct__sweep t = problem_of(dev, (ct__layout){ .n = n }, true, 0, NULL, NULL, 1, NULL);
    return n ? ct__sweep_code_of(dev->isa, dtype)->memory(&t) : 0;
}

ct_status ct__cpu_packed_sweep(ct_device *dev, int64_t n, bool inverse, double tolerance, ct_view *A,
                               ct_view *z, ct_view *diagonal, ct_failure *failure)
{
    if (!n) return CT_OK;
    const ct__sweep t =
        problem_of(dev, layout_of(n, A), inverse, tolerance, A->data, z->data, z->dim[1], diagonal->data);
    const ct__sweep_code *code = ct__sweep_code_of(dev->isa, A->dtype);
    size_t bytes = code->memory(&t);
    char *memory = ct__pool_get(dev, &bytes);
    if (!memory) return CT_ENOMEM;
    const ct__stopwatch begin = ct__pace_begin(t.team);
    const int64_t failed = code->run(&t, memory);
    ct__pace_end(dev, &begin);
    ct__pool_put(dev, memory, bytes);
    if (failed && failure && !failure->set) ct__failure_set(failure, 0, failed, "leading minor %lld", NULL);
    return CT_OK;
}

/* -- a square matrix ------------------------------------------------------------------------------------- */

size_t ct__sweep_memory(const ct_device *dev, ct_dtype dtype, int64_t n, int64_t ld)
{
    const ct__sweep t = problem_of(dev, (ct__layout){ .n = n, .ld = ld }, false, 0, NULL, NULL, 1, NULL);
    return ct__sweep_code_of(dev->isa, dtype)->memory(&t) +
           2 * (size_t)(n + CT__ALIGNMENT) * ct_dtype_size(dtype);
}

int64_t ct__sweep_factor(const ct_device *dev, ct_dtype dtype, int64_t n, void *a, int64_t ld, void *memory)
{
    ct__sweep t = problem_of(dev, (ct__layout){ .n = n, .ld = ld }, false, 0, a, NULL, 1, NULL);
    const ct__sweep_code *code = ct__sweep_code_of(dev->isa, dtype);
    t.z = (char *)memory + code->memory(&t);
    t.diagonal = ct__at(t.z, dtype, n + CT__ALIGNMENT);
    memset(t.z, 0, (size_t)n * ct_dtype_size(dtype));
    return code->run(&t, memory);
}
