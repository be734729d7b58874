/* Internals of devices and tensors, shared by the files of the library. */
#ifndef CT_TENSOR_INTERNAL_H
#define CT_TENSOR_INTERNAL_H

#include <cotangent/view.h>

#include <stdalign.h>
#include <stdarg.h>
#include <string.h>

#include "backend.h"
#include "text.h"

#define CT__ALIGNMENT 64

/* A block of device memory. Views share it and count references. */
typedef struct ct_storage {
    alignas(CT__ALIGNMENT) ct_device *device;
    void *data, *context; /* context: of release */
    size_t bytes;         /* as the pool gave it; 0 for wrapped memory and in a ct__small */
    int64_t refs;
    void (*release)(void *context, void *data); /* for wrapped memory; may be NULL */
    struct ct__pool *pool;                      /* the pool that the data came from */
    uint16_t small;   /* bytes of the data of the ct__small that it begins; 0: none */
    uint32_t version; /* counts the calls of ct_write and ct_copy that wrote to it */
} ct_storage;

struct ct_tensor {
    ct_view view;
    int64_t refs;
};

/* If device memory is host memory, a small tensor, its storage and its elements share one block. */
typedef struct ct__small {
    ct_storage storage;
    ct_tensor tensor;
    alignas(CT__ALIGNMENT) char data[]; /* CT__SMALL_BYTES at most, a multiple of CT__ALIGNMENT */
} ct__small;

#define CT__SMALL_BYTES 256

typedef struct ct__pool ct__pool; /* pool.c */

struct ct_device {
    alignas(CT__ALIGNMENT) const ct_backend *backend;
    void *backend_state;
    const ct_services *services;
    int64_t refs;                  /* the user's handle, tapes, and live storages */
    ct_status status, last_status; /* of opening the device; of the last failed call */
    char message[512], description[512], name[16];
    ct_allocator allocator;
    ct_log_fn log;
    void *log_context;
    int threads, isa;                /* isa: of the CPU backend, a ct__isa */
    const struct ct__tuning *tuning; /* of the CPU backend */
    struct ct__pace {
        double wall, cpu, alone_until; /* seconds; see cpu/team.h */
    } pace;
    ct_memory_info memory;
    uint64_t memory_there;      /* physical memory of the machine or the GPU */
    ct__pool *pool, *step_pool; /* step_pool: used instead while a step that becomes a graph runs */
    int in_step;                /* a ct__in_step; if refused, message has the reason */
    struct ct_file_lock *locks; /* the locks held, a list of lock.c */
    void *structs[8];           /* free blocks of 64, 128, ..., linked through their first word */
    ct_device *lane;            /* owned: the first lane (ct__lanes); in a lane, the next one */
    bool amx;                   /* whether the CPU has AMX's products of bf16 */
};

/* -- message.c ------------------------------------------------------------------------------------------- */

/* Keeps status and message together on the device; returns status. device may be NULL. Allocates nothing. */
ct_status ct__fail(ct_device *device, ct_status status, const char *format, ...) CT_PRINTF(3, 4);
/* Appends "; " and the text to the description, and logs the text. */
void ct__remark(ct_device *device, const char *format, ...) CT_PRINTF(2, 3);

/* -- device.c: steps ------------------------------------------------------------------------------------- */

/* Whether a function of step.h is running, and whether a call has been refused in it. */
enum ct__in_step { CT__NO_STEP, CT__IN_STEP, CT__STEP_REFUSED };

/* Whether the caller may wait for the device. Not in a step, which is recorded and may not compute. `what` is
 * the caller's name for the message. */
bool ct__may_wait(ct_device *device, const char *what);

/* -- device.c: lanes ------------------------------------------------------------------------------------- */

/* Opens devices like this one, each with a pool of its own, for threads that compute concurrently. Returns
 * their number, at most `count` and at most the device's threads. Together they may hold the memory that the
 * device has left. Returns 0 if the device computes on one thread or uses the application's allocator. */
int ct__lanes(ct_device *device, int64_t count);
ct_device *ct__lane(ct_device *device, int64_t k);
/* Ends the use of the lanes. The device's peak then includes theirs. */
void ct__lanes_end(ct_device *device);

/* -- host.c ---------------------------------------------------------------------------------------------- */

/* Host memory for the library's own structs, from the device's allocator, not pooled. */
void *ct__host_alloc(ct_device *device, size_t bytes);
void ct__host_free(ct_device *device, void *pointer, size_t bytes);
/* Reallocates `block` from *capacity to at least `wanted` elements of `size` bytes and copies the first
 * `used`. NULL, with block unchanged, if memory is exhausted. */
void *ct__host_grow(ct_device *device, void *block, size_t *capacity, size_t used, size_t wanted,
                    size_t size);

/* -- pool.c: memory -------------------------------------------------------------------------------------- */

/* A block of at least *bytes of device memory, counted in ct_memory. Sets *bytes to its true size; 0 bytes
 * give a block, too. NULL with a message if memory or the limit is exhausted. */
void *ct__pool_get(ct_device *device, size_t *bytes);
/* Return a block: to the pool in use now; to `pool`, which it came from. */
void ct__pool_put(ct_device *device, void *data, size_t bytes);
void ct__pool_return(ct_device *device, ct__pool *pool, void *data, size_t bytes);
static inline ct__pool *ct__pool_now(const ct_device *device)
{
    return device->step_pool ? device->step_pool : device->pool;
}
/* Makes the device's pool if it has none yet, else a step's pool. */
ct__pool *ct__pool_new(ct_device *device);
/* Frees the pool of a step; tensors in it stay valid. */
void ct__pool_free(ct_device *device, ct__pool *pool);
/* Counts `bytes` of tensor storage as held. */
static inline void ct__account(ct_device *device, size_t bytes)
{
    ct_memory_info *m = &device->memory;
    m->bytes_now += bytes;
    if (m->bytes_now > m->bytes_peak) m->bytes_peak = m->bytes_now;
}
/* Asks for the cache lines of memory that will be used soon; they arrive while other work is done. Any
 * address will do. */
static inline void ct__prefetch(uintptr_t address, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += CT__ALIGNMENT) __builtin_prefetch((const void *)(address + at), 1);
}

/* Makes free blocks for ct__struct_get and returns one. That function recycles blocks of up to 512 bytes,
 * aligned to 64, for tensors and storages. NULL with a message. */
void *ct__struct_refill(ct_device *device, size_t list);

static inline void *ct__struct_get(ct_device *device, size_t bytes)
{
    size_t list = (bytes - 1) / 64;
    void *p = device->structs[list];
    if (!p) return ct__struct_refill(device, list);
    memcpy(&device->structs[list], p, sizeof(void *));
    return p;
}

static inline void ct__struct_put(ct_device *device, void *pointer, size_t bytes)
{
    size_t list = (bytes - 1) / 64;
    memcpy(pointer, &device->structs[list], sizeof(void *));
    device->structs[list] = pointer;
}

/* Frees a device without references, and all its memory. */
void ct__device_destroy(ct_device *device);

/* -- tensor.c -------------------------------------------------------------------------------------------- */

/* ct_shape_count and ct_empty without a copy of the shape. */
static inline int64_t ct__shape_count(const ct_shape *s)
{
    if (s->ndim < 0 || s->ndim > CT_MAX_DIMS) return -1;
    int64_t count = 1;
    bool empty = false;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dim[i] < 0) return -1;
        if (s->dim[i] == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(count, s->dim[i], &count)) {
            return -1;
        }
    }
    return empty ? 0 : count;
}
ct_tensor *ct__empty(ct_device *device, ct_dtype dtype, const ct_shape *shape);
/* ct_wrap_strided for memory of the device, host or not. */
ct_tensor *ct__wrap(ct_device *device, ct_dtype dtype, ct_shape shape, const int64_t *strides, void *data,
                    void (*release)(void *context, void *data), void *context);
/* A new contiguous, uninitialised tensor of v's dtype and shape. */
ct_tensor *ct__empty_like(const ct_view *v);
/* The size of an element in bytes. */
static inline size_t ct__size(ct_dtype dtype) { return dtype > CT_I64 ? 2 : dtype == CT_F32 ? 4 : 8; }
/* Whether a dtype is bf16 or f16, whose elements are computed with in f32. */
static inline bool ct__is_half(ct_dtype dtype) { return dtype > CT_I64; }
/* Writes "30x4", or "scalar" for no dimensions, into at most `size` bytes; returns buffer. */
const char *ct__shape_text(ct_shape shape, char *buffer, size_t size);
/* v's shape. Extents from ndim on are undefined. */
static inline ct_shape ct__shape(const ct_view *v)
{
    ct_shape s;
    memcpy(s.dim, v->dim, sizeof s.dim);
    s.ndim = v->ndim;
    return s;
}
static inline int64_t ct__min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ct__max(int64_t a, int64_t b) { return a > b ? a : b; }
/* A bound of a slice: negative from the end, CT_END the end. */
static inline int64_t ct__bound(int64_t bound, int64_t extent)
{
    return bound < 0 ? bound + extent : bound == CT_END ? extent : bound;
}
/* The number of elements. */
static inline int64_t ct__count(const ct_view *v)
{
    int64_t count = 1;
    for (int i = 0; i < v->ndim; i++) count *= v->dim[i];
    return count;
}
/* An extent; a negative dim counts from the end. 1 for a dimension that does not exist. */
static inline int64_t ct__dim(const ct_view *v, int dim)
{
    if (dim < 0) dim += v->ndim;
    return dim >= 0 && dim < v->ndim ? v->dim[dim] : 1;
}
/* Whether two views have the same shape. */
static inline bool ct__same_shape(const ct_view *a, const ct_view *b)
{
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}
/* Sets extents dim[0 .. ndim) and the strides of row-major order. */
static inline void ct__lay_out(ct_view *v, const int64_t *dim)
{
    int64_t stride = 1;
    for (int i = v->ndim - 1; i >= 0; i--) {
        v->dim[i] = dim[i];
        v->stride[i] = stride;
        if (dim[i] > 1) stride *= dim[i];
    }
}
/* Row-major without gaps. */
bool ct__is_contiguous(const ct_view *v);
/* Whether `shape` has `count` elements; infers an extent of -1 first. */
bool ct__complete_shape(ct_shape *shape, int64_t count);
/* Broadcasts v to `shape`. False, with v unchanged, if it does not fit. */
bool ct__broadcast(ct_view *v, const ct_shape *shape);
/* t after CT_OK; otherwise NULL, and t is released. */
ct_tensor *ct__tensor_if(ct_status s, ct_tensor *t);
/* A new reference to t if it is contiguous, else a contiguous copy. */
ct_tensor *ct__dense_of(const ct_tensor *t);
/* ct_copy between views of tensors. */
ct_status ct__copy(const ct_view *src, const ct_view *dst);
/* The number that an element in host memory holds. */
double ct__as_number(ct_dtype dtype, const void *element);
/* ct_tensor_item of a view; *item is untouched on failure. */
ct_status ct__item(const ct_view *v, double *item);
/* A new tensor with that view and a reference to its storage. NULL if v is no view or memory is exhausted. */
ct_tensor *ct__share(ct_view v);
/* Whether t is the only reference to the only tensor of its storage, so that its memory may be reused. */
bool ct__sole_owner(const ct_tensor *t);

/* -- a failed factorisation: the tape keeps it until the tape is reset ----------------------------------- */

/* An asynchronous device detects a failure long after the call. It notes the first one in its own memory, as
 * position + 1, member and detail. The call itself sets `suspected`, what and why, because the op under way
 * may have failed. ct__failure_settle waits and reads the note. */
struct ct_failure {
    /* Three numbers; the first is 0 without a failure. NULL before the first asynchronous factorisation. */
    ct_tensor *note;
    int64_t call; /* number of the op under way, noted as the position */
    bool suspected, set;
    /* The op's position on the tape; the batch member, counted row-major; for example the failing minor, from
     * 1. */
    int64_t position, member, detail;
    /* Static texts: a format for the detail; what is wrong with it and the remedy (NULL: "is not
     * positive"). */
    const char *what, *why;
    int64_t from; /* added to the member's number in the device's note */
};

/* The note's three numbers in device memory, allocated at the first request; NULL with a message. */
int64_t *ct__failure_note(ct_device *device, ct_failure *failure);
/* Sets the failure, whatever it held before. */
void ct__failure_set(ct_failure *failure, int64_t member, int64_t detail, const char *what, const char *why);
/* Sets position, member and detail from the note. Waits for the device if there is a note. */
ct_status ct__failure_settle(ct_device *device, ct_failure *failure);
/* Clears the failure; the note's memory stays for the next. */
ct_status ct__failure_clear(ct_device *device, ct_failure *failure);

#endif
