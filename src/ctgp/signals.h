/* Signals wait while a file is written. */
#ifndef CTGP_SIGNALS_H
#define CTGP_SIGNALS_H

/* SIGHUP, SIGINT and SIGTERM wait between the two, while the file at `path` is written. They do not wait for
 * a pipe or a device, which may take long and leaves nothing behind. */
void signals_hold(const char *path);
void signals_release(void);

#endif
