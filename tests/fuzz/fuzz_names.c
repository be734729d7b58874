/* libFuzzer: any text as a list of columns' names, as --features takes it. Each of its names, as a message
 * writes it for the shell behind --drop, is read back as itself. */
#include "../../src/ctgp/columns.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int fail(ctgp *c, int result, const char *format, ...)
{
    (void)format;
    (void)c;
    return result;
}

int64_t frame_column(ctgp *c, const frame *f, const char *name)
{
    (void)c;
    (void)f;
    (void)name;
    return -1;
}

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

static void check_round_trip(const char *name)
{
    char text[OPTION_NAME], **list;
    const char *written = option_name(name, text);
    if (written != text) return;
    unquote(text);
    const int64_t n = split_names(text, &list);
    if (n < 0) return;
    if (n != 1 || strcmp(list[0], name)) __builtin_trap();
    free_names(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), **list;
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    check_round_trip(text);
    const int64_t n = split_names(text, &list);
    for (int64_t i = 0; i < n; i++) check_round_trip(list[i]);
    if (n >= 0) free_names(list);
    free(text);
    return 0;
}
