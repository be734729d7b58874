/* How a command ends before its last step. */
#ifndef CTGP_FAILURE_H
#define CTGP_FAILURE_H

#include "ctgp.h"

/* Ends the command without a message. */
_Noreturn void stop(ctgp *c, int result);
/* A step's failure: "ctgp: " and one line. It ends the command. */
_Noreturn void fail(ctgp *c, int result, const char *format, ...) CT_PRINTF(3, 4);
/* The same for a message of the library, which may have several lines. */
_Noreturn void fail_message(ctgp *c, int result, const char *message);
/* The same outside of a command, where it returns. */
void report(ctgp *c, int result, const char *message);

/* The code of a failure of the library, and the other way round. */
int code_of(ct_status status);
ct_status status_of(int result);
/* Fails with the message and the code of the device's last failure, never CODE_OK. */
_Noreturn void fail_device(ctgp *c);
/* Whether a step of the device that may fail did not. No memory fails the command. */
bool is_known(ctgp *c, ct_status status);
/* Fails if the device did. */
void check(ctgp *c, ct_status status);

#endif
