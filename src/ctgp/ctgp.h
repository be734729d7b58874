/* A command that runs.
 *
 * Every step takes its command's context. A step that fails prints one line and ends the command with its
 * code: it does not return. So steps follow each other, and none checks the one before. The context owns the
 * device and all that a step allocates, and releases them when the command ends, either way. */
#ifndef CTGP_H
#define CTGP_H

#include <cotangent/cotangent.h>
#include <cotangent/gp.h>

#include <setjmp.h>

/* Exit codes; the man page lists them. */
typedef enum code {
    CODE_OK = 0,
    CODE_USAGE = 1,       /* the command line is wrong, the kernel text included */
    CODE_DATA = 2,        /* a file is not what it should be                      */
    CODE_NUMERIC = 3,     /* no factorisation succeeded                            */
    CODE_IO = 4,          /* the operating system refused to read or write         */
    CODE_MEMORY = 5,      /* memory would not suffice                              */
    CODE_UNSUPPORTED = 6, /* this build or machine cannot do it                    */
    CODE_STOPPED = 7,     /* a signal, before there was anything to keep           */
} code;

typedef struct owned owned;

typedef struct ctgp {
    int code;          /* CODE_OK, or the code of the first failure */
    ct_device *device; /* NULL until a command opens it */
    const char *kept;  /* a model that is written, which a later failure leaves as it is; NULL: none */
    owned *owned;      /* what the command has allocated, the last first */
    jmp_buf end;       /* where a failure leads */
    bool silent;       /* the process prints nothing: another one prints its failure */
    char failure[512]; /* its message, if the process is silent */
    /* The options that several commands have. */
    const char *device_name, *output;
    bool json;
    ct_csv_options table;
} ctgp;

#endif
