/* ctgp plot: gnuplot's script and its run. */
#include "plot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* -- what gnuplot reads -- */

/* In single quotes a quote is doubled, and the end of a line becomes a space. Nothing else is special. */
void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (const char *p = text; *p; p++) {
        if (*p == '\'') fputc('\'', out);
        fputc((unsigned char)*p < 0x20 ? ' ' : *p, out);
    }
    fputc('\'', out);
}

/* Panels lie in rows of three. */
void write_header(FILE *script, const char *picture, bool png, const char *title, const char *below,
                  int64_t panels)
{
    const long rows = (long)(panels + 2) / 3, width = panels > 1 ? 1200 : 800,
               height = panels > 1 ? 320 * rows + 60 : 500;
    fputs("set encoding utf8\nset terminal ", script);
    if (png)
        fprintf(script, "pngcairo size %ld,%ld font 'Sans,22' linewidth 2 pointscale 2 noenhanced", 2 * width,
                2 * height);
    else
        fprintf(script, "svg size %ld,%ld font 'Sans,13' background rgb 'white' noenhanced", width, height);
    fputs("\nset output ", script);
    quote(script, picture);
    fputs("\nset border 3 lc rgb '#606060'\nset tics nomirror out scale 0.6 tc rgb '#303030'\n"
          "set grid lc rgb '#e4e4e4' lt 1 lw 0.6\nset style fill solid 1 noborder\n"
          "set key top left horizontal Left reverse samplen 2 width 2 opaque nobox\n",
          script);
    if (panels > 1)
        fprintf(script, "set multiplot layout %ld,3 title ", rows);
    else
        fputs("set title ", script);
    quote(script, title);
    fputs(*below ? " . \"\\n\" . " : "", script);
    if (*below) quote(script, below);
    fputs("\n", script);
}

/* -- gnuplot, started without a shell -- */

/* Shows the last line of gnuplot's output, which is the reason. */
static int wait_for_gnuplot(pid_t child, FILE *said)
{
    char line[512], reason[512] = "it gives no reason";
    int status;
    while (said && fgets(line, sizeof line, said)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[strspn(line, " ^")]) memcpy(reason, line, sizeof reason);
    }
    if (said) fclose(said);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return fail(CODE_IO, "gnuplot: %s", strerror(errno));
    if (WIFSIGNALED(status)) return fail(CODE_IO, "gnuplot was ended by signal %d", WTERMSIG(status));
    return status ? fail(CODE_IO, "gnuplot failed: %s", reason) : GO_ON;
}

/* -d leaves the user's settings out. */
int run_gnuplot(const char *script)
{
    char program[] = "gnuplot", defaults[] = "-d";
    char *arguments[] = { program, defaults, (char *)script, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child;
    if (pipe(ends)) return fail(CODE_IO, "gnuplot: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        error = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (!error) return wait_for_gnuplot(child, fdopen(ends[0], "r"));
    close(ends[0]);
    if (error == ENOENT)
        return fail(CODE_UNSUPPORTED, "gnuplot is not installed; on Debian: apt-get install gnuplot-nox");
    return fail(CODE_IO, "gnuplot: %s", strerror(error));
}
