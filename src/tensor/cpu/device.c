/* The CPU as a device: memory, description, and the table of primitives. */
#include "blas.h"
#include "cpu.h"
#include "kernel/isa.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct cpu_info {
    char model[128];
    bool avx2, avx512;
} cpu_info;

/* Linux's account of the first CPU. Absent files leave "CPU" and no flags. */
static void read_cpu(cpu_info *info)
{
    *info = (cpu_info){ .model = "CPU" };
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[8192];
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value) break;
        value += value[1] == ' ' ? 2 : 1;
        value[strcspn(value, "\n")] = 0;
        if (!strncmp(line, "model name", 10)) {
            snprintf(info->model, sizeof info->model, "%s", value);
        } else if (!strncmp(line, "flags", 5)) {
            info->avx2 = strstr(value, " avx2 ") != NULL;
            info->avx512 = strstr(value, " avx512f ") && strstr(value, " avx512bw ");
        }
    }
    fclose(file);
}

static uint64_t read_limit(const char *path)
{
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(path, "r");
    if (!file) return limit;
    unsigned long long value;
    if (fscanf(file, "%llu", &value) == 1) limit = value; /* else "max" */
    fclose(file);
    return limit;
}

/* The smallest memory.max from this process's control group (version 2) up to the root. */
static uint64_t cgroup_limit(void)
{
    char line[1024], path[1200];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file) return limit;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4)) continue;
        char *group = line + 3;
        group[strcspn(group, "\n")] = 0;
        for (;;) {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            uint64_t here = read_limit(path);
            if (here < limit) limit = here;
            char *slash = strrchr(group, '/');
            if (!slash) break;
            *slash = 0;
        }
    }
    fclose(file);
    return limit;
}

static uint64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t physical = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX,
             limit = cgroup_limit();
    return limit < physical ? limit : physical;
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcasecmp(name, *list)) return true;
    return false;
}

/* OpenBLAS's kernels by the instructions they use. */
static void remark_on_core(ct_device *dev, const cpu_info *cpu, const char *core)
{
    static const char *const avx512[] = { "SkylakeX", "Cooperlake", "SapphireRapids", NULL };
    static const char *const avx2[] = { "Haswell", "Zen", "Excavator", NULL };
    const char *has = NULL;
    if (cpu->avx512 && !is_one_of(core, avx512))
        has = "AVX-512";
    else if (cpu->avx2 && !is_one_of(core, avx512) && !is_one_of(core, avx2))
        has = "AVX2";
    if (!has) return;
    ct__remark(dev,
               "slow: OpenBLAS runs its %s kernels although this CPU has %s, probably because "
               "OPENBLAS_CORETYPE is set: unset it",
               core, has);
}

static void remark_on_threads(ct_device *dev)
{
    if (openblas_get_parallel() != 1) return;
    ct__remark(dev,
               "slow: this OpenBLAS is a pthread build, whose threads compete with OpenMP's: install the "
               "OpenMP build (libopenblas-openmp-dev)");
}

static ct_status open_cpu(ct_device *dev, int ordinal)
{
    static const char *const kinds[] = { "serial", "pthreads", "OpenMP" };
    if (ordinal > 0)
        return ct__fail(dev, CT_EDEVICE, "cpu:%d: there is one CPU device; open \"cpu\"", ordinal);
    cpu_info cpu;
    read_cpu(&cpu);
    snprintf(dev->name, sizeof dev->name, "cpu");
    const int most = ct__team_most(), asked = dev->threads;
    if (asked > most)
        return ct__fail(dev, CT_EINVAL, "threads must be at most %d on %d processors, not %d", most,
                        omp_get_num_procs(), asked);
    const int usual = omp_get_max_threads();
    dev->threads = ct__team_trial(asked ? asked : usual < most ? usual : most);
    dev->isa = ct__best_isa();
    uint64_t memory = physical_memory();
    if (!dev->memory.limit) dev->memory.limit = memory;
    const char *config = openblas_get_config(), *core = openblas_get_corename();
    char version[32] = "";
    sscanf(config, "OpenBLAS %31s", version);
    int parallel = openblas_get_parallel();
    snprintf(dev->description, sizeof dev->description,
             "cpu: %s, %d thread%s, OpenBLAS %s (%s, %s), %.1f GiB", cpu.model, dev->threads,
             dev->threads == 1 ? "" : "s", version, parallel >= 0 && parallel <= 2 ? kinds[parallel] : "?",
             core, (double)memory / (1 << 30));
    remark_on_core(dev, &cpu, core);
    remark_on_threads(dev);
    return CT_OK;
}

static void close_cpu(ct_device *dev) { (void)dev; }

static void *allocate(ct_device *dev, size_t bytes)
{
    return dev->allocator.alloc(dev->allocator.context, bytes, CT__ALIGNMENT);
}

static void release(ct_device *dev, void *data, size_t bytes)
{
    dev->allocator.release(dev->allocator.context, data, bytes);
}

static ct_status transfer(ct_device *dev, void *dst, const void *src, size_t bytes)
{
    (void)dev;
    if (bytes) memcpy(dst, src, bytes);
    return CT_OK;
}

static ct_status synchronize(ct_device *dev)
{
    (void)dev;
    return CT_OK;
}

/* The next number goes to whoever is free. */
static void spread(ct_device *dev, int64_t count, void (*run)(void *context, int64_t k), void *context)
{
    const int threads = ct__team_limit(count < dev->threads ? (int)count : dev->threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t k = 0; k < count; k++) run(context, k);
}

/* clang-format off */
#define ENTRY(name) .name = ct__cpu_##name,
const ct_backend ct__cpu_backend = {
    .name = "cpu",
    .host_memory = true,
    .open = open_cpu,
    .close = close_cpu,
    .allocate = allocate,
    .release = release,
    .upload = transfer,
    .download = transfer,
    .synchronize = synchronize,
    .spread = spread,
    CT_PRIMITIVES(ENTRY)
    ENTRY(packed_sweep)
    ENTRY(keeps_root)
    ENTRY(potri_root)
    ENTRY(inverse_root_bar)
};
