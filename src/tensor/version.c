#include <cotangent/status.h>

#define TEXT(x)         #x
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *ct_version(void) { return DOTTED(CT_VERSION_MAJOR, CT_VERSION_MINOR, CT_VERSION_PATCH); }

const char *ct_status_name(ct_status status)
{
    switch (status) {
    case CT_OK: return "CT_OK";
    case CT_EINVAL: return "CT_EINVAL";
    case CT_ESHAPE: return "CT_ESHAPE";
    case CT_EDTYPE: return "CT_EDTYPE";
    case CT_EDEVICE: return "CT_EDEVICE";
    case CT_EINDEX: return "CT_EINDEX";
    case CT_ENOMEM: return "CT_ENOMEM";
    case CT_ENUMERIC: return "CT_ENUMERIC";
    case CT_ESTALE: return "CT_ESTALE";
    case CT_EIO: return "CT_EIO";
    case CT_EFORMAT: return "CT_EFORMAT";
    case CT_EUNSUPPORTED: return "CT_EUNSUPPORTED";
    case CT_ESTOPPED: return "CT_ESTOPPED";
    }
    return "unknown status";
}
