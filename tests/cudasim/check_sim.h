/* Shared by the simulator's own tests. */
#ifndef TESTS_CHECK_SIM_H
#define TESTS_CHECK_SIM_H

extern "C" {
#include "check.h"
}

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "cudasim.h"
#include "cusolverDn.h"

#define assert_cuda(call) assert_int_equal((call), cudaSuccess)

/* The statement is reported with a message that contains this part; "": not reported. */
#define EXPECT(part, statement)                                             \
    do {                                                                    \
        cudasim_expect_report();                                            \
        statement;                                                          \
        cudaGetLastError();                                                 \
        const char *said = cudasim_take_report();                           \
        if ((part)[0] ? !strstr(said, (part)) : said[0]) {                  \
            print_error("the report \"%s\" has no \"%s\"\n", said, (part)); \
            fail();                                                         \
        }                                                                   \
    } while (0)

/* The statement ends a child process with a message that contains this part. A sanitizer has its own message,
 * so under one only the end is checked. */
#define DIES(part, statement)                                                              \
    do {                                                                                   \
        int ends[2];                                                                       \
        assert_int_equal(pipe(ends), 0);                                                   \
        pid_t child = fork();                                                              \
        if (!child) {                                                                      \
            signal(SIGSEGV, SIG_DFL);                                                      \
            int answer;                                                                    \
            cudaGetDevice(&answer);                                                        \
            dup2(ends[1], 2);                                                              \
            statement;                                                                     \
            _exit(0);                                                                      \
        }                                                                                  \
        close(ends[1]);                                                                    \
        char said[4096] = { 0 };                                                           \
        size_t have = 0;                                                                   \
        for (ssize_t got; (got = read(ends[0], said + have, sizeof said - 1 - have)) > 0;) \
            have += (size_t)got;                                                           \
        close(ends[0]);                                                                    \
        int how;                                                                           \
        waitpid(child, &how, 0);                                                           \
        assert_false(WIFEXITED(how) && WEXITSTATUS(how) == 0);                             \
        if (!strstr(said, "Sanitizer") && !strstr(said, (part))) {                         \
            print_error("\"%s\" has no \"%s\"\n", said, (part));                           \
            fail();                                                                        \
        }                                                                                  \
    } while (0)

#endif
