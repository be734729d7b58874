/* libFuzzer: any text as a list of columns' names, as --features takes it. Each of its names, as a message
 * writes it for the shell behind --drop, is read back as itself. */
#include "../../src/ctgp/columns.c"
#include "../../src/ctgp/context.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fail(ctgp *c, int result, const char *format, ...)
{
    (void)format;
    c->code = result;
}

void fail_device(ctgp *c, const ct_device *device, const char *what)
{
    (void)device;
    fail(c, CODE_DATA, "%s", what);
}

void frame_needs(ctgp *c, const frame *f, const char *name)
{
    (void)f;
    fail(c, CODE_DATA, "%s", name);
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

static void check_round_trip(ctgp *c, const char *name)
{
    char text[OPTION_NAME], **list;
    const char *written = option_name(name, text);
    if (written != text) return;
    unquote(text);
    const int64_t n = split_names(c, text, &list);
    if (going(c) && (n != 1 || strcmp(list[0], name))) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), **list;
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    ctgp c = { .code = GO_ON };
    check_round_trip(&c, text);
    const int64_t n = split_names(&c, text, &list);
    for (int64_t i = 0; i < n; i++) check_round_trip(&c, list[i]);
    give_back(&c, NULL);
    free(text);
    return 0;
}
