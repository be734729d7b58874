/* Covariance matrices: a thread has an element. */
#include "covariance.cuh"

enum { PIECE = 1024 };

typedef struct piece {
    unsigned char bytes[PIECE];
} piece;

/* Kernel arguments as the way to the device: nothing of the host's is read later, so a captured graph may repeat it. */
static __global__ void write_kernel(piece from, unsigned char *to, int n)
{
    CT__EACH(i, n) to[i] = from.bytes[i];
}

template <typename T>
static __global__ void prepare_kernel(ct__plan<T> p, T *theta, T *weight, const T *from, int64_t step)
{
    CT__EACH(i, p.n_params) theta[i] = from[i * step];
    CT__EACH(k, p.n_nodes)
    {
        const ct_cov_node *n = &p.nodes[k];
        if (n->code >= CT_COV_PROFILES) continue;
        for (int i = 0; i < n->n_dims; i++) {
            double l = n->lengthscale < 0 ? 1 : (double)from[(n->lengthscale + (n->ard ? i : 0)) * step];
            weight[n->dims + i] = (T)(1 / (l * l));
        }
    }
}

static int64_t rounded(int64_t bytes) { return ct__divide_up(bytes, CT__ALIGNMENT) * CT__ALIGNMENT; }

int64_t ct__plan_bytes(const ct_cov_program *program)
{
    return rounded(program->bytes) + 8 * ((int64_t)program->n_params + program->n_dims + 1);
}

template <typename T>
ct_status ct__make_plan(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                        const ct_tensor *x, const ct_tensor *z, void *room, ct__plan<T> *plan)
{
    if (program->n_nodes > CT__MOST_NODES)
        return ct__fail(dev, CT_EUNSUPPORTED, "a covariance kernel of %d nodes: at most %d on %s",
                        (int)program->n_nodes, (int)CT__MOST_NODES, dev->name);
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    for (int64_t at = 0; at < program->bytes; at += PIECE) {
        piece p;
        int n = (int)(program->bytes - at < PIECE ? program->bytes - at : (int64_t)PIECE);
        memset(&p, 0, sizeof p);
        memcpy(p.bytes, (const char *)program + at, (size_t)n);
        CT__LAUNCH(write_kernel, 1, CT__BLOCK, stream, p, (unsigned char *)room + at, n);
    }
    ct_status s =
        ct__cuda_launched(dev, "covariance"); /* else what follows would follow addresses nobody wrote */
    if (s) return s;
    T *values = (T *)((char *)room + rounded(program->bytes)), *weight = values + program->n_params;
    const char *moved = (const char *)room;
    plan->nodes =
        (const ct_cov_node *)(moved + ((const char *)ct_cov_nodes(program) - (const char *)program));
    plan->dims = (const int32_t *)(moved + ((const char *)ct_cov_dims(program) - (const char *)program));
    plan->n_nodes = program->n_nodes;
    plan->n_params = program->n_params;
    plan->symmetric = !z;
    plan->theta = values;
    plan->weight = weight;
    const ct_tensor *other = z ? z : x;
    plan->x = (const T *)x->data, plan->x_row = x->stride[0], plan->x_col = x->stride[1];
    plan->z = (const T *)other->data, plan->z_row = other->stride[0], plan->z_col = other->stride[1];
    CT__LAUNCH(prepare_kernel<T>, 1, CT__BLOCK, stream, *plan, values, weight, (const T *)theta->data,
               theta->stride[0]);
    return ct__cuda_launched(dev, "covariance");
}

template ct_status ct__make_plan<double>(ct_device *, const ct_cov_program *, const ct_tensor *,
                                         const ct_tensor *, const ct_tensor *, void *, ct__plan<double> *);
template ct_status ct__make_plan<float>(ct_device *, const ct_cov_program *, const ct_tensor *,
                                        const ct_tensor *, const ct_tensor *, void *, ct__plan<float> *);

/* Where the matrix is symmetric a thread below the diagonal writes the mirror image, too: symmetric to the bit. */
template <typename T, int NODES>
static __global__ void covariance_kernel(ct__plan<T> p, int64_t n, int64_t m, bool lower, T *K, int64_t rs,
                                         int64_t cs)
{
    const bool by_row = cs <= rs; /* neighbouring threads write neighbours */
    CT__EACH(e, n * m)
    {
        const int64_t i = by_row ? e / m : e % n, j = by_row ? e % m : e / n;
        if (p.symmetric && j > i) continue;
        T value[NODES];
        ct__values(p, p.x + i * p.x_row, p.z + j * p.z_row, p.symmetric && i == j, value);
        const T k = value[p.n_nodes - 1];
        K[i * rs + j * cs] = k;
        if (p.symmetric && !lower && i != j) K[j * rs + i * cs] = k;
    }
}

template <typename T>
static ct_status covariance(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                            const ct_tensor *x, const ct_tensor *z, bool lower, ct_tensor *out)
{
    const int64_t n = out->dim[0], m = out->dim[1];
    ct__scratch room(dev, ct__plan_bytes(program));
    if (!room.data) return CT_ENOMEM;
    ct__plan<T> p;
    ct_status s = ct__make_plan(dev, program, theta, x, z, room.data, &p);
    if (s) return s;
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    T *K = (T *)out->data;
    if (p.n_nodes <= CT__FEW_NODES)
        CT__LAUNCH((covariance_kernel<T, CT__FEW_NODES>), ct__grid(n * m), CT__BLOCK, stream, p, n, m, lower,
                   K, out->stride[0], out->stride[1]);
    else
        CT__LAUNCH((covariance_kernel<T, CT__MOST_NODES>), ct__grid(n * m), CT__BLOCK, stream, p, n, m, lower,
                   K, out->stride[0], out->stride[1]);
    return ct__cuda_launched(dev, "covariance");
}

ct_status ct__cuda_covariance(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                              const ct_tensor *x, const ct_tensor *z, bool lower, ct_tensor *out)
{
    if (!out->dim[0] || !out->dim[1]) return CT_OK;
    return out->dtype == CT_F64 ? covariance<double>(dev, program, theta, x, z, lower, out)
                                : covariance<float>(dev, program, theta, x, z, lower, out);
}
