/* Views as tensors, with a reference to the storage. */
#include "internal.h"

ct_tensor *ct_tensor_reshape(const ct_tensor *t, ct_shape shape)
{
    return ct__share(ct_view_reshape(ct_view_of(t), shape));
}

ct_tensor *ct_tensor_permute(const ct_tensor *t, const int *order)
{
    return ct__share(ct_view_permute(ct_view_of(t), order));
}

ct_tensor *ct_tensor_transpose(const ct_tensor *t) { return ct__share(ct_view_transpose(ct_view_of(t))); }
ct_tensor *ct_tensor_diagonal(const ct_tensor *t) { return ct__share(ct_view_diagonal(ct_view_of(t))); }

ct_tensor *ct_tensor_slice(const ct_tensor *t, int dim, int64_t start, int64_t stop, int64_t step)
{
    return ct__share(ct_view_slice(ct_view_of(t), dim, start, stop, step));
}

ct_tensor *ct_tensor_squeeze(const ct_tensor *t, int dim)
{
    return ct__share(ct_view_squeeze(ct_view_of(t), dim));
}

ct_tensor *ct_tensor_unsqueeze(const ct_tensor *t, int dim)
{
    return ct__share(ct_view_unsqueeze(ct_view_of(t), dim));
}

ct_tensor *ct_tensor_broadcast(const ct_tensor *t, ct_shape shape)
{
    return ct__share(ct_view_broadcast(ct_view_of(t), shape));
}
