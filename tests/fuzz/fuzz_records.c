/* libFuzzer: changes to the records of a good model's file, with the checksum corrected, and a command of
 * ctgp that uses it. The first bytes choose the model and the command. A command that succeeds prints no JSON
 * with a number that is not finite. */
#include "ctgp.h"

#include <math.h>

#include "gp/data/crc64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 1 << 16, HEAD = 12 };

static const char table[] = "day,kind,x,y,z\n"
                            "2024-01-01,a,0.5,1.5,3\n2024-01-02,b,1.5,2.5,1\n2024-01-04,a,2.5,1,4\n"
                            "2024-01-07,c,3,4.25,1\n2024-01-08,b,4.5,3,5\n2024-01-10,a,6,2,9\n"
                            "2024-01-11,c,6.5,5,2\n2024-01-15,b,8,4,6\n2024-01-16,a,9,3.5,5\n";
/* The options of a fit, separated by blanks. */
static const char *const fits[] = { "--target y --drop z --kernel scale*rbf(ard)+linear",
                                    "--target y --features x,kind --kernel scale*category*matern32",
                                    "--target y --features day --kernel scale*periodic*rbf --transform log",
                                    "--target y,z --features x,day --kernel scale*rbf --outputs shared",
                                    "--target y,z --features x --kernel rbf --outputs joint",
                                    "--target y,z --features x --kernel rbf --outputs each --no-factor",
                                    "--target y --features x --kernel rbf --mean linear --noise-column z",
                                    "--target y --features x,day --kernel rbf --mean 1+x --priors none" };
static const char *const commands[] = { "info M",
                                        "info M --json",
                                        "predict M T --out o.csv",
                                        "predict M T --out o.csv --noisy --quantiles 0.1,0.5 --json",
                                        "loo M",
                                        "loo M T --folds 3 --json",
                                        "sample M T --samples 2 --out o.csv",
                                        "append M T --model m.ctgp",
                                        "compare M M T --json" };
enum { MODELS = sizeof fits / sizeof *fits, COMMANDS = sizeof commands / sizeof *commands };

static void put_words(line *l, char *text)
{
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        put_word(l, !strcmp(word, "M") ? MODEL : !strcmp(word, "T") ? TABLE : word);
}

/* The file of model k into file[LARGEST]; its size, 0 where that fit is refused. */
static size_t whole(int k, uint8_t *file)
{
    static struct {
        bool made;
        size_t size;
        uint8_t file[LARGEST];
    } kept[MODELS];
    if (!kept[k].made) {
        char text[256];
        line l = { 0 };
        snprintf(text, sizeof text, "fit T --model M --max-iter 3 --restarts 0 --quiet %s", fits[k]);
        put_words(&l, text);
        if (run_line(&l) == CODE_OK) {
            FILE *f = fopen(MODEL, "r");
            MUST(f);
            kept[k].size = fread(kept[k].file, 1, LARGEST, f);
            MUST(fgetc(f) == EOF && !fclose(f));
        } else
            fprintf(stderr, "model %d: %s", k, said[1]);
        kept[k].made = true;
    }
    memcpy(file, kept[k].file, kept[k].size);
    return kept[k].size;
}

/* Changes what the bytes say; the new size. */
static size_t change(bytes *b, uint8_t *file, size_t size)
{
    static const double odd[] = { 0,      -1,     1,     1e308,    -1e308,    1e-308,
                                  5e-324, 1e-160, 1e160, INFINITY, -INFINITY, NAN };
    static const int64_t count[] = { 0, 1, -1, 2, 3, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX / 8 };
    while (more(b) && size > 64) {
        const int what = below(b, 7);
        const size_t at = HEAD + (byte(b) | (size_t)byte(b) << 8) % (size - HEAD - 24), n = 1 + below(b, 16);
        if (what == 0) file[at] = byte(b);
        if (what == 1) memcpy(file + at, &odd[below(b, sizeof odd / sizeof *odd)], 8);
        if (what == 2) memcpy(file + at, &count[below(b, sizeof count / sizeof *count)], 8);
        if (what == 3) memcpy(file + at, (uint32_t[]){ byte(b) % 12u }, 4);
        if (what == 4) memmove(file + at, file + at + n, size - at - n), size -= n;
        if (what == 5 && size + n <= LARGEST) memmove(file + at + n, file + at, size - at), size += n;
        if (what == 6) memmove(file + at, file + HEAD + word(b) % (size - HEAD - n), n);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[LARGEST];
    bytes b = { data, data + size };
    char text[128];
    line l = { 0 };
    clear();
    write_file(TABLE, table, sizeof table - 1);
    const int k = below(&b, MODELS), command = below(&b, COMMANDS);
    size_t bytes = whole(k, file);
    if (!bytes) return 0;
    bytes = change(&b, file, bytes);
    const uint64_t crc = ct__crc64(file, bytes - 8);
    memcpy(file + bytes - 8, &crc, 8);
    write_file(MODEL, file, bytes);
    snprintf(text, sizeof text, "%s", commands[command]);
    put_words(&l, text);
    const int code = run_line(&l);
    if (!code && strstr(text, "json")) MUST(!strstr(said[0], "nan") && !strstr(said[0], "inf,"));
    if (!code && strstr(commands[command], "o.csv")) MUST(has_content(OUT));
    return 0;
}
