/* ctgp: what a command line is made of: exit codes, options, JSON. */
#ifndef CTGP_COMMAND_H
#define CTGP_COMMAND_H

#include <cotangent/cotangent.h>
#include <cotangent/gp.h>
#include <setjmp.h>
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
 * Every step takes its command's context. A step that fails prints one line and ends the command with its
 * code: it does not return. So steps follow each other, and none checks the one before. The context owns the
 * device and all that a step allocates, and releases them when the command ends, either way. */

typedef struct owned owned;

typedef struct ctgp {
    int code;          /* CODE_OK, or the code of the first failure */
    ct_device *device; /* NULL until a command opens it */
    const char *kept;  /* a model that is written, which a later failure leaves as it is; NULL: none */
    owned *owned;      /* what the command has allocated, the last first */
    jmp_buf end;       /* where a failure leads */
    /* The options that several commands have. */
    const char *device_name, *output;
    bool json;
    ct_csv_options table;
} ctgp;

/* Ends the command without a message. */
_Noreturn void stop(ctgp *c, int result);
/* Zeroed memory for n things; fails with "no memory for 17 rows". */
void *take(ctgp *c, int64_t n, size_t size, const char *what);
/* A text that is made by a format. */
char *text_of(ctgp *c, const char *format, ...) CT_PRINTF(2, 3);
/* A number in the fewest digits that read back as it. */
const char *number_text(ctgp *c, double value);
/* Hands an object to the context, which calls `release`. NULL is a failure of the device, or one of memory.
 * */
void *own(ctgp *c, void *object, void (*release)(void *object));
ct_tensor *own_tensor(ctgp *c, ct_tensor *tensor);
/* Takes an object (may be NULL) back from the context, for a function that will own it. */
void *disown(ctgp *c, void *object);
/* Releases what the context owns, the last first, down to what c->owned was before; all for NULL. */
void give_back(ctgp *c, const owned *until);
/* Opens the command's device, unless it is open. */
void open_device(ctgp *c);
/* Fails if the device did. */
void check(ctgp *c, ct_status status);
/* A new tensor in f64, and the numbers of one. */
ct_tensor *new_tensor(ctgp *c, ct_shape shape);
double *tensor_values(ctgp *c, const ct_tensor *tensor);

/* A file in memory. */
typedef struct memory_file {
    FILE *to;
    char *text; /* [size], once it is ended */
    size_t size;
} memory_file;

memory_file *memory_open(ctgp *c, const char *what);
/* Ends it; fails with "no memory for the picture" where it lacks a part. */
void memory_end(ctgp *c, memory_file *m, const char *what);

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
/* Copies bytes from process 0 to all. Fails with the code of a process that has failed. */
void many_share(ctgp *c, void *data, size_t bytes);

/* -- text.c: what people read --
 *
 * All of it is printed as UTF-8 without control characters, whatever bytes a name has. Only a format itself
 * can end a line. */

void say(FILE *to, const char *format, ...) CT_PRINTF(2, 3);
/* "ctgp: " and one line on standard error. */
void note(const char *format, ...) CT_PRINTF(1, 2);
/* A step's failure: "ctgp: " and one line. It ends the command. */
_Noreturn void fail(ctgp *c, int result, const char *format, ...) CT_PRINTF(3, 4);
/* The same for a message of the library, which may have several lines. */
_Noreturn void fail_message(ctgp *c, int result, const char *message);
/* The same outside of a command, where it returns. */
void report(ctgp *c, int result, const char *message);

/* The next character of a text, which it passes; 0 at the end. A byte that is not UTF-8 is taken for
 * Latin-1. */
uint32_t take_character(const char **text);
/* Writes it in UTF-8. */
void put_character(FILE *to, uint32_t c);
/* Whether it acts on a terminal, or no XML may hold it. */
bool is_control(uint32_t c);

/* -- options.c: the command line -- */

/* A row for each option. Its value goes to the one place that is given. */
typedef struct option {
    const char *name;  /* "--target"           */
    const char *value; /* "NAME"; NULL: a flag */
    const char *help;
    /* Where the value goes: to one of these places. */
    const char **text;
    bool *flag;
    double *share; /* a number between 0 and 1, neither included */
    long *whole;   /* a whole number from least to most          */
    int *choice;   /* the index of one of the words of `choices` */
    long least, most;
    const char *choices;  /* with blanks between */
    bool output;          /* a text is the path of a file to write, which must be no input */
    const char *required; /* the message where the option is not given */
} option;

/* The options that several commands have: of tables that they read, also at rows to predict, of a model with
 * several outputs, of the device, and of the result. */
enum { OF_TABLES = 1, OF_ROWS = 2, OF_OUTPUTS = 4, OF_DEVICE = 8, OF_RESULT = 16 };

enum { MOST_FILES = 3 };

typedef struct command {
    const char *name, *summary, *details;
    const char *files[MOST_FILES]; /* names of the files of its command line */
    int needed;                    /* so many of them; the others may be left out */
    int inputs_from;               /* the first that no output may overwrite */
    const char *also;              /* the options that it needs, or NULL */
    int shared;                    /* OF_TABLES, ... */
    const option *options;
    int n_options;
} command;

/* Stores the options and the files of a command line; a file that is left out is NULL. --help ends the
 * command with CODE_OK. */
void parse_arguments(ctgp *c, const command *of, int argc, char **argv, const char *files[MOST_FILES]);

/* Reads a number between 0 and 1, or fails with CODE_USAGE. */
double parse_share(ctgp *c, const char *name, const char *text);

/* Adds a name to a list for a message, "a, b, c", which ends in "..." where it is full. */
void add_name(char *list, size_t size, const char *name);

/* Fails with CODE_USAGE where an option's output (may be NULL) would overwrite the input of an argument. */
void keep_apart(ctgp *c, const char *name, const char *out, const char *argument, const char *in);

/* The code of a failure of the library, and the other way round. */
int code_of(ct_status status);
ct_status status_of(int result);
/* Fails with the message and the code of the device's last failure, never CODE_OK. */
_Noreturn void fail_device(ctgp *c);
/* Ends what goes to standard output. It fails where that could not all be written, to a full disk or a closed
 * pipe. */
void end_output(ctgp *c);

/* -- result.c: a result, described once for people and for scripts --
 *
 * It is a list of fields. Text has the value of each by its format, JSON by its name. */

typedef struct field {
    enum { FIELD_NONE, FIELD_COUNT, FIELD_NUMBER, FIELD_WORD, FIELD_FLAG, FIELD_BEGIN, FIELD_END } kind;
    const char *name; /* NULL in a list, and for the whole */
    const char *text; /* a format of printf; NULL: for JSON alone */
    double number;
    const char *word;
} field;

/* JSON has null for a number that is not finite. */
static inline field field_number(const char *name, const char *text, double value)
{
    return (field){ .kind = FIELD_NUMBER, .name = name, .text = text, .number = value };
}

/* NULL is null in JSON and nothing in text. */
static inline field field_word(const char *name, const char *text, const char *value)
{
    return (field){ .kind = FIELD_WORD, .name = name, .text = text, .word = value };
}

/* The text is there where it is true. */
static inline field field_flag(const char *name, const char *text, bool value)
{
    return (field){ .kind = FIELD_FLAG, .name = name, .text = text, .number = value, .word = "" };
}

/* A number whose text is a word: "365 days". */
static inline field field_shown(const char *name, const char *text, double value, const char *shown)
{
    return (field){ .kind = FIELD_NUMBER, .name = name, .text = text, .number = value, .word = shown };
}

/* For people alone: a word, NULL for nothing, or a number. */
static inline field field_text(const char *text, const char *word)
{
    return (field){ .text = text, .word = word };
}

static inline field field_count(const char *text, double value)
{
    return (field){ .kind = FIELD_COUNT, .text = text, .number = value };
}

/* The name of what follows, as the first column of a list. */
static inline field field_label(const char *name) { return field_text("  %-28s ", name); }

/* What lies between '{' and '}', or '[' and ']', in JSON; the text begins or ends it. */
static inline field field_begin(const char *name, char bracket, const char *text)
{
    return (field){ .kind = FIELD_BEGIN, .name = name, .text = text, .number = bracket, .word = "" };
}

static inline field field_end(char bracket, const char *text)
{
    return (field){ .kind = FIELD_END, .text = text, .number = bracket, .word = "" };
}

typedef struct writer {
    ctgp *c;
    FILE *to, *out; /* what is written waits in `memory`, so that no failure leaves a part of it on `out` */
    memory_file *memory;
    bool json;
    bool more; /* a comma comes before the next value */
    int depth; /* the open brackets; after the last one the line ends */
} writer;

/* Begins a result, whose end prints it. */
writer result_begin(ctgp *c, FILE *out);
void result_end(writer *w);
void write_fields(writer *w, const field *f, size_t n);
#define WRITE(w, ...) \
    write_fields(w, (const field[]){ __VA_ARGS__ }, sizeof((const field[]){ __VA_ARGS__ }) / sizeof(field))

/* A list of results is {"kind": "joint", "outputs": [...]}, or without a kind for NULL. */
void begin_outputs(writer *w, const char *kind);
void end_outputs(writer *w);

/* -- signals.c -- */

/* SIGHUP, SIGINT and SIGTERM wait between the two, while the file at `path` is written. They do not wait for
 * a pipe or a device, which may take long and leaves nothing behind. */
void signals_hold(const char *path);
void signals_release(void);

/* -- dialect.c: how a table is written, if options say so -- */

typedef struct dialect {
    const char *separator, *decimal;
    int header, unseen; /* the indices of yes and no, error and prior; -1 unless given */
} dialect;

ct_csv_options parse_dialect(ctgp *c, const dialect *d);
/* The option that a message of the library asks for, to end its sentence: " with --separator"; "" for other
 * messages. */
const char *dialect_remedy(const char *message);

#endif
