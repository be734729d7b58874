/* How a command ends before its last step: its code, and one line that says why. */
#include "failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "text.h"

_Noreturn void stop(ctgp *c, int result)
{
    if (!c->code) c->code = result;
    longjmp(c->end, 1);
}

/* The message of a silent process is kept for the one that prints. `line_end`: as for put_text. */
static void put_failure(ctgp *c, int result, const char *text, char line_end)
{
    if (c->code) return;
    c->code = result;
    if (c->silent) {
        snprintf(c->failure, sizeof c->failure, "%s", text);
        return;
    }
    fputs("ctgp: ", stderr);
    put_text(stderr, text, line_end);
    fputc('\n', stderr);
}

void report(ctgp *c, int result, const char *message) { put_failure(c, result, message, '\n'); }

_Noreturn void fail_message(ctgp *c, int result, const char *message)
{
    report(c, result, message);
    stop(c, result);
}

_Noreturn void fail(ctgp *c, int result, const char *format, ...)
{
    char text[1 << 14];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    put_failure(c, result, text, 0);
    stop(c, result);
}

/* -- of the library -- */

/* A failure of the library, and the code that it ends with; the first row of a code is what many_end
 * sends to the others. */
static const struct {
    ct_status status;
    int code;
} failures[] = {
    { CT_OK, CODE_OK },         { CT_ENUMERIC, CODE_NUMERIC },         { CT_EIO, CODE_IO },
    { CT_ENOMEM, CODE_MEMORY }, { CT_EUNSUPPORTED, CODE_UNSUPPORTED }, { CT_EDEVICE, CODE_UNSUPPORTED }
};

enum { FAILURES = sizeof failures / sizeof *failures };

int code_of(ct_status status)
{
    for (int i = 0; i < FAILURES; i++)
        if (failures[i].status == status) return failures[i].code;
    return CODE_DATA;
}

ct_status status_of(int result)
{
    for (int i = 0; i < FAILURES; i++)
        if (failures[i].code == result) return failures[i].status;
    return CT_EINVAL;
}

/* If the device has no message, ctgp itself lacked memory. */
_Noreturn void fail_device(ctgp *c)
{
    const ct_status status = c->device ? ct_last_status(c->device) : CT_OK;
    fail_message(c, status ? code_of(status) : CODE_MEMORY, status ? ct_message(c->device) : "out of memory");
}

bool is_known(ctgp *c, ct_status status)
{
    if (status == CT_ENOMEM) fail_device(c);
    return !status;
}

void check(ctgp *c, ct_status status)
{
    if (status) fail_device(c);
}
