/* The command line. */
#ifndef CTGP_OPTIONS_H
#define CTGP_OPTIONS_H

#include "ctgp.h"

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
    const char *signs;    /* each stands for the choice at its place, too; may be NULL */
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

/* Fails with CODE_USAGE where an option's output (may be NULL) would overwrite the input of an argument. */
void keep_apart(ctgp *c, const char *name, const char *out, const char *argument, const char *in);

#endif
