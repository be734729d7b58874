/* The device's memory: one range of addresses, closed to the host while the host runs. A block lies between
 * fences, holds one NaN when new and another when freed, and its place is reused only after a while. Under
 * the address sanitizer all memory outside live blocks is poisoned, too. */
#include "sim.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

#ifdef WITH_ASAN
#    include <sanitizer/asan_interface.h>
#    define CLOSE(p, n) __asan_poison_memory_region(p, n)
#    define OPEN(p, n)  __asan_unpoison_memory_region(p, n)
#    define BLIND       __attribute__((no_sanitize_address))
#else
#    define CLOSE(p, n) ((void)(p), (void)(n))
#    define OPEN(p, n)  ((void)(p), (void)(n))
#    define BLIND       CUDASIM_UNSEEN
#endif

namespace sim
{
/* 0xffff, 0xfffd and 0xfffb begin or repeat NaNs of every floating type. */
static const uint16_t NEW = 0xffff, FENCE = 0xfffd, FREED = 0xfffb;
static const size_t ALIGNMENT = 256, PAGE = 4096, HUGE_PAGE = 2 << 20, LINGER_BLOCKS = 1024,
                    LINGER_BYTES = 64 << 20;

static size_t from_environment()
{
    const char *mebibytes = getenv("CUDASIM_MEMORY");
    return (mebibytes ? strtoull(mebibytes, nullptr, 10) : 4096) << 20;
}
const size_t device_bytes = from_environment();

static char *base, *top, *end;         /* addresses given out so far lie in [base, top) */
static std::map<char *, block> blocks; /* by address of the block's first fence */
static std::multimap<size_t, char *> free_rooms;
static std::deque<std::pair<size_t, char *>> lingering;
static size_t lingering_bytes;
static size_t held[GPUS], kept[GPUS]; /* kept: freed, but a pool's still */
static int64_t serials, held_blocks;
static std::map<char *, size_t> pinned;
static int opened;
static char *opened_top;

/* -- open and closed ------------------------------------------------------------------------------------- */

static char *round_up(char *p, size_t to) { return (char *)(((uintptr_t)p + to - 1) / to * to); }

static struct sigaction before;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    char *address = (char *)info->si_addr;
    if (base && address >= base && address < end) {
        block *b = find_block(address);
        static char text[256];
        int n =
            b ? snprintf(text, sizeof text,
                         "cudasim: the host touched device memory: %p, byte %td of block %lld (%zu bytes)\n",
                         (void *)address, address - b->begin, (long long)b->serial, b->bytes)
              : snprintf(text, sizeof text, "cudasim: the host touched device memory: %p\n", (void *)address);
        if (write(2, text, (size_t)n) < 0) abort();
    } else if (running) {
        static char text[256];
        int n = snprintf(text, sizeof text,
                         "cudasim: %.100s touched %s%p, thread (%u, %u, %u) of block (%u, %u, %u)\n", running,
                         address ? "" : "an address that is not aligned, or ", (void *)address, threadIdx.x,
                         threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z);
        if (write(2, text, (size_t)n) < 0) abort();
        abort(); /* in the middle of a call, after which nothing can continue */
    }
    sigaction(signal, &before, nullptr);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
}

/* Test frameworks install their own handler at times; this one is put in front of it. */
void listen()
{
    struct sigaction now;
    if (sigaction(SIGSEGV, nullptr, &now) || (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault))
        return;
    before = now;
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &ours, nullptr);
}

static void protect(char *from, char *to, int access)
{
    if (to > from && mprotect(from, (size_t)(to - from), access)) report("mprotect failed: too many maps?");
}

void open_memory()
{
    if (!opened++) protect(base, opened_top = round_up(top, HUGE_PAGE), PROT_READ | PROT_WRITE);
}

void close_memory()
{
    if (--opened) return;
    protect(base, opened_top, PROT_NONE);
}

/* -- poison ---------------------------------------------------------------------------------------------- */

/* Every two bytes at an even address become `with`. */
BLIND static void fill(char *p, size_t bytes, uint16_t with)
{
    char *end_of = p + bytes;
    for (; p < end_of && (uintptr_t)p % 8; p++) *p = (char)((uintptr_t)p & 1 ? with >> 8 : with);
    const uint64_t four = with * 0x0001000100010001u;
    for (; p + 8 <= end_of; p += 8) *(uint64_t *)p = four;
    for (; p < end_of; p++) *p = (char)((uintptr_t)p & 1 ? with >> 8 : with);
}

static size_t room_of(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + 2 * ALIGNMENT;
}
static char *first_of(const block &b) { return b.begin - ALIGNMENT; }
static char *last_of(const block &b) { return first_of(b) + room_of(b.bytes); }

BLIND static bool intact(const char *p, const char *end_of)
{
    for (; p < end_of && (uintptr_t)p % 8; p++)
        if (*p != (char)((uintptr_t)p & 1 ? FENCE >> 8 : FENCE & 255)) return false;
    uint64_t differs = 0;
    for (; p < end_of; p += 8) differs |= *(const uint64_t *)p ^ FENCE * 0x0001000100010001u;
    return !differs;
}

static void check_fence(const block &b)
{
    if (b.state != block::LIVE) return;
    if (!intact(first_of(b), b.begin))
        report("something wrote before block %lld (%zu bytes)", (long long)b.serial, b.bytes);
    if (!intact(b.begin + b.bytes, last_of(b)))
        report("something wrote past the end of block %lld (%zu bytes)", (long long)b.serial, b.bytes);
}

void check_fences()
{
    for (const auto &entry : blocks) check_fence(entry.second);
}

void poison(void *p, size_t bytes) { fill((char *)p, bytes, NEW); }

/* -- blocks ---------------------------------------------------------------------------------------------- */

static char *find_room(size_t room)
{
    auto best = free_rooms.lower_bound(room);
    if (best != free_rooms.end() && best->first - room <= room / 4) {
        char *p = best->second;
        if (best->first > room) free_rooms.emplace(best->first - room, p + room);
        free_rooms.erase(best);
        return p;
    }
    if (!base) {
        /* Huge pages, as opening and closing take time for each page. */
        size_t stretch = 8 * device_bytes;
        void *p = mmap(nullptr, stretch, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return nullptr;
        base = top = round_up((char *)p, HUGE_PAGE);
        end = (char *)p + stretch - HUGE_PAGE;
        madvise(base, (size_t)(end - base), MADV_HUGEPAGE);
    }
    if (room > (size_t)(end - top)) return nullptr;
    char *p = top;
    top += room;
    return p;
}

block *reserve(size_t bytes, bool pooled, int gpu)
{
    if (bytes > device_bytes || held[gpu] + bytes > device_bytes) return nullptr;
    if (pooled) kept[gpu] -= std::min(kept[gpu], bytes);
    kept[gpu] = std::min(kept[gpu], device_bytes - held[gpu] - bytes);
    char *first = find_room(room_of(bytes));
    if (!first) return nullptr;
    held[gpu] += bytes;
    held_blocks++;
    return &(
        blocks[first] = { first + ALIGNMENT, bytes, ++serials, block::PROMISED, false, false, pooled, gpu });
}

void commit(block *b)
{
    open_memory();
    OPEN(first_of(*b), room_of(b->bytes));
    fill(first_of(*b), ALIGNMENT, FENCE);
    fill(b->begin, b->bytes, NEW);
    fill(b->begin + b->bytes, (size_t)(last_of(*b) - b->begin) - b->bytes, FENCE);
    CLOSE(first_of(*b), ALIGNMENT);
    CLOSE(b->begin + b->bytes, (size_t)(last_of(*b) - b->begin) - b->bytes);
    b->state = block::LIVE;
    close_memory();
}

void retire(block *b)
{
    open_memory();
    check_fence(*b);
    fill(b->begin, b->bytes, FREED);
    CLOSE(first_of(*b), room_of(b->bytes));
    b->state = block::GONE;
    close_memory();
}

void forget(block *b)
{
    char *first = first_of(*b);
    size_t room = room_of(b->bytes);
    held[b->gpu] -= b->bytes;
    if (b->pooled && !b->graph) kept[b->gpu] += b->bytes;
    held_blocks--;
    blocks.erase(first);
    lingering.emplace_back(room, first);
    lingering_bytes += room;
    while (lingering.size() > LINGER_BLOCKS || lingering_bytes > LINGER_BYTES) {
        auto [old_room, p] = lingering.front();
        lingering.pop_front();
        lingering_bytes -= old_room;
        char *page = round_up(p, HUGE_PAGE);
        if (old_room >= 4 * HUGE_PAGE)
            madvise(page, (size_t)(p + old_room - page) / HUGE_PAGE * HUGE_PAGE, MADV_DONTNEED);
        free_rooms.emplace(old_room, p);
    }
}

block *find_block(const void *p)
{
    auto next = blocks.upper_bound((char *)p);
    if (next == blocks.begin()) return nullptr;
    block &b = std::prev(next)->second;
    return p >= b.begin && p <= b.begin + b.bytes ? &b : nullptr;
}

bool is_device(const void *p) { return base && p >= base && p < end; }
size_t bytes_held() { return std::accumulate(held, held + GPUS, (size_t)0); }
int64_t blocks_held() { return held_blocks + (int64_t)pinned.size(); }

bool check(const void *p, size_t bytes, const char *what)
{
    if (!bytes) return true;
    block *b = find_block(p);
    if (!is_device(p)) {
        report("%s: %p is no device memory", what, p);
    } else if (!b) {
        report("%s: %p lies in no block: freed, or never allocated", what, p);
    } else if (b->state == block::PROMISED) {
        report("%s: block %lld is used before its allocation: another stream has to wait for it", what,
               (long long)b->serial);
    } else if (b->state == block::GONE) {
        report("%s: block %lld (%zu bytes) was freed before", what, (long long)b->serial, b->bytes);
    } else if ((const char *)p + bytes > b->begin + b->bytes) {
        report("%s: %zu bytes from byte %td of block %lld, which has %zu", what, bytes,
               (const char *)p - b->begin, (long long)b->serial, b->bytes);
    } else if (gpu_running >= 0 && b->gpu != gpu_running) {
        report("%s: block %lld is memory of GPU %d, on GPU %d", what, (long long)b->serial, b->gpu,
               gpu_running);
    } else {
        return true;
    }
    return false;
}

bool check_matrix(const void *p, int64_t rows, int64_t cols, int64_t ld, int64_t stride, int64_t batch,
                  size_t element, const char *what)
{
    if (rows <= 0 || cols <= 0 || batch <= 0) return true;
    int64_t each = ld * (cols - 1) + rows;
    int64_t low = std::min<int64_t>(0, stride * (batch - 1)),
            high = std::max<int64_t>(0, stride * (batch - 1)) + each;
    if ((uintptr_t)p % element) {
        report("%s: %p is not aligned to %zu bytes", what, p, element);
        return false;
    }
    return check((const char *)p + low * (int64_t)element, (size_t)(high - low) * element, what);
}

/* -- pinned host memory ---------------------------------------------------------------------------------- */

void pin(void *p, size_t bytes) { pinned[(char *)p] = bytes; }

bool is_pinned(const void *p)
{
    auto next = pinned.upper_bound((char *)p);
    if (next == pinned.begin()) return false;
    auto range = *std::prev(next);
    return (const char *)p < range.first + std::max<size_t>(range.second, 1);
}

size_t unpin(void *p)
{
    auto found = pinned.find((char *)p);
    if (found == pinned.end()) return 0;
    size_t bytes = found->second;
    pinned.erase(found);
    return bytes;
}
} // namespace sim

using namespace sim;

/* -- calls ----------------------------------------------------------------------------------------------- */

struct CUmemPoolHandle_st {
    int gpu;
};

static cudaError_t allocate_now(void **p, size_t size)
{
    *p = nullptr;
    if (!size) return cudaSuccess;
    block *b = reserve(size, false, gpu_now());
    if (!b) return fail(cudaErrorMemoryAllocation);
    commit(b);
    *p = b->begin;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    entry e("cudaMalloc", WAITS | UNSAFE);
    if (e.refused) return fail(e.error == cudaErrorUnknown ? cudaErrorMemoryAllocation : e.error);
    return allocate_now(devPtr, size);
}

cudaError_t cudaFree(void *devPtr)
{
    entry e("cudaFree", WAITS | UNSAFE | RELEASES);
    if (e.refused) return fail(e.error);
    if (!devPtr) return done(e);
    finish_all();
    block *b = find_block(devPtr);
    if (!b || b->begin != devPtr || b->freed) {
        report("cudaFree of %p: not a block, or freed before", devPtr);
        return fail(cudaErrorInvalidValue);
    }
    retire(b);
    forget(b);
    return done(e);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    entry e("cudaMallocHost", WAITS | UNSAFE);
    if (e.refused) return fail(e.error == cudaErrorUnknown ? cudaErrorMemoryAllocation : e.error);
    *ptr = ::operator new(size ? size : 1, std::align_val_t(PAGE));
    memset(*ptr, 0xff, size);
    pin(*ptr, size);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *ptr)
{
    entry e("cudaFreeHost", WAITS | UNSAFE | RELEASES);
    if (e.refused) return fail(e.error);
    if (!ptr) return done(e);
    finish_all();
    if (!is_pinned(ptr)) {
        report("cudaFreeHost of %p, which cudaMallocHost has not given, or which was freed before", ptr);
        return fail(cudaErrorInvalidValue);
    }
    unpin(ptr);
    ::operator delete(ptr, std::align_val_t(PAGE));
    return done(e);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    entry e("cudaMemGetInfo");
    if (e.refused) return fail(e.error);
    *total = device_bytes;
    *free = device_bytes - held[gpu_now()] - kept[gpu_now()];
    return cudaSuccess;
}

static cudaError_t allocate_later(const entry &e, void **p, size_t size, int gpu, cudaStream_t stream)
{
    *p = nullptr;
    if (e.refused) return fail(e.error == cudaErrorUnknown ? cudaErrorMemoryAllocation : e.error);
    if (cudaError_t error = usable(stream)) return fail(error);
    if (!size) return cudaSuccess;
    if (gpu != gpu_of(stream)) report("memory of GPU %d for a stream of GPU %d", gpu, gpu_of(stream));
    block *b = reserve(size, true, gpu);
    if (!b) return fail(cudaErrorMemoryAllocation);
    if (stream && stream->graph) {
        b->graph = true;
        stream->graph->blocks.push_back(b);
    }
    enqueue(stream, "cudaMallocAsync", [b] {
        if (b->graph && b->state == block::LIVE)
            report("a graph is launched again before what it allocated was freed");
        commit(b);
    });
    *p = b->begin;
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    entry e("cudaMallocAsync", capturing(hStream) ? PLAIN : UNSAFE);
    return allocate_later(e, devPtr, size, gpu_of(hStream), hStream);
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    entry e("cudaMallocFromPoolAsync", capturing(stream) ? PLAIN : UNSAFE);
    if (!memPool) return fail(cudaErrorInvalidValue);
    return allocate_later(e, ptr, size, memPool->gpu, stream);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    entry e("cudaFreeAsync", capturing(hStream) ? RELEASES : RELEASES | UNSAFE);
    if (e.refused) return fail(e.error);
    if (cudaError_t error = usable(hStream)) return fail(error);
    if (!devPtr) return done(e);
    block *b = find_block(devPtr);
    if (!b || b->begin != devPtr || (b->freed && !b->graph)) {
        report("cudaFreeAsync of %p: not a block, or freed before", devPtr);
        return fail(cudaErrorInvalidValue);
    }
    if (!b->pooled) report("cudaFreeAsync of %p, which came from cudaMalloc", devPtr);
    if (hStream && hStream->graph && !b->graph)
        report("a graph frees block %lld, which it has not allocated", (long long)b->serial);
    b->freed = true;
    enqueue(hStream, "cudaFreeAsync", [b] {
        if (b->state != block::LIVE)
            report("block %lld is freed before its allocation, or twice", (long long)b->serial);
        retire(b);
        if (!b->graph) forget(b);
    });
    return done(e);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    entry e("cudaMemPoolCreate");
    if (e.refused) return fail(e.error);
    if (poolProps->allocType != cudaMemAllocationTypePinned ||
        poolProps->location.type != cudaMemLocationTypeDevice || poolProps->location.id < 0 ||
        poolProps->location.id >= gpus)
        return fail(cudaErrorInvalidValue);
    *memPool = new CUmemPoolHandle_st{ poolProps->location.id };
    live++;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    entry e("cudaMemPoolSetAttribute");
    if (e.refused) return fail(e.error);
    return memPool && value && attr == cudaMemPoolAttrReleaseThreshold ? cudaSuccess
                                                                       : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    entry e("cudaMemPoolTrimTo");
    if (e.refused) return fail(e.error);
    if (!memPool) return fail(cudaErrorInvalidValue);
    kept[memPool->gpu] = std::min(kept[memPool->gpu], minBytesToKeep);
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    entry e("cudaMemPoolDestroy", RELEASES);
    if (e.refused) return fail(e.error);
    if (!memPool) return fail(cudaErrorInvalidValue);
    kept[memPool->gpu] = 0;
    delete memPool;
    live--;
    return done(e);
}
