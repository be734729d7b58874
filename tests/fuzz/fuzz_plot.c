/* libFuzzer: bytes as the names of a table's columns and levels and of the model's file. The model is fitted
 * and drawn by ctgp's own commands and the real gnuplot, in every kind of picture: one number, one time, one
 * category, several inputs, and a map. A model that is fitted must be drawn, and the picture must be XML. */
#include "../../src/ctgp/commands.h"
#include "../../src/ctgp/context.h"

#include <expat.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAME = 48, PATH = 256, ROWS = 9 };

/* The next bytes as a name; a zero ends it. */
static void take_name(bytes *b, char name[NAME + 1])
{
    int n = 0;
    while (n < NAME && more(b) && (name[n] = (char)byte(b))) n++;
    if (!n) name[n++] = 'n';
    name[n] = 0;
}

/* As a field in quotes. */
static void put_quoted(FILE *to, const char *name)
{
    fputc('"', to);
    for (; *name; name++) fprintf(to, *name == '"' ? "\"\"" : "%c", *name);
    fputc('"', to);
}

/* Columns are the inputs of the kind of picture, and the target. */
static void write_table(const char *path, const char *columns, char names[][NAME + 1],
                        char levels[][NAME + 1])
{
    FILE *to = fopen(path, "w");
    MUST(to);
    for (int j = 0; columns[j]; j++) put_quoted(to, names[j]), fputs(columns[j + 1] ? "," : "\n", to);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; columns[j]; j++) {
            if (columns[j] == 'c')
                put_quoted(to, levels[i % 3]);
            else
                fprintf(to, columns[j] == 't' ? "2024-01-%02d" : "%d",
                        columns[j] == 'y' ? i * i % 7 : (i + 1) * (j + 1) % 10);
            fputs(columns[j + 1] ? "," : "\n", to);
        }
    MUST(!fclose(to));
}

static void must_be_xml(const char *path)
{
    static char text[1 << 20];
    FILE *from = fopen(path, "r");
    MUST(from);
    const size_t n = fread(text, 1, sizeof text, from);
    fclose(from);
    XML_Parser parser = XML_ParserCreate(NULL);
    if (XML_Parse(parser, text, (int)n, 1) != XML_STATUS_OK) {
        fprintf(stderr, "%s:%lu: %s\n", path, (unsigned long)XML_GetCurrentLineNumber(parser),
                XML_ErrorString(XML_GetErrorCode(parser)));
        abort();
    }
    XML_ParserFree(parser);
}

static char folder[] = "/tmp/fuzz-plot-XXXXXX";

static void remove_folder(void) { rmdir(folder); }

/* Goes to a folder of this process's own. */
static void go_to_folder(void)
{
    MUST(mkdtemp(folder) && !chdir(folder));
    atexit(remove_folder);
}

/* Whether a command succeeds. */
static bool runs(void (*command)(ctgp *c, int argc, char **argv), int argc, char **argv)
{
    ctgp c = { .code = CODE_OK };
    if (!setjmp(c.end)) command(&c, argc, argv);
    give_back(&c, NULL);
    return !c.code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = { "xy", "ty", "cy", "xcty", "xxy" }, *const kernels[] = {
        "rbf", "rbf", "category", "rbf * category", "rbf(ard)"
    };
    static bool there;
    if (!there) go_to_folder();
    there = true;
    bytes b = { data, data + size };
    const int kind = below(&b, 5);
    const char *columns = kinds[kind];
    char names[4][NAME + 1], levels[3][NAME + 1], file[NAME + 1], model[PATH];
    for (int j = 0; j < 4; j++) take_name(&b, names[j]);
    for (int j = 0; j < 3; j++) take_name(&b, levels[j]);
    take_name(&b, file);
    for (char *p = file; *p; p++)
        if (*p == '/') *p = '|';
    snprintf(model, sizeof model, "./%s.ctgp", file);
    write_table("t.csv", columns, names, levels);
    char *fit[] = { "fit",        "t.csv",    "--target", names[strlen(columns) - 1],
                    "--max-iter", "1",        "--kernel", (char *)kernels[kind],
                    "--model",    model,      "--quiet",  "--separator",
                    "comma",      "--header", "yes",      NULL };
    char *plot[] = {
        "plot", model, "t.csv", "--out", "p.svg", "--separator", "comma", "--header", "yes", NULL
    };
    if (runs(run_fit, 15, fit)) {
        MUST(runs(run_plot, 9, plot));
        must_be_xml("p.svg");
    }
    unlink("p.svg"), unlink("t.csv"), unlink(model);
    return 0;
}
