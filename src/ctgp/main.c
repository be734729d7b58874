/* ctgp: exact Gaussian processes from the command line. */
#include "ctgp.h"

#include <signal.h>
#include <string.h>

typedef struct entry {
    const char *name;
    int (*run)(int argc, char **argv);
    bool together; /* by all processes that mpirun started */
    const char *summary;
} entry;

static const entry entries[] = {
    { "fit", run_fit, true, "train a model on a CSV file" },
    { "predict", run_predict, true, "predict with it, and score the prediction where the target is known" },
    { "loo", run_loo, true, "leave-one-out: score the model on the rows it learned from" },
    { "compare", run_compare, true, "say which of two models predicts better, and how certain that is" },
    { "sample", run_sample, true, "draw functions from it, jointly at all rows" },
    { "append", run_append, false, "add rows to it without fitting again" },
    { "info", run_info, true, "say what a model is" },
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

/* Runs a command in all processes that mpirun started, or in the first one. */
static int run(const entry *e, int argc, char **argv)
{
    int result = many_begin(e->together);
    return many_end(result == GO_ON ? e->run(argc, argv) : result);
}

/* The exit code. */
static int finish(int result) { return end_output(result == GO_ON ? CODE_OK : result); }

static int ctgp(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file larger than the shell allows is an error like a full disk */
    if (argc < 2) {
        print_usage(stderr);
        return CODE_USAGE;
    }
    const char *name = argv[1];
    bool help = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");
    if (!strcmp(name, "--version") || !strcmp(name, "version")) {
        printf("ctgp %s\n", ct_version());
        return finish(CODE_OK);
    }
    if (help && argc == 2) {
        print_usage(stdout);
        return finish(CODE_OK);
    }
    if (help) name = argv[2];
    if (help && !strcmp(name, "kernels")) {
        print_kernels();
        return finish(CODE_OK);
    }
    const entry *e = find(name);
    if (!e)
        return fail(
            CODE_USAGE,
            "there is no command '%s'; there are fit, predict, loo, compare, sample, append, info and plot",
            name);
    char option_help[] = "--help", *for_help[] = { argv[0], option_help, NULL };
    return finish(help ? e->run(2, for_help) : run(e, argc - 1, argv + 1));
}

int main(int argc, char **argv)
{
    program_begin();
    return program_end(ctgp(argc, argv));
}
