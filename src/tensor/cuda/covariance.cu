/* Covariance matrices, and the plans of covariance.cuh. */
#include "covariance_pairs.cuh"

/* -- plans ----------------------------------------------------------------------------------------------- */

static int64_t rounded(int64_t bytes, int64_t to) { return ct__divide_up(bytes, to) * to; }

template <typename T> ct__place ct__plan_take(ct__plan<T> *p, int64_t bytes)
{
    bytes = rounded(bytes, CT__COV_GRANULE);
    const bool global = p->shared + bytes > CT__COV_ROOM;
    int64_t *used = global ? &p->global : &p->shared;
    ct__place place = { *used, global };
    *used += bytes;
    return place;
}

template <typename T>
void ct__plan_begin(const ct_cov_program *program, const ct_view *theta, const ct_view *x, const ct_view *z,
                    ct__plan<T> *p)
{
    memset(p, 0, sizeof *p);
    const ct_view *other = z ? z : x;
    p->symmetric = !z;
    p->n = x->dim[0], p->m = other->dim[0], p->d = x->dim[1];
    p->x = (const T *)x->data, p->x_row = x->stride[0], p->x_col = x->stride[1];
    p->z = (const T *)other->data, p->z_row = other->stride[0], p->z_col = other->stride[1];
    p->theta_from = (const T *)theta->data, p->theta_step = theta->stride[0];
    p->n_nodes = program->n_nodes, p->n_params = program->n_params, p->n_dims = program->n_dims;
    if (program->bytes <= CT__COV_PROGRAM && program->n_params <= CT__COV_PROGRAM / 4) {
        p->bytes = (int32_t)program->bytes;
        memcpy(&p->program, program, (size_t)program->bytes);
        const int64_t numbers = program->n_params + 2 * (int64_t)program->n_dims;
        p->program_at = ct__plan_take(p, rounded(program->bytes, 8) + numbers * (int64_t)sizeof(T));
    }
    p->values_at =
        ct__plan_take(p, (int64_t)(p->n_nodes - 1) * CT__COV_THREADS * ct__pairs<T>::COUNT * sizeof(T));
}

template <typename T> void ct__plan_points(ct__plan<T> *p)
{
    const int64_t column = p->d * (int64_t)sizeof(T);
    p->x_at = ct__plan_take(p, ct__tile::X_PITCH * column);
    p->z_at = ct__plan_take(p, ct__tile::Z_PITCH * column);
    p->small = p->bytes && !p->x_at.global && !p->z_at.global;
}

template <typename T> void ct__plan_tasks(ct__plan<T> *p, int64_t most)
{
    p->row_tiles = ct__divide_up(p->n, CT__COV_LANES);
    p->columns = CT__COV_LEAST;
    while (p->columns < CT__COV_MOST && p->row_tiles * ct__divide_up(p->m, p->columns) > CT__COV_TASKS)
        p->columns *= 2;
    while (ct__divide_up(p->m, p->columns) > most) p->columns *= 2;
    const int64_t pieces = ct__divide_up(p->m, p->columns);
    p->tasks = p->row_tiles * (pieces ? pieces : 1);
}

template <typename T> unsigned ct__plan_blocks(const ct__plan<T> *p, int64_t bytes, int64_t common)
{
    const int64_t panel = (p->n + 384) * (96 + 2 * p->d) * 8 - common, each = p->global + bytes;
    int64_t blocks = each ? panel / each : (int64_t)CT__COV_BLOCKS;
    blocks = blocks < CT__COV_FEW      ? (int64_t)CT__COV_FEW
             : blocks > CT__COV_BLOCKS ? (int64_t)CT__COV_BLOCKS
                                       : blocks;
    return (unsigned)(blocks < p->tasks ? blocks : p->tasks ? p->tasks : 1);
}

/* Points that are read from global memory lie there by columns, neighbours side by side; but few of many
 * columns stay where they are. */
template <typename T> static bool moved(const ct__plan<T> *p, int64_t row, int64_t col)
{
    return !p->small && (col > INT32_MAX || (row != 1 && 2 * (int64_t)p->n_dims >= p->d));
}

enum { PROGRAM, NUMBERS, X, Z, OF_BLOCKS, PARTS };

/* Where the parts of the global memory begin; the end. */
template <typename T>
static int64_t lay_out(const ct__plan<T> *p, int64_t program_bytes, unsigned blocks, int64_t *begin)
{
    const int64_t size = sizeof(T);
    const int64_t bytes[PARTS] = {
        p->small ? 0 : program_bytes,
        p->small ? 0 : (p->n_params + 2 * (int64_t)p->n_dims) * size,
        moved(p, p->x_row, p->x_col) ? p->n * p->d * size : 0,
        !p->symmetric && moved(p, p->z_row, p->z_col) ? p->m * p->d * size : 0,
        p->global * blocks,
    };
    int64_t end = 0;
    for (int k = 0; k < PARTS; k++) begin[k] = end, end += rounded(bytes[k], CT__ALIGNMENT);
    return end;
}

template <typename T>
int64_t ct__plan_bytes(const ct__plan<T> *p, const ct_cov_program *program, unsigned blocks)
{
    int64_t begin[PARTS];
    return lay_out(p, program->bytes, blocks, begin);
}

/* Kernel arguments as the way to the device: nothing of the host's is read later, so a captured graph may
 * repeat it. */
static __global__ void write_kernel(ct__words from, int32_t *to, int n)
{
    CT__EACH(i, n) to[i] = from.word[i];
}

/* One block. */
template <typename T> static __global__ void prepare_kernel(ct__plan<T> p, T *theta)
{
    ct__prepare(p, p.nodes, theta);
}

/* A program that is too large for the arguments of a kernel. */
template <typename T>
static void write_program(cudaStream_t stream, const ct_cov_program *program, ct__plan<T> *p, char *to,
                          T *numbers)
{
    for (int64_t at = 0; at < program->bytes; at += CT__COV_PROGRAM) {
        const int64_t rest = program->bytes - at,
                      bytes = rest < CT__COV_PROGRAM ? rest : (int64_t)CT__COV_PROGRAM;
        ct__words piece;
        memset(&piece, 0, sizeof piece);
        memcpy(&piece, (const char *)program + at, (size_t)bytes);
        CT__LAUNCH(write_kernel, 1, CT__BLOCK, stream, piece, (int32_t *)(to + at), (int)(bytes / 4));
    }
    const char *moved = to;
    p->nodes = (const ct_cov_node *)(moved + ((const char *)ct_cov_nodes(program) - (const char *)program));
    p->dims = (const int32_t *)(moved + ((const char *)ct_cov_dims(program) - (const char *)program));
    p->theta = numbers, p->weight = numbers + p->n_params;
    CT__LAUNCH(prepare_kernel<T>, 1, CT__BLOCK, stream, *p, numbers);
}

/* to[k][i] = column k of point i, which are `from` from then on */
template <typename T>
static ct_status move_points(ct_device *dev, int64_t n, int64_t d, T *to, const T **from, int64_t *row,
                             int64_t *col)
{
    ct_view x, copy;
    memset(&x, 0, sizeof x);
    x.dtype = sizeof(T) == 8 ? CT_F64 : CT_F32;
    x.ndim = 2;
    x.dim[0] = n, x.dim[1] = d;
    copy = x;
    x.data = (void *)*from, x.stride[0] = *row, x.stride[1] = *col;
    copy.data = to, copy.stride[0] = 1, copy.stride[1] = n;
    *from = to, *row = 1, *col = n;
    return ct__cuda_copy(dev, &x, &copy);
}

template <typename T>
ct_status ct__plan_fill(ct_device *dev, const ct_cov_program *program, ct__plan<T> *p, unsigned blocks,
                        void *memory)
{
    if (p->n > INT32_MAX - CT__COV_CHUNK || p->m > INT32_MAX - CT__COV_CHUNK)
        return ct__fail(dev, CT_EUNSUPPORTED, "a covariance matrix of more than 2^31 rows or columns on %s",
                        dev->name);
    char *room = (char *)memory;
    int64_t begin[PARTS];
    lay_out(p, program->bytes, blocks, begin);
    p->room = room + begin[OF_BLOCKS];
    ct_status s = CT_OK;
    const bool both = p->symmetric;
    if (moved(p, p->x_row, p->x_col))
        s = move_points(dev, p->n, p->d, (T *)(room + begin[X]), &p->x, &p->x_row, &p->x_col);
    if (both)
        p->z = p->x, p->z_row = p->x_row, p->z_col = p->x_col;
    else if (!s && moved(p, p->z_row, p->z_col))
        s = move_points(dev, p->m, p->d, (T *)(room + begin[Z]), &p->z, &p->z_row, &p->z_col);
    if (!s && !p->small)
        write_program(ct__cuda_of(dev)->stream, program, p, room + begin[PROGRAM],
                      (T *)(room + begin[NUMBERS]));
    return s ? s
             : ct__cuda_launched(dev,
                                 "covariance"); /* else what follows would follow addresses nobody wrote */
}

#define INSTANCES(T)                                                                                        \
    template void ct__plan_begin(const ct_cov_program *, const ct_view *, const ct_view *, const ct_view *, \
                                 ct__plan<T> *);                                                            \
    template ct__place ct__plan_take(ct__plan<T> *, int64_t);                                               \
    template void ct__plan_points(ct__plan<T> *);                                                           \
    template void ct__plan_tasks(ct__plan<T> *, int64_t);                                                   \
    template unsigned ct__plan_blocks(const ct__plan<T> *, int64_t, int64_t);                               \
    template int64_t ct__plan_bytes(const ct__plan<T> *, const ct_cov_program *, unsigned);                 \
    template ct_status ct__plan_fill(ct_device *, const ct_cov_program *, ct__plan<T> *, unsigned, void *);
INSTANCES(double)
INSTANCES(float)
#undef INSTANCES

/* -- matrices -------------------------------------------------------------------------------------------- */

template <typename T> struct writer {
    T *K;
    int64_t rs, cs;
    int n_nodes;
    __device__ void begin(int) {}
    template <bool SHARED>
    __device__ __forceinline__ void pairs(const ct__thread<T, SHARED> &v, int i, int j, const bool *live)
    {
        T top[ct__pairs<T>::COUNT] = {};
        ct__leaf<T> leaf;
        for (int k = 0; k < n_nodes; k++) {
            if (v.nodes[k].code < CT_COV_PROFILES) ct__evaluate(v, k, leaf);
            ct__up(v, k, k + 1 == n_nodes, leaf, top);
        }
        CT__EACH_PAIR(p) if (live[p]) K[i * rs + (int64_t)(j + p) * cs] = top[p];
    }
    __device__ void end(int, int, int) {}
};

/* Of a symmetric matrix both halves are computed: their bits are the same, and all is written in order. */
template <typename T, bool SHARED>
static __global__ void covariance_kernel(ct__plan<T> p, T *K, int64_t rs, int64_t cs)
{
    __shared__ int64_t shared[CT__COV_ROOM / 8];
    ct__thread<T, SHARED> v;
    ct__open(p, (char *)shared, v);
    writer<T> w = { K, rs, cs, p.n_nodes };
    ct__walk(p, (char *)shared, v, w);
}

template <typename T>
static ct_status covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                            const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    const bool by_row = out->stride[1] < out->stride[0]; /* then the transposed problem, k being symmetric */
    ct__plan<T> p;
    ct__plan_begin(program, theta, by_row && z ? z : x, by_row && z ? x : z, &p);
    p.part = lower ? by_row ? CT__UPPER : CT__LOWER : CT__ALL;
    ct__plan_points(&p);
    ct__plan_tasks(&p, INT64_MAX);
    const unsigned blocks = ct__plan_blocks(&p, 0, 0);
    ct__scratch room(dev, ct__plan_bytes(&p, program, blocks));
    if (!room.data) return CT_ENOMEM;
    ct_status s = ct__plan_fill(dev, program, &p, blocks, room.data);
    if (s) return s;
    T *K = (T *)out->data;
    const int64_t rs = out->stride[by_row], cs = out->stride[!by_row];
    const char *const what = "covariance";
    return p.small ? CT__RUN_BLOCKS(dev, what, (covariance_kernel<T, true>), blocks, CT__COV_THREADS, p, K,
                                    rs, cs)
                   : CT__RUN_BLOCKS(dev, what, (covariance_kernel<T, false>), blocks, CT__COV_THREADS, p, K,
                                    rs, cs);
}

ct_status ct__cuda_covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                              const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    if (!out->dim[0] || !out->dim[1]) return CT_OK;
    return out->dtype == CT_F64 ? covariance<double>(dev, program, theta, x, z, lower, out)
                                : covariance<float>(dev, program, theta, x, z, lower, out);
}
