/* libFuzzer: any text as a list of columns' names, as --features takes it. Each of its names, as a message
 * writes it for the shell behind --drop, is read back as itself. */
#include "../../src/ctgp/columns.h"
#include "../../src/ctgp/context.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the shell makes of one word, in place. */
static void unquote(char *text)
{
    bool quoted = false;
    char *to = text;
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            quoted = !quoted;
        else if (*p == '\\' && !quoted)
            *to++ = *++p;
        else
            *to++ = *p;
    }
    *to = 0;
}

static void check_round_trip(ctgp *c, const char *name)
{
    const char *written = option_name(c, name);
    if (written == name) return;
    char *text = text_of(c, "%s", written);
    unquote(text);
    const name_list list = split_names(c, text);
    if (list.n != 1 || strcmp(list.name[0], name)) __builtin_trap();
}

static void check_names(ctgp *c, const char *text)
{
    check_round_trip(c, text);
    const name_list list = split_names(c, text);
    for (int64_t i = 0; i < list.n; i++) check_round_trip(c, list.name[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    ctgp c = { .code = CODE_OK, .silent = true };
    if (!setjmp(c.end)) check_names(&c, text);
    give_back(&c, NULL);
    free(text);
    return 0;
}
