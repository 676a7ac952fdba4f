/* The process's one event loop: descriptors, timers, children and tokens, on epoll.
 *
 * A module that waits for something owns a watch, a timer or a child record (plain structs inside
 * its own object), and a token for the Lua side to wait on. Its callbacks run inside
 * rtl_loop_wait(); they do their work in C, post the token and return. They never call Lua, and
 * they may watch, unwatch, set, clear, post and end anything, also what is due in the same round.
 *
 * Functions that return int give 0, or -1 with errno. All pointers are borrowed: a watch, timer or
 * child stays the caller's memory and must outlive its unwatch/clear/forget. */
#ifndef RTL_LOOP_H
#define RTL_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rtl_loop;

/* The loop, made on first use; NULL (errno set) when the system refuses its descriptors. */
struct rtl_loop *rtl_loop_default(void);

/* ---- tokens: what a Lua task waits on ---- */

/* A new token, never 0; 0 when there is no memory. Room to post it is reserved here, so that
 * posting can't fail. */
uint64_t rtl_loop_new_token(struct rtl_loop *loop);

/* Says that the token's owner may have something to take. Idempotent until the next wait has
 * handed it out. Unknown and ended tokens are ignored. */
void rtl_loop_post(struct rtl_loop *loop, uint64_t token);

/* The owner is closed: posts once more, so that a waiting task looks and finds it closed, and frees
 * the token. 0 and ended tokens are ignored. */
void rtl_loop_end_token(struct rtl_loop *loop, uint64_t token);

/* ---- descriptors ---- */

struct rtl_watch {
  int fd;                                            /* one watch a descriptor */
  uint32_t events;                                   /* EPOLLIN, EPOLLOUT; level-triggered */
  void (*ready)(struct rtl_watch *watch, uint32_t events);
  void *data;
  int watched, polled;                               /* the loop's; start with 0 */
};

int rtl_loop_watch(struct rtl_loop *loop, struct rtl_watch *watch);

/* Changes the events of a watch; with 0 nothing comes, not even EPOLLERR and EPOLLHUP. */
int rtl_loop_rewatch(struct rtl_loop *loop, struct rtl_watch *watch, uint32_t events);

/* Call it before closing the descriptor. Idempotent. `ready` is not called after it, not even for
 * an event of the round that is being handed out. */
void rtl_loop_unwatch(struct rtl_loop *loop, struct rtl_watch *watch);

/* ---- timers, on CLOCK_BOOTTIME: they go on while the machine sleeps ---- */

struct rtl_timer {
  int64_t at_ns;
  void (*fire)(struct rtl_timer *timer);                     /* cleared already when called */
  void *data;
  struct rtl_timer *next, *previous;                         /* the loop's */
  int set;                                                   /* the loop's; start with 0 */
};

/* Nanoseconds of CLOCK_BOOTTIME now. */
int64_t rtl_loop_now(void);

/* Sets or moves a timer. */
void rtl_loop_timer_set(struct rtl_loop *loop, struct rtl_timer *timer, int64_t at_ns);
void rtl_loop_timer_clear(struct rtl_loop *loop, struct rtl_timer *timer);

/* ---- children ---- */

struct rtl_child {
  pid_t pid;
  void (*exited)(struct rtl_child *child, int wait_status);  /* reaped and forgotten when called */
  void *data;
  struct rtl_child *next, *previous;                         /* the loop's */
  int watched;                                               /* the loop's; start with 0 */
};

/* Reaps this child when it ends; no other pid is ever waited for. */
void rtl_loop_child_watch(struct rtl_loop *loop, struct rtl_child *child);

/* Idempotent. The child is not reaped by the loop after it. */
void rtl_loop_child_forget(struct rtl_loop *loop, struct rtl_child *child);

/* ---- one round ---- */

/* Waits until something is due, at most `timeout_ns` (negative: for ever), and runs the callbacks
 * of that round. Returns at once when tokens are posted already. A signal ends it early, and so may
 * a timer that is no more.
 * Returns the number of posted tokens. */
size_t rtl_loop_wait(struct rtl_loop *loop, int64_t timeout_ns);

/* Takes one posted token, in order of posting; 0 when there is none. */
uint64_t rtl_loop_take(struct rtl_loop *loop);

/* What is in use now (for leak checks; the loop's own descriptors don't count). */
struct rtl_loop_live {
  size_t tokens, watches, timers, children;
};
struct rtl_loop_live rtl_loop_live(const struct rtl_loop *loop);

#endif
