/* Locks of files, for file_write.c, and the temporary files of dead writers. */
#ifndef CT_TENSOR_LOCK_H
#define CT_TENSOR_LOCK_H

#include <cotangent/io.h>

/* The lock that a device holds on a file, given its path without symbolic links; NULL if there is none. */
ct_file_lock *ct__lock_of(const ct_device *device, const char *target);
/* Whether the file is still the one that was locked, or last saved under the lock. */
bool ct__lock_holds(const ct_file_lock *lock);
/* Moves the lock to the file of `descriptor`, which has replaced the locked one. Takes the descriptor
 * over. */
void ct__lock_move(ct_file_lock *lock, int descriptor);

/* TARGET.tmp-PROCESS-ADDRESS-TRY: its writer keeps it locked until it is renamed. */
#define CT__TEMPORARY "%s.tmp-%ld-%llx-%d"

/* Locks a new temporary file. Returns errno; EEXIST if another writer has taken it for a dead writer's: it is
 * then lost. */
int ct__temporary_claim(int descriptor);
/* Removes the temporary files of `folder`/`base` that are not locked: their writers are dead. If the file
 * system keeps locks local to each host, it may also remove a file of a living writer on another host, whose
 * commit then fails. */
void ct__temporary_reclaim(const char *folder, const char *base);

#endif
