/* libFuzzer: a command line of ctgp fit, another command's, and a table. The first line has the options of
 * fit and the second a command and its options, between tabs; the rest is the table, of which at most 40
 * lines count. A fit that succeeds has written a model that loads, and the second command runs on it. */
#include "ctgp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 40 };

/* Appends the words of a line to l, and returns what follows the line. A path leads nowhere else. */
static char *take_words(line *l, char *text)
{
    char *next = text + strcspn(text, "\n");
    if (*next) *next++ = 0;
    for (char *word = text; word; text = word) {
        if ((word = strchr(text, '\t'))) *word++ = 0;
        for (char *c = text; *c; c++)
            if (*c == '/') *c = '_';
        if (*text) put_word(l, text);
    }
    return next;
}

static void check_model(void)
{
    ct_device *device = ct_device_open("cpu");
    ct_outputs *o = ct_outputs_load(device, MODEL);
    MUST(o);
    ct_outputs_free(o);
    ct_device_close(device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    line fit = { 0 }, second = { 0 }, given = { 0 };
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    clear();
    static const char *const begin[] = {
        "fit", TABLE, "--model", MODEL, "--max-iter", "2", "--restarts", "0"
    };
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) put_word(&fit, begin[i]);
    char *rest = take_words(&given, take_words(&fit, text));
    size_t used = 0;
    for (int lines = 0; rest[used] && lines < LINES; used++) lines += rest[used] == '\n';
    write_file(TABLE, rest, used);

    const char *name = given.n > 1 ? given.word[1] : "info";
    const bool fitted = run_line(&fit) == CODE_OK && !strstr(said[0], "usage: ");
    if (fitted) check_model();
    if (fitted && strcmp(name, "plot") != 0 && strcmp(name, "fit") != 0) {
        const bool writes = !strcmp(name, "predict") || !strcmp(name, "sample") || !strcmp(name, "grid");
        put_word(&second, name);
        put_word(&second, MODEL);
        if (!strcmp(name, "compare")) put_word(&second, MODEL);
        if (strcmp(name, "info") && strcmp(name, "loo")) put_word(&second, TABLE);
        if (writes) put_word(&second, "--out"), put_word(&second, OUT);
        if (!strcmp(name, "append")) put_word(&second, "--model"), put_word(&second, MODEL);
        for (int i = 2; i < given.n; i++) put_word(&second, given.word[i]);
        const int code = run_line(&second);
        if (writes && !code && !strstr(said[0], "usage: ")) MUST(has_content(OUT));
    }
    free(text);
    return 0;
}
