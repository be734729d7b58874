/* Reads and writes tensors and files: .npy, bytes, and DLPack for other libraries in the same process.
 *
 * Writing is atomic: the data goes to a temporary file beside `path`, which then replaces the file. So the
 * file at `path` is always the old one or the new one, never a part. The new one has the permissions of the
 * old one, without setuid and setgid. A symbolic link stays a link. A full disk, RLIMIT_FSIZE and a pipe
 * without a reader are CT_EIO: no signal reaches the application. */
#ifndef COTANGENT_IO_H
#define COTANGENT_IO_H

#include <cotangent/tensor.h>

CT_BEGIN_DECLS

/* -- NumPy's .npy ---------------------------------------------------------------------------------------- */

/* Reads a .npy file or a pipe with one (format 1.0, 2.0 or 3.0; little- or big-endian; C or Fortran order).
 * f8 -> f64, f4 -> f32, f2 -> f16, i8 -> i64; narrower integers and bool become i64. NULL with CT_EIO, or
 * with CT_EFORMAT and the place in the message. */
CT_API ct_tensor *ct_npy_load(ct_device *device, const char *path);

/* Writes format 1.0 in C order, atomically. NumPy has no bf16, so that is CT_EDTYPE: a cast to f32 is
 * exact. */
CT_API ct_status ct_npy_save(const ct_tensor *t, const char *path);

/* -- bytes ----------------------------------------------------------------------------------------------- */

/* Writes data[0..bytes) to a file, atomically. Removes temporary files that killed programs have left beside
 * it. CT_EIO leaves the old file, unless the message says "it is written": then the new one is there, and
 * only its folder could not be synced to the disk. */
CT_API ct_status ct_bytes_save(ct_device *device, const char *path, const void *data, size_t bytes);

/* A complete file in host memory. */
typedef struct ct_bytes {
    void *data;
    size_t size;
    size_t capacity; /* as allocated, for ct_bytes_free */
} ct_bytes;

/* Reads a file. CT_EIO; CT_EFORMAT if the file is empty; CT_ENOMEM if it is larger than the device's memory
 * limit; CT_EINVAL for NULL. Free the memory with ct_bytes_free, which leaves *bytes empty. */
CT_API ct_status ct_bytes_load(ct_device *device, const char *path, ct_bytes *bytes);
CT_API void ct_bytes_free(ct_device *device, ct_bytes *bytes);

/* A file that is read piece by piece, from its beginning on. */
typedef struct ct_file_reader ct_file_reader;

/* NULL: CT_EIO, CT_ENOMEM, CT_EFORMAT if the file is empty, or CT_EINVAL for a NULL path. A file that is not
 * a regular one is read into memory here. Close it before the device. */
CT_API ct_file_reader *ct_file_reader_open(ct_device *device, const char *path);
CT_API uint64_t ct_file_reader_size(const ct_file_reader *file); /* of the whole file */
/* Reads the next `bytes` bytes. CT_EIO, also if there are fewer. */
CT_API ct_status ct_file_reader_read(ct_file_reader *file, void *data, size_t bytes);
CT_API void ct_file_reader_close(ct_file_reader *file); /* NULL is allowed */

/* A file that is written piece by piece and replaces the one at `path` when it is complete. Until then, and
 * after any failure but that of ct_bytes_save to sync the folder, the old file stays. */
typedef struct ct_file_writer ct_file_writer;

/* NULL: CT_EIO, CT_ENOMEM, or CT_EINVAL for a NULL path. End it before the device is closed. */
CT_API ct_file_writer *ct_file_writer_open(ct_device *device, const char *path);
/* The first failure, CT_EIO with a message, is kept. */
CT_API ct_status ct_file_writer_write(ct_file_writer *file, const void *data, size_t bytes);
/* Completes the file if `s` is CT_OK; otherwise discards it. Frees `file` (NULL is allowed). Returns the
 * first failure, else s. */
CT_API ct_status ct_file_writer_end(ct_file_writer *file, ct_status s);

/* A file that grows. Appended bytes stay even if the program is killed. */
typedef struct ct_append_file ct_append_file;

/* Opens an existing file to append after its first `keep` bytes, and removes the rest. NULL: CT_EIO, or
 * CT_ENOMEM. Close it before the device. */
CT_API ct_append_file *ct_append_open(ct_device *device, const char *path, uint64_t keep);
/* Hands the bytes to the system and, at most once a second, waits until the disk has all bytes so far: a
 * power failure may lose those of the last second. The first failure, CT_EIO with a message, is kept. The
 * bytes being appended may then be in the file in part. */
CT_API ct_status ct_append_bytes(ct_append_file *file, const void *data, size_t bytes);
CT_API void ct_append_close(ct_append_file *file); /* NULL is allowed */

/* -- one writer at a time --
 *
 * If several programs read a file, change what they read and save it, the last one wins and the work of the
 * others is lost. With a lock each program waits for its turn and works on what the previous one has saved:
 *
 *     ct_file_lock *lock = ct_file_lock_take(device, "m.ctgp");
 *     ct_gp *gp = ct_gp_load(device, "m.ctgp");
 *     ... ct_gp_append(gp, X, y, NULL) ... ct_gp_save(gp, "m.ctgp") ...
 *     ct_file_lock_give(lock);
 *
 * A program that takes no lock does not wait. Therefore, while a device holds a file, saving to it from this
 * device also checks that the file is the one that was locked, or the last one that this device saved there.
 * If another program has changed it since, saving is CT_EIO and the file stays as the other program left it.
 * On a file system without locks this check is the only protection, and two programs that save at the same
 * moment can miss each other. */

typedef struct ct_file_lock ct_file_lock;

/* Waits until no other device, in this process or another, holds the file at `path`, then holds it. The file
 * must exist. The lock ends with ct_file_lock_give or with the process; a child of fork shares it. The lock
 * keeps the device open. NULL: CT_EIO, CT_ENOMEM, or CT_EINVAL if this device holds the file already. */
CT_API ct_file_lock *ct_file_lock_take(ct_device *device, const char *path);
/* NULL is allowed. */
CT_API void ct_file_lock_give(ct_file_lock *lock);

/* -- messages -------------------------------------------------------------------------------------------- */

/* Bytes of the buffers below. */
enum { CT_SHOWN_PATH = 96, CT_SHOWN_TEXT = 40 };

/* Writes a path as text for a message: all of it, or "..." and its end. A control character becomes ?.
 * Returns buffer. */
CT_API const char *ct_show_path(const char *path, char buffer[CT_SHOWN_PATH]);
/* Writes text[0..size), a part of a file: all of it, or its beginning and "...". A control character becomes
 * ?. Returns buffer. */
CT_API const char *ct_show_text(const char *text, size_t size, char buffer[CT_SHOWN_TEXT]);

/* -- DLPack ---------------------------------------------------------------------------------------------- */

/* On a GPU a tensor is handed over while work on it is still queued. No host thread waits if one side's
 * stream (a cudaStream_t of any GPU; NULL is the default stream of the device's GPU) waits for the other's.
 * On a CPU there is nothing to wait for.
 *
 * To take a tensor: ct_device_wait_stream(device, theirs), then ct_from_dlpack; or pass
 * ct_device_stream(device) to their __dlpack__.
 *
 * To hand one out: ct_to_dlpack, then ct_stream_wait_device(theirs, device).
 *
 * To get it back: ct_device_wait_stream(device, theirs), before its deleter is called. */

/* The stream that the device's work is queued in; NULL on a CPU. Valid while the device is open. */
CT_API void *ct_device_stream(ct_device *device);
/* The device's later work waits for the work that `stream` holds now. */
CT_API ct_status ct_device_wait_stream(ct_device *device, void *stream);
/* The later work of `stream` waits for the work that the device has queued now. */
CT_API ct_status ct_stream_wait_device(void *stream, ct_device *device);

/* The structs of dlpack.h. Include that header to use their members. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Hands a view of t to another library, which calls the struct's deleter when it is done. t may be released
 * before that. The device must not be closed while the other library still computes. NULL with ct_message on
 * failure. */
CT_API struct DLManagedTensor *ct_to_dlpack(ct_tensor *t);
CT_API struct DLManagedTensorVersioned *ct_to_dlpack_versioned(ct_tensor *t);

/* Takes a tensor over without a copy. On success its deleter is called when the last view is gone; on failure
 * (NULL with ct_message) the struct stays the caller's. f64, f32, bf16, f16 or i64; strides of 0 or more;
 * memory of this device. */
CT_API ct_tensor *ct_from_dlpack(ct_device *device, struct DLManagedTensor *managed);
CT_API ct_tensor *ct_from_dlpack_versioned(ct_device *device, struct DLManagedTensorVersioned *managed);

CT_END_DECLS
#endif
