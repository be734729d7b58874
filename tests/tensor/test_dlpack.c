/* DLPack both ways: layout, lifetime, and the refusal of what the library cannot take from another. */
#include "alloc.h"
#include "files.h"

#include <cotangent/io.h>

#include "tensor/io/dlpack.h"

#if defined __has_include
#    if __has_include(<dlpack/dlpack.h>)
#        include <dlpack/dlpack.h>
static_assert(sizeof(DLTensor) == sizeof(ct__dl_tensor) && sizeof(DLManagedTensor) == sizeof(ct__dl_managed),
              "size");
static_assert(offsetof(DLTensor, device) == offsetof(ct__dl_tensor, device_type), "device");
static_assert(offsetof(DLTensor, ndim) == offsetof(ct__dl_tensor, ndim), "ndim");
static_assert(offsetof(DLTensor, dtype) == offsetof(ct__dl_tensor, code), "dtype");
static_assert(offsetof(DLTensor, shape) == offsetof(ct__dl_tensor, shape), "shape");
static_assert(offsetof(DLTensor, strides) == offsetof(ct__dl_tensor, strides), "strides");
static_assert(offsetof(DLTensor, byte_offset) == offsetof(ct__dl_tensor, byte_offset), "byte_offset");
static_assert(offsetof(DLManagedTensor, manager_ctx) == offsetof(ct__dl_managed, context), "manager_ctx");
static_assert(offsetof(DLManagedTensor, deleter) == offsetof(ct__dl_managed, deleter), "deleter");
static_assert((int)kDLCPU == CT__DL_CPU && (int)kDLCUDA == CT__DL_CUDA && (int)kDLInt == CT__DL_INT &&
                  (int)kDLFloat == CT__DL_FLOAT,
              "codes");
#    endif
#endif

static ct__dl_managed *managed(ct_tensor *t) { return (ct__dl_managed *)ct_to_dlpack(t); }
static ct__dl_versioned *versioned(ct_tensor *t) { return (ct__dl_versioned *)ct_to_dlpack_versioned(t); }

static void check_tensor(const ct__dl_tensor *d, ct_tensor *t)
{
    assert_ptr_equal(d->data, ct_tensor_data(t));
    assert_int_equal(d->device_type, 1);
    assert_int_equal(d->device_id, 0);
    assert_int_equal(d->ndim, ct_tensor_ndim(t));
    assert_int_equal(d->lanes, 1);
    assert_int_equal(d->byte_offset, 0);
    for (int i = 0; i < d->ndim; i++) {
        assert_int_equal(d->shape[i], ct_tensor_dim(t, i));
        assert_int_equal(d->strides[i], ct_tensor_stride(t, i));
    }
}

static void exports(void **state)
{
    (void)state;
    ct_tensor *x = tensor2(dev, 2, 3, 1, 2, 3, 4, 5, 6), *xt = ct_tensor_transpose(x);
    ct__dl_managed *m = managed(xt);
    assert_non_null(m);
    check_tensor(&m->tensor, xt);
    assert_int_equal(m->tensor.code, 2);
    assert_int_equal(m->tensor.bits, 64);
    ct__dl_versioned *v = versioned(xt);
    assert_non_null(v);
    check_tensor(&v->tensor, xt);
    assert_int_equal(v->major, 1);
    assert_int_equal(v->flags, 0);
    ct_release(x);
    ct_release(xt);
    assert_true(((double *)m->tensor.data)[5] == 6);
    m->deleter(m);
    assert_true(((double *)v->tensor.data)[5] == 6);
    v->deleter(v);

    static const int codes[] = { 2, 2, 0, 4, 2 }, bits[] = { 64, 32, 64, 16, 16 };
    for (int dtype = 0; dtype < 5; dtype++) {
        ct_tensor *t = ct_zeros(dev, (ct_dtype)dtype, ct_shape0());
        m = managed(t);
        assert_int_equal(m->tensor.code, codes[dtype]);
        assert_int_equal(m->tensor.bits, bits[dtype]);
        assert_int_equal(m->tensor.ndim, 0);
        m->deleter(m);
        ct_release(t);
    }
    ct_tensor *none = ct_empty(dev, CT_F64, ct_shape2(0, 3));
    m = managed(none);
    assert_null(m->tensor.data);
    ct_tensor *back = assert_tensor(ct_from_dlpack(dev, (struct DLManagedTensor *)m), dev);
    assert_true(ct_shape_equal(ct_tensor_shape(back), ct_shape2(0, 3)));
    ct_release(none);
    ct_release(back);
    assert_null(ct_to_dlpack(NULL));
    assert_null(ct_to_dlpack_versioned(NULL));
}

/* Export and import share one memory, whichever handle is released first. */
static void round_trip(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        ct_tensor *x = tensor2(dev, 2, 2, 1, 2, 3, 4), *xt = ct_tensor_transpose(x);
        ct_tensor *a = assert_tensor(ct_from_dlpack(dev, ct_to_dlpack(xt)), dev);
        ct_tensor *b = assert_tensor(ct_from_dlpack_versioned(dev, ct_to_dlpack_versioned(a)), dev);
        ct_release(xt);
        assert_ptr_equal(ct_tensor_data(b), ct_tensor_data(x));
        if (first) ct_release(x), ct_release(a);
        assert_elements(b, 0, 0, 1, 3, 2, 4);
        ct_release(b);
        if (!first) ct_release(x), ct_release(a);
    }
    /* the device outlives its handle while an export is held */
    ct_device *other = ct_device_open("cpu");
    ct_tensor *x = tensor1(other, 2, 1, 2);
    ct__dl_managed *m = managed(x);
    ct_release(x);
    ct_device_close(other);
    assert_true(((double *)m->tensor.data)[1] == 2);
    m->deleter(m);
}

/* A tensor as another library would export it. */
typedef struct foreign {
    ct__dl_managed m;
    ct__dl_versioned v;
    double data[8];
    int64_t shape[9], strides[9];
    int deleted;
} foreign;

static void delete_managed(ct__dl_managed *m) { ((foreign *)m->context)->deleted++; }
static void delete_versioned(ct__dl_versioned *v) { ((foreign *)v->context)->deleted++; }

static void fill(foreign *f)
{
    *f = (foreign){ .data = { 0, 1, 2, 3, 4, 5, 6, 7 }, .shape = { 2, 3 }, .strides = { 3, 1 } };
    f->m.tensor = (ct__dl_tensor){ .data = f->data,
                                   .device_type = 1,
                                   .ndim = 2,
                                   .code = 2,
                                   .bits = 64,
                                   .lanes = 1,
                                   .shape = f->shape,
                                   .strides = f->strides };
    f->m.context = f->v.context = f;
    f->m.deleter = delete_managed;
    f->v.deleter = delete_versioned;
    f->v.major = 1;
    f->v.minor = 3;
}

static ct_tensor *take(foreign *f) { return ct_from_dlpack(dev, (struct DLManagedTensor *)&f->m); }

static ct_tensor *take_versioned(foreign *f)
{
    f->v.tensor = f->m.tensor;
    return ct_from_dlpack_versioned(dev, (struct DLManagedTensorVersioned *)&f->v);
}

static void imports(void **state)
{
    (void)state;
    foreign f;
    fill(&f);
    ct_tensor *t = assert_tensor(take(&f), dev), *view = ct_tensor_transpose(t);
    assert_ptr_equal(ct_tensor_data(t), f.data);
    assert_elements(t, 0, 0, 0, 1, 2, 3, 4, 5);
    ct_release(t);
    assert_int_equal(f.deleted, 0);
    assert_elements(view, 0, 0, 0, 3, 1, 4, 2, 5);
    ct_release(view);
    assert_int_equal(f.deleted, 1);

    fill(&f);
    f.m.tensor.strides = NULL;
    f.m.tensor.byte_offset = 16;
    f.v.flags = 2; /* the producer's copy */
    t = assert_tensor(take_versioned(&f), dev);
    assert_elements(t, 0, 0, 2, 3, 4, 5, 6, 7);
    ct_release(t);
    assert_int_equal(f.deleted, 1);

    fill(&f);
    f.m.deleter = NULL;
    f.strides[0] = 0, f.strides[1] = 2;
    t = assert_tensor(take(&f), dev);
    assert_elements(t, 0, 0, 0, 2, 4, 0, 2, 4);
    ct_release(t);

    fill(&f); /* the stride of an extent of 1 means nothing */
    f.shape[0] = 1;
    f.strides[0] = -77;
    t = assert_tensor(take(&f), dev);
    assert_true(ct_tensor_is_contiguous(t));
    assert_elements(t, 0, 0, 0, 1, 2);
    ct_release(t);

    fill(&f);
    f.m.tensor.ndim = 0;
    f.m.tensor.shape = f.m.tensor.strides = NULL;
    t = assert_tensor(take(&f), dev);
    assert_int_equal(ct_tensor_count(t), 1);
    ct_release(t);

    fill(&f);
    f.m.tensor.code = 0;
    t = assert_tensor(take(&f), dev);
    assert_int_equal(ct_tensor_dtype(t), CT_I64);
    ct_release(t);
}

static void refusals(void **state)
{
    (void)state;
    foreign f;
#define REFUSED(change, status, message) \
    do {                                 \
        fill(&f);                        \
        change;                          \
        assert_null(take(&f));           \
        assert_says(status, message);    \
        assert_null(take_versioned(&f)); \
        assert_says(status, message);    \
        assert_int_equal(f.deleted, 0);  \
    } while (0)
    REFUSED(f.m.tensor.device_type = 2, CT_EDEVICE, "device type 2, id 0, not on cpu (type 1, id 0)");
    REFUSED(f.m.tensor.device_id = 1, CT_EDEVICE, "id 1");
    REFUSED(f.m.tensor.code = 1, CT_EDTYPE, "code 1, 64 bits, 1 lanes");
    REFUSED(f.m.tensor.bits = 8, CT_EDTYPE, "8 bits");
    REFUSED((f.m.tensor.code = 0, f.m.tensor.bits = 16), CT_EDTYPE, "code 0, 16 bits");
    REFUSED(f.m.tensor.lanes = 2, CT_EDTYPE, "2 lanes");
    REFUSED(f.m.tensor.ndim = 9, CT_ESHAPE, "9 dimensions: at most 8");
    REFUSED(f.m.tensor.ndim = -1, CT_ESHAPE, "-1 dimensions");
    REFUSED(f.m.tensor.shape = NULL, CT_ESHAPE, "2 dimensions without a shape");
    REFUSED(f.shape[0] = -2, CT_ESHAPE, "no shape");
    REFUSED((f.shape[0] = f.shape[1] = INT64_C(1) << 40), CT_ESHAPE, "no shape");
    REFUSED(f.strides[0] = -3, CT_EINVAL, "dimension 0 has the stride -3: hand over a copy");
    REFUSED(f.strides[0] = INT64_MAX, CT_ESHAPE, "no shape");
    REFUSED((f.strides[0] = INT64_MAX - 1, f.strides[1] = 1), CT_ESHAPE, "no shape");
    REFUSED(f.m.tensor.data = NULL, CT_EINVAL, "the data is NULL");
    REFUSED(f.m.tensor.byte_offset = 4, CT_EINVAL, "aligned");
    REFUSED(f.m.tensor.byte_offset = UINT64_MAX - 7, CT_EINVAL, "outside of memory");
    fill(&f);
    f.v.flags = 1;
    assert_null(take_versioned(&f));
    assert_says(CT_EUNSUPPORTED, "read-only: hand over a writable copy");
    fill(&f);
    f.v.major = 2;
    assert_null(take_versioned(&f));
    assert_says(CT_EUNSUPPORTED, "version 2.3, only 1.x");
    assert_int_equal(f.deleted, 0);
    assert_null(ct_from_dlpack(dev, NULL));
    assert_says(CT_EINVAL, "NULL");
    assert_null(ct_from_dlpack_versioned(dev, NULL));
    assert_null(ct_from_dlpack(NULL, (struct DLManagedTensor *)&f.m));
    assert_null(ct_from_dlpack_versioned(NULL, (struct DLManagedTensorVersioned *)&f.v));
}

static void no_memory(void **state)
{
    (void)state;
    bool refused_one = true;
    for (int64_t k = 1; refused_one; k++) {
        assert_true(k < 50);
        ct_device *own = ct_device_open("cpu");
        ct_tensor *x = tensor1(own, 2, 1, 2);
        foreign f;
        fill(&f);
        alloc_fail_at(k);
        ct__dl_managed *m = managed(x);
        ct_tensor *t = ct_from_dlpack(own, (struct DLManagedTensor *)&f.m);
        refused_one = alloc_refused();
        if (m) m->deleter(m);
        assert_int_equal(f.deleted, 0);
        ct_release(t);
        assert_int_equal(f.deleted, t ? 1 : 0);
        alloc_unwatch();
        ct_release(x);
        if (!m || !t) assert_int_equal(ct_last_status(own), CT_ENOMEM);
        ct_device_close(own);
        assert_true(refused_one || (m && t));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exports),  cmocka_unit_test(round_trip), cmocka_unit_test(imports),
        cmocka_unit_test(refusals), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
