/* Locks of files, as file_write.c sees them, and the temporary files of writers that died. */
#ifndef CT_TENSOR_LOCK_H
#define CT_TENSOR_LOCK_H

#include <cotangent/io.h>

/* The lock that a device holds of a file, by its path without symbolic links; NULL. */
ct_file_lock *ct__lock_of(const ct_device *device, const char *target);
/* Whether the file is still the one that was locked, or that was saved since. */
bool ct__lock_holds(const ct_file_lock *lock);
/* The file has been replaced by that of `descriptor`, which the lock takes over. */
void ct__lock_move(ct_file_lock *lock, int descriptor);

/* TARGET.tmp-PROCESS-ADDRESS-TRY: its writer keeps it locked until it is renamed. */
#define CT__TEMPORARY "%s.tmp-%ld-%llx-%d"

/* Locks a new temporary file. False where somebody took it for a dead writer's before: it is lost then. */
bool ct__temporary_claim(int descriptor);
/* Removes the temporary files of `folder`/`base` that nobody has locked: their writers are dead. One whose
 * writer lives on another host, where the file system keeps locks to each host, may go as well; that
 * writer's commit then fails. */
void ct__temporary_reclaim(const char *folder, const char *base);

#endif
