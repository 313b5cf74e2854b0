/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system calls that move data, so that a test can make them misbehave as the kernel may; and
 * what the kernel knows of others. */
#ifndef TT_BASE_SYS_H
#define TT_BASE_SYS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

ssize_t tt_sys_pwritev(int fd, const struct iovec *iov, int n, off_t offset);
ssize_t tt_sys_preadv(int fd, const struct iovec *iov, int n, off_t offset);

/* The next data call of this thread is interrupted (EINTR), or moves only about half of its bytes.
 */
void tt_sys_arm_eintr(void);
void tt_sys_arm_short(void);
/* Forget it, in case no data call was made. */
void tt_sys_disarm(void);

/* All bytes, though the system may move them in parts. The number that was read, which is less than
 * n only at the end of the file, or -1 and errno; 0 or an errno. */
ssize_t tt_sys_read_at(int fd, void *to, size_t n, off_t offset);
int tt_sys_write_at(int fd, const void *from, size_t n, off_t offset);

/* Whether any process, as far as this user can see, has a file mapped whose path holds this. */
bool tt_sys_is_mapped(const char *file);

/* Renames, never over what somebody has put there, where the file system can tell. -1, and errno.
 */
int tt_sys_move(const char *from, const char *to);
/* Syncs the directory that the path is in: its name is durable. 0 or an errno. */
int tt_sys_sync_name(const char *path);

/* Removes a directory that mkdtemp() made, which nobody else may enter, with all that is in it. */
void tt_sys_remove_private(const char *directory);

#endif
