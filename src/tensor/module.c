/* Modules: parts of the library in separate files, loaded on request. */
#define _GNU_SOURCE
#include <cotangent/device.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder of the file that contains this code, with a slash at its end; "" if it is unknown. */
static void own_folder(char *folder, size_t size)
{
    static const char here;
    Dl_info info;
    folder[0] = '\0';
    if (!dladdr(&here, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t length = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
    if (length < size) snprintf(folder, size, "%.*s", (int)length, info.dli_fname);
}

/* Whether the module itself was not found. dlerror may instead name a library that the module needs. */
static bool is_nowhere(const char *reason, const char *file)
{
    const size_t length = strlen(file);
    return !reason || (!strncmp(reason, file, length) && !strncmp(reason + length, ": cannot open", 13));
}

void *ct_module_load(const char *file, bool global, char *path, size_t size, const char **reason)
{
    enum { OWN, INSTALLED, ANYWHERE, PLACES };
    char own[4096];
    const char *const folder[PLACES] = { own, CT_LIBDIR "/", "" };
    if (reason) *reason = NULL;
    if (!file || !path || !reason) return NULL;
    own_folder(own, sizeof own);
    for (int i = OWN; i < PLACES; i++) {
        int length = snprintf(path, size, "%s%s", folder[i], file);
        bool there = folder[i][0] && length >= 0 && (size_t)length < size && !access(path, R_OK);
        if (!there && i != ANYWHERE) continue;
        /* A module stays loaded until the process ends, because closing large libraries saves nothing. */
        void *module = dlopen(path, RTLD_NOW | RTLD_NODELETE | (global ? RTLD_GLOBAL : RTLD_LOCAL));
        if (module) return module;
        break;
    }
    *reason = dlerror();
    if (is_nowhere(*reason, file)) *reason = NULL;
    return NULL;
}
