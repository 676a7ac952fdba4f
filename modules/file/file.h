/* Files that survive a crash: fsync'ed append, atomic replace, a lock that names its holder.
 * Paths and bytes are borrowed. Functions that return int give 0 (or a descriptor that is the
 * caller's), or -1 with errno, and leave nothing open or half made on failure. */
#ifndef RTL_FILE_H
#define RTL_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Opens for appending, making the file (with `mode`, its folder fsync'ed). */
int rtl_file_open_append(const char *path, mode_t mode);

/* Appends all of it and, unless lazy, fsyncs. On failure the file is cut back to what it was. */
int rtl_file_append(int fd, const void *bytes, size_t size, int lazy);

/* Replaces (or makes) the file in one step: after a crash it is the old one or the new one. If
 * lazy nothing is fsynced, and that holds for a death of the process, not for a power cut. */
int rtl_file_replace(const char *path, const void *bytes, size_t size, mode_t mode, int lazy);

/* Opens (makes) and locks the file for this process, without waiting. EWOULDBLOCK: another one
 * has it. On success the file holds `info`. Closing the descriptor unlocks. */
int rtl_file_lock(const char *path, const char *info, size_t size);

/* Empties and closes a lock. */
void rtl_file_unlock(int fd);

/* fsyncs the folder that holds `path`, so that its entry is on the disk. */
int rtl_file_sync_folder(const char *path);

#endif
