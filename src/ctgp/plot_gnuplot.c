/* ctgp plot: gnuplot's script and its run. */
#include "plot_gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.h"
#include "text.h"

extern char **environ;

/* -- what gnuplot reads -- */

/* In double quotes gnuplot reads escapes, and runs a program in backquotes. The label of a tic is a format. A
 * text of XML cannot hold "]]>", whose last character gnuplot does not escape: a blank parts it. */
static void put_quoted(FILE *out, const char *text, const char *percent)
{
    const char *begin = text;
    fputc('"', out);
    for (uint32_t c; (c = take_character(&text));) {
        if (c == '>' && text - begin > 2 && text[-2] == ']' && text[-3] == ']') fputc(' ', out);
        if (c == '"' || c == '\\' || c == '`')
            fprintf(out, "\\%c", (int)c);
        else if (c == '%')
            fputs(percent, out);
        else
            put_character(out, is_control(c) ? ' ' : c);
    }
    fputc('"', out);
}

void quote(FILE *out, const char *text) { put_quoted(out, text, "%"); }
void quote_tic(FILE *out, const char *text) { put_quoted(out, text, "%%"); }

/* -- gnuplot, started without a shell, with pipes and no files -- */

/* To its standard input, and from its standard output and error. */
enum { SCRIPT, PICTURE, ERRORS, PIPES };

static void close_end(int *end)
{
    if (*end >= 0) close(*end);
    *end = -1;
}

/* ours[k] and its[k] are the ends of pipe k. No other program inherits them. Returns errno. */
static int open_pipes(int ours[PIPES], int its[PIPES])
{
    for (int k = 0; k < PIPES; k++) ours[k] = its[k] = -1;
    for (int k = 0; k < PIPES; k++) {
        int end[2];
        if (pipe(end)) return errno;
        ours[k] = end[k == SCRIPT], its[k] = end[k != SCRIPT];
        fcntl(ours[k], F_SETFD, FD_CLOEXEC);
        fcntl(its[k], F_SETFD, FD_CLOEXEC);
    }
    return 0;
}

/* -d leaves the user's settings out; - is standard input, where the first error ends it. Returns errno. */
static int start(pid_t *child, const int its[PIPES])
{
    char program[] = "gnuplot", defaults[] = "-d", input[] = "-";
    char *arguments[] = { program, defaults, input, NULL };
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    for (int k = 0; k < PIPES; k++) posix_spawn_file_actions_adddup2(&actions, its[k], k);
    error = posix_spawnp(child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Sends the script and takes what comes, until gnuplot has closed its ends. */
static void converse(int ours[PIPES], const char *script, size_t size, FILE *taken[PIPES])
{
    char block[1 << 16];
    fcntl(ours[SCRIPT], F_SETFL, O_NONBLOCK);
    while (ours[SCRIPT] >= 0 || ours[PICTURE] >= 0 || ours[ERRORS] >= 0) {
        struct pollfd p[PIPES];
        for (int k = 0; k < PIPES; k++) p[k] = (struct pollfd){ ours[k], k == SCRIPT ? POLLOUT : POLLIN, 0 };
        if (poll(p, PIPES, -1) < 0) continue; /* a signal */
        for (int k = 0; k < PIPES; k++) {
            if (!p[k].revents) continue;
            const ssize_t n = k == SCRIPT ? write(ours[k], script, size) : read(ours[k], block, sizeof block);
            if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (n > 0 && k == SCRIPT) script += n, size -= (size_t)n;
            if (n > 0 && k != SCRIPT) fwrite(block, 1, (size_t)n, taken[k]);
            if (n <= 0 || (k == SCRIPT && !size)) close_end(&ours[k]);
        }
    }
}

/* The last line that gnuplot has said is the reason. */
_Noreturn static void fail_gnuplot(ctgp *c, char *said)
{
    const char *reason = "it gives no reason";
    for (char *line = strtok(said, "\r\n"); line; line = strtok(NULL, "\r\n"))
        if (line[strspn(line, " ^")]) reason = line + strspn(line, " ");
    fail(c, CODE_IO, "gnuplot failed: %s", reason);
}

/* Returns its status. */
static int run(ctgp *c, const memory_file *script, FILE *taken[PIPES])
{
    int ours[PIPES], its[PIPES], error = open_pipes(ours, its), status = 0;
    pid_t child;
    if (!error) error = start(&child, its);
    for (int k = 0; k < PIPES; k++) close_end(&its[k]);
    if (!error) {
        void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* gnuplot may end before it has read all */
        converse(ours, script->text, script->size, taken);
        signal(SIGPIPE, before);
        while (waitpid(child, &status, 0) < 0 && !error)
            if (errno != EINTR) error = errno;
    }
    for (int k = 0; k < PIPES; k++) close_end(&ours[k]);
    if (error == ENOENT)
        fail(c, CODE_UNSUPPORTED, "gnuplot is not installed; on Debian: apt-get install gnuplot-nox");
    if (error) fail(c, CODE_IO, "gnuplot: %s", strerror(error));
    return status;
}

memory_file *run_gnuplot(ctgp *c, const memory_file *script)
{
    memory_file *picture = memory_open(c, "the picture"), *said = memory_open(c, "the picture");
    FILE *taken[PIPES] = { NULL, picture->to, said->to };
    const int status = run(c, script, taken);
    memory_end(c, picture, "the picture");
    memory_end(c, said, "the picture");
    if (WIFSIGNALED(status)) fail(c, CODE_IO, "gnuplot was ended by signal %d", WTERMSIG(status));
    if (status) fail_gnuplot(c, said->text);
    return picture;
}
