/* ctgp: exact Gaussian processes from the command line. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "context.h"
#include "failure.h"
#include "kernels.h"
#include "many.h"
#include "program.h"
#include "text.h"

typedef struct entry {
    const char *name;
    void (*run)(ctgp *c, int argc, char **argv);
    bool together; /* by all processes that mpirun started */
    const char *summary;
} entry;

static const entry entries[] = {
    { "fit", run_fit, true, "train a model on a CSV file" },
    { "predict", run_predict, true, "predict with it, and score the prediction where the target is known" },
    { "forecast", run_forecast, false, "predict the rows that follow, of a model of one time or number" },
    { "loo", run_loo, true, "leave-one-out: score the model on the rows it learned from" },
    { "compare", run_compare, true, "say which of two models predicts better, and how certain that is" },
    { "sample", run_sample, true, "draw functions from it, jointly at all rows" },
    { "append", run_append, false, "add rows to it without fitting again" },
    { "info", run_info, true, "say what a model is" },
    { "grid", run_grid, false, "write its function over one or two inputs as a table" },
    { "plot", run_plot, false, "draw a model and data (gnuplot)" },
};

enum { N_ENTRIES = sizeof entries / sizeof entries[0] };

static void print_usage(FILE *out)
{
    fputs("usage: ctgp COMMAND ...\n\n", out);
    for (int i = 0; i < N_ENTRIES; i++) fprintf(out, "  %-8s %s\n", entries[i].name, entries[i].summary);
    fputs("\n"
          "  ctgp help COMMAND    the options of a command\n"
          "  ctgp help kernels    the covariances, with their formulas and recipes\n"
          "  ctgp --version       the version\n"
          "\n"
          "  ctgp fit train.csv --target y && ctgp predict train.ctgp test.csv --out predicted.csv\n",
          out);
}

static const entry *find(const char *name)
{
    for (int i = 0; i < N_ENTRIES; i++)
        if (!strcmp(name, entries[i].name)) return &entries[i];
    return NULL;
}

_Noreturn static void no_command(ctgp *c, const char *name)
{
    name_choice all = { .asked = name };
    for (int i = 0; i < N_ENTRIES; i++) add_name(&all, entries[i].name);
    fail(c, CODE_USAGE, "there is no command '%s'; there are %s%s", name, all.list, all.guess);
}

static void dispatch(ctgp *c, int argc, char **argv)
{
    const char *name = argc < 2 ? "help" : argv[1];
    bool help = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");
    if (help && argc > 2) name = argv[2];
    const entry *e = find(name);
    char option_help[] = "--help", *for_help[] = { argv[0], option_help, NULL };
    if (!strcmp(name, "--version") || !strcmp(name, "version"))
        printf("ctgp %s\n", ct_version());
    else if (help && argc <= 2)
        print_usage(argc < 2 ? stderr : stdout);
    else if (help && !strcmp(name, "kernels"))
        print_kernels();
    else if (!e)
        no_command(c, name);
    if (!help && e) many_begin(c, e->together);
    if (e) e->run(c, help ? 2 : argc - 1, help ? for_help : argv + 1);
    if (argc < 2) stop(c, CODE_USAGE);
}

/* Runs a command in all processes that mpirun started, or in the first one. */
static void run(ctgp *c, int argc, char **argv)
{
    if (!setjmp(c->end)) {
        dispatch(c, argc, argv);
        end_output(c);
    }
    if (c->code && c->kept) note("the model is kept in %s", c->kept);
    give_back(c, NULL);
    many_end(c);
}

int main(int argc, char **argv)
{
    ctgp c = { .code = CODE_OK };
    program_begin();
    signal(SIGXFSZ, SIG_IGN); /* a file larger than the shell allows is an error like a full disk */
    run(&c, argc, argv);
    return program_end(c.code);
}
