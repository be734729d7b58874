/* ctgp's commands in this process, in a folder of their own; fuzz.sh links the program's other files. */
#ifndef FUZZ_CTGP_H
#define FUZZ_CTGP_H

#define _GNU_SOURCE 1
#define main        ctgp_main
int ctgp_main(int argc, char **argv);
#include "../../src/ctgp/main.c"
#undef main

#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"

#define MODEL "m.ctgp"
#define TABLE "t.csv"
#define OUT   "o.csv"

enum { WORDS = 40, SAID = 1 << 16 };

/* The words after "ctgp". */
typedef struct line {
    char *word[WORDS + 2];
    int n;
} line;

static void put_word(line *l, const char *text)
{
    if (l->n == WORDS) return;
    if (!l->n) l->word[l->n++] = (char *)"ctgp";
    l->word[l->n++] = (char *)text;
    l->word[l->n] = NULL;
}

static char folder[] = "/dev/shm/cotangent-fuzz-XXXXXX";

static void leave(void)
{
    unlink(MODEL), unlink(TABLE), unlink(OUT);
    rmdir(folder);
}

/* Begins an input: the folder has no files. */
static void clear(void)
{
    static bool inside;
    if (!inside) MUST(mkdtemp(folder) && !chdir(folder) && !atexit(leave));
    inside = true;
    unlink(MODEL), unlink(TABLE), unlink(OUT);
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(name, "w");
    MUST(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

static bool has_content(const char *name)
{
    struct stat s;
    return !stat(name, &s) && s.st_size > 0;
}

/* What the last command wrote to standard output and standard error. */
static char said[2][SAID];

/* Runs a command. One that fails says why, in a line of its own. */
static int run_line(line *l)
{
    static int held[2], to[2];
    if (!held[0]) {
        for (int k = 0; k < 2; k++) held[k] = dup(1 + k), to[k] = memfd_create("said", 0);
        __sanitizer_set_report_fd((void *)(intptr_t)held[1]);
    }
    for (int k = 0; k < 2; k++) {
        MUST(!ftruncate(to[k], 0) && !lseek(to[k], 0, SEEK_SET));
        dup2(to[k], 1 + k);
    }
    const int code = ctgp_main(l->n, l->word);
    for (int k = 0; k < 2; k++) {
        const ssize_t n = pread(to[k], said[k], SAID - 1, 0);
        said[k][n > 0 ? n : 0] = 0;
        dup2(held[k], 1 + k);
    }
    MUST(code >= CODE_OK && code <= CODE_STOPPED);
    MUST(!code || !strncmp(said[1], "ctgp: ", 6) || strstr(said[1], "\nctgp: ") || l->n == 1);
    return code;
}

#endif
