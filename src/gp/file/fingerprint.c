#include "fingerprint.h"

#include <stdlib.h>

#include "archive.h"
#include "records.h"

ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print)
{
    ct__stream s;
    ct_status status = ct__archive_begin(&s, gp->device, NULL);
    if (!status) status = ct__records_write(&s, gp, CT__RECORDS_OF_FIT, "ct_gp_fit");
    *print = ct__stream_crc(&s);
    free(s.data);
    return status;
}

ct_status ct__gp_compare(ct_gp *gp)
{
    uint64_t print = 0;
    if (ct__comm_is_one(gp->options.comm)) return CT_OK;
    ct_status s = ct__gp_fingerprint(gp, &print);
    if (s) return s;
    return ct__comm_same(gp->options.comm, gp->device, &print, sizeof print, "the data, kernels or options");
}
