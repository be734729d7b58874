/* Loads the CUDA backend, the module libcotangent-cuda.so, when a GPU is opened. Other programs do not load
 * cuBLAS and cuSOLVER, and the library runs without them. */
#include "module.h"

#include <dlfcn.h>

/* -- the driver ------------------------------------------------------------------------------------------ */

/* Stores the number of GPUs in *count. Returns 0 or a driver error. */
static int count_gpus(void *driver, int *count)
{
    int (*init)(unsigned flags) = NULL, (*get_count)(int *count) = NULL;
    void *symbol[] = { dlsym(driver, "cuInit"), dlsym(driver, "cuDeviceGetCount") };
    if (!symbol[0] || !symbol[1]) return -1;
    memcpy(&init, &symbol[0], sizeof init);
    memcpy(&get_count, &symbol[1], sizeof get_count);
    int error = init(0);
    return error ? error : get_count(count);
}

/* Whether there is a GPU; asked before anything large is loaded. */
static bool find_gpu(ct_device *dev, int ordinal)
{
    enum { NO_DEVICE = 100 };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int count = 0, error = driver ? count_gpus(driver, &count) : NO_DEVICE;
    if (driver) dlclose(driver);
    if (count && !error) return true;
    if (error && error != NO_DEVICE)
        ct__fail(
            dev, CT_EDEVICE,
            "cuda:%d: the NVIDIA driver does not start (error %d): mend its installation, or open \"cpu\"",
            ordinal, error);
    else
        ct__fail(dev, CT_EDEVICE, "cuda:%d: %s, or open \"cpu\"", ordinal,
                 driver ? "the NVIDIA driver finds no GPU: attach one (see CUDA_VISIBLE_DEVICES)"
                        : "there is no NVIDIA driver (libcuda.so.1): install one");
    return false;
}

/* -- the module ------------------------------------------------------------------------------------------ */

/* The loaded module, with its file in `path`; NULL with a message. */
static void *load(ct_device *dev, int ordinal, char *path, size_t size)
{
    const char *reason;
    void *module = ct_module_load(CT__MODULE_FILE, false, path, size, &reason);
    if (!module && reason)
        ct__fail(dev, CT_EUNSUPPORTED,
                 "cuda:%d: %.160s does not load: %.160s: install CUDA's libraries, or open \"cpu\"", ordinal,
                 path, reason);
    else if (!module)
        ct__fail(
            dev, CT_EUNSUPPORTED,
            "cuda:%d: there is no CUDA backend (%s) in %s: build with -Dcuda=enabled and install it there, "
            "or open \"cpu\"",
            ordinal, CT__MODULE_FILE, CT_LIBDIR);
    return module;
}

const ct_backend *ct__cuda_backend(ct_device *dev, int ordinal)
{
    static const uint32_t abi[] = CT__ABI;
    char path[4200];
    void *handle = find_gpu(dev, ordinal) ? load(dev, ordinal, path, sizeof path) : NULL;
    if (!handle) return NULL;
    const ct__module *module = dlsym(handle, CT__MODULE_SYMBOL);
    dlclose(handle);
    if (module && !memcmp(module->abi, abi, sizeof abi)) return module->backend;
    ct__fail(
        dev, CT_EUNSUPPORTED,
        "cuda:%d: %.160s belongs to another build of cotangent than this %s: install both from one build, or "
        "open \"cpu\"",
        ordinal, path, ct_version());
    return NULL;
}
