/* ctgp: what a command line is made of: exit codes, options, JSON. */
#ifndef CTGP_COMMAND_H
#define CTGP_COMMAND_H

#include <cotangent/cotangent.h>
#include <cotangent/gp.h>
#include <stdio.h>

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

/* -- context.c: a command that runs --
 *
 * Every step takes its command's context. A step that fails prints one line and keeps its code there; later
 * steps do nothing, as on a tape. So steps follow each other, and one look at the end is enough. */

typedef struct owned owned;

typedef struct ctgp {
    int code;     /* GO_ON, or what the program exits with */
    owned *owned; /* what the command has allocated, the last first */
} ctgp;

enum { GO_ON = -1 };

static inline bool going(const ctgp *c) { return c->code == GO_ON; }
/* Ends the command without a message, unless it has failed before. */
void stop(ctgp *c, int result);
/* Zeroed memory for n things, or NULL after the failure "no memory for 17 rows". The context owns it. */
void *take(ctgp *c, int64_t n, size_t size, const char *what);
/* Hands an object to the context. NULL after a failure, or if it is NULL, which is one of memory. */
void *own(ctgp *c, void *object, void (*release)(void *object));
/* The same for a tensor; NULL is a failure of its device. */
ct_tensor *own_tensor(ctgp *c, ct_device *device, ct_tensor *tensor);
/* Releases what the context owns, the last first, down to what c->owned was before; all for NULL. */
void give_back(ctgp *c, const owned *until);

/* -- program.c -- */

/* At the beginning of main: a library that ends the program gives it CODE_MEMORY, and a message. */
void program_begin(void);
/* At its end. Returns `result`. */
int program_end(int result);

/* -- many.c: ctgp started by mpirun -- */

/* The processes that hold a model together: all that mpirun started, or NULL for this one alone. */
ct_comm *many(void);
/* Begins a command. If only one process can run it, the others end; else they go on and print nothing. */
void many_begin(ctgp *c, bool together);
/* Standard error, also in a process that prints nothing else. */
FILE *many_voice(void);
/* Keeps the message of a failure for many_end in a process that prints nothing. False in the others. */
bool many_keep(const char *text);
/* Ends the command in all processes, also where it failed in one of them alone. All get the same code. */
void many_end(ctgp *c);
/* Sets the device of many processes, "cpu". CODE_UNSUPPORTED if another one is asked for. */
void many_device(ctgp *c, const char **name);
/* Copies bytes from process 0 to all. Fails with the code of a process that has failed. */
void many_share(ctgp *c, void *data, size_t bytes);

/* -- text.c: what people read --
 *
 * All of it is printed as UTF-8 without control characters, whatever bytes a name has. So no format has the
 * end of a line: functions that print a line add it. */

void say(FILE *to, const char *format, ...) CT_PRINTF(2, 3);
/* One line on standard output. */
void say_line(const char *format, ...) CT_PRINTF(1, 2);
/* "ctgp: " and one line on standard error. */
void note(const char *format, ...) CT_PRINTF(1, 2);
/* A step's failure: "ctgp: " and one line, if it is the command's first. */
void fail(ctgp *c, int result, const char *format, ...) CT_PRINTF(3, 4);
/* The same for a message of the library, which may have several lines, after `what` (may be NULL). */
void fail_message(ctgp *c, int result, const char *what, const char *message);

/* The next character of a text, which it passes; 0 at the end. A byte that is not UTF-8 is taken for
 * Latin-1. */
uint32_t take_character(const char **text);
/* Writes it in UTF-8. */
void put_character(FILE *to, uint32_t c);
/* Whether it acts on a terminal, or no XML may hold it. */
bool is_control(uint32_t c);

/* -- options.c: the command line -- */

typedef struct option {
    const char *name;  /* "--target"           */
    const char *value; /* "NAME"; NULL: a flag  */
    const char *help;
    const char **text; /* where the value goes; a flag stores its own name */
} option;

typedef struct command {
    const char *name, *arguments, *summary, *details;
    int n_positional, n_optional; /* files; the optional ones follow, NULL if not given */
    const option *options;
    int n_options;
} command;

/* The option of every command that computes. */
#define DEVICE_OPTION(text)                                                             \
    {                                                                                   \
        "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &(text) \
    }

/* Stores the options and the files of a command line. --help ends the command with CODE_OK. */
void parse_arguments(ctgp *c, const command *of, int argc, char **argv, const char **positional);

/* Each reads the text of an option, or fails with CODE_USAGE. A `text` of NULL leaves *out unchanged. */
void parse_whole(ctgp *c, const char *name, const char *text, long lowest, long highest, long *out);
/* A number between 0 and 1, neither included. */
void parse_share(ctgp *c, const char *name, const char *text, double *out);
void parse_choice(ctgp *c, const char *name, const char *text, const char *const *choices, int n, int *out);

/* Adds a name to a list for a message, "a, b, c", which ends in "..." where it is full. */
void add_name(char *list, size_t size, const char *name);

/* Whether the path leads to a regular file, through links or not. */
bool is_file(const char *path);
/* Fails with CODE_USAGE where an option's output (may be NULL) would overwrite the input of an argument. */
void keep_apart(ctgp *c, const char *name, const char *out, const char *argument, const char *in);

int code_of(ct_status status);
/* Fails with the message and the code of the device's last failure, never CODE_OK. `what` (may be NULL) is
 * printed before the message. */
void fail_device(ctgp *c, const ct_device *device, const char *what);
/* Ends what goes to standard output. It fails where that could not all be written, to a full disk or a closed
 * pipe. */
void end_output(ctgp *c);
/* The same after a model has been saved: beside a failure it says where the model is. */
void end_output_of_model(ctgp *c, const char *path);

/* -- json.c: one line of JSON, its commas where they belong -- */

typedef struct json {
    FILE *to;
    bool more; /* a comma comes before the next value */
} json;

/* Each writes a value with its name, NULL for that of a list or for the whole line. */
void json_open(json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(json *j, char bracket);
void json_string(json *j, const char *name, const char *text); /* NULL: null */
void json_number(json *j, const char *name, double value);     /* null where it is not finite */
void json_whole(json *j, const char *name, int64_t value);
void json_flag(json *j, const char *name, bool value);
/* {"kind": "each", "outputs": [, without the kind for NULL. */
void json_outputs(json *j, const char *kind);
/* Ends the line, of several outputs with their list. */
void json_end(json *j, bool several);
/* A value as printf writes it. */
void json_print(json *j, const char *name, const char *format, ...) CT_PRINTF(3, 4);

/* -- fields.c: a result as named numbers, which text and JSON print in their own ways -- */

typedef struct field {
    const char *name; /* NULL: it is left out */
    double value;
    const char *text, *json; /* formats of printf; json NULL: all digits, or null where not finite */
} field;

/* "n": 20, "rmse": 0.1, ... to j, or n=20 rmse=0.1 ... to a stream where j is NULL. */
void write_fields(const field *f, int n, json *j, FILE *to);

/* -- signals.c -- */

/* SIGHUP, SIGINT and SIGTERM wait between the two, while the file at `path` is written. They do not wait for
 * a pipe or a device, which may take long and leaves nothing behind. */
void signals_hold(const char *path);
void signals_release(void);

/* -- dialect.c: how a table is written, if options say so -- */

typedef struct dialect {
    const char *separator, *decimal, *header, *unseen;
} dialect;

/* The options of every command that reads a table. */
#define DIALECT_OPTIONS(d)                                                                         \
    { "--separator", "SIGN", "comma, semicolon, tab, blanks, bar or colon; found unless given",    \
      &(d).separator },                                                                            \
        { "--decimal", "SIGN", "point or comma; found unless given", &(d).decimal },               \
    {                                                                                              \
        "--header", "yes|no", "whether the first row holds names; found unless given", &(d).header \
    }

/* That of commands that predict at rows of a table. */
#define UNSEEN_OPTION(d)                                                                            \
    {                                                                                               \
        "--unseen", "error|prior",                                                                  \
            "a level that the model has not seen: an error unless given, or the prior", &(d).unseen \
    }

void parse_dialect(ctgp *c, const dialect *d, ct_csv_options *how);
/* The option that a message of the library asks for, to end its sentence: " with --separator"; "" for other
 * messages. */
const char *dialect_remedy(const char *message);

#endif
