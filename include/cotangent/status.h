/* Status codes and the export macro. Every other header includes this one.
 *
 * Every function that can fail returns a ct_status, or NULL, or a poisoned ct_var. The object on which the
 * failure happened keeps the message: ct_message(device), ct_tape_message(tape), ct_kernel_message(kernel).
 * The library never prints, exits or aborts. */
#ifndef COTANGENT_STATUS_H
#define COTANGENT_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CT_VERSION_MAJOR 0
#define CT_VERSION_MINOR 1
#define CT_VERSION_PATCH 0
/* The version as one number, for comparisons: 100 is 0.1.0, 10203 is 1.2.3. */
#define CT_VERSION (10000 * CT_VERSION_MAJOR + 100 * CT_VERSION_MINOR + CT_VERSION_PATCH)

#ifdef __cplusplus
#    define CT_BEGIN_DECLS extern "C" {
#    define CT_END_DECLS   }
#else
#    define CT_BEGIN_DECLS
#    define CT_END_DECLS
#endif

#if defined(__GNUC__)
#    define CT_API                   __attribute__((visibility("default")))
#    define CT_PRINTF(string, first) __attribute__((__format__(__printf__, string, first)))
#    define CT_MUST_CHECK            __attribute__((warn_unused_result))
#else
#    define CT_API
#    define CT_PRINTF(string, first)
#    define CT_MUST_CHECK
#endif

CT_BEGIN_DECLS

typedef enum ct_status {
    CT_OK = 0,
    CT_EINVAL,       /* an argument is NULL or outside its domain                                    */
    CT_ESHAPE,       /* shapes do not fit together                                                   */
    CT_EDTYPE,       /* dtypes do not fit together, or the op does not take this one                 */
    CT_EDEVICE,      /* tensors live on different devices, or there is no such device                */
    CT_EINDEX,       /* an index lies outside its dimension                                          */
    CT_ENOMEM,       /* memory is exhausted, or the device's limit would be exceeded                 */
    CT_ENUMERIC,     /* a factorisation met a singular, indefinite or NaN matrix                     */
    CT_ESTALE,       /* a handle is older than the last reset, or its value was freed or overwritten */
    CT_EIO,          /* the operating system refused to read or write                                */
    CT_EFORMAT,      /* a file or a text does not have the expected format                           */
    CT_EUNSUPPORTED, /* this build or device cannot do it                                            */
    CT_ESTOPPED,     /* the caller's callback asked to stop                                          */
} ct_status;

/* "CT_OK", "CT_ESHAPE", ...; never NULL. */
CT_API const char *ct_status_name(ct_status status);

/* The version of the library that is linked, which may differ from this header's: "0.1.0". */
CT_API const char *ct_version(void);

CT_END_DECLS
#endif
