#include <cotangent/status.h>

#define TEXT(x)         #x
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *ct_version(void) { return DOTTED(CT_VERSION_MAJOR, CT_VERSION_MINOR, CT_VERSION_PATCH); }

const char *ct_status_name(ct_status status)
{
#define NAME(s) [s] = #s
    static const char *const name[] = { NAME(CT_OK),      NAME(CT_EINVAL),   NAME(CT_ESHAPE),
                                        NAME(CT_EDTYPE),  NAME(CT_EDEVICE),  NAME(CT_EINDEX),
                                        NAME(CT_ENOMEM),  NAME(CT_ENUMERIC), NAME(CT_ESTALE),
                                        NAME(CT_EIO),     NAME(CT_EFORMAT),  NAME(CT_EUNSUPPORTED),
                                        NAME(CT_ESTOPPED) };
    return (unsigned)status < sizeof name / sizeof *name ? name[status] : "unknown status";
}
