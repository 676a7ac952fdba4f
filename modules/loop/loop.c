#include "loop/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUND = 64 };
static const int64_t NEVER = -1;
static const int64_t SECOND = 1000000000;

/* A token is its slot's index + 1 in the low half and the slot's generation in the high half, so
 * that a stale token never means the slot's next owner. */
enum slot_state { FREE, LIVE, ENDED };
struct slot {
  uint32_t generation;
  uint32_t next; /* index + 1 in the free list or in the queue of posted tokens */
  uint8_t state, posted;
};

struct rtl_loop {
  int epoll, clock, sigchld;
  struct rtl_watch on_clock, on_sigchld;
  int64_t clock_at; /* what the timerfd is set to; 0: nothing */

  struct slot *slots;
  uint32_t capacity, free, first_posted, last_posted;

  struct rtl_timer *timers; /* by time */
  struct rtl_child *children;
  int look_at_children;

  struct epoll_event round[ROUND]; /* what is being handed out */
  int round_size;

  struct rtl_loop_live live;
  size_t posted;
};

static struct rtl_loop the_loop = {.epoll = -1, .clock = -1, .sigchld = -1};

/* ---- tokens ---- */

static struct slot *slot_of(struct rtl_loop *loop, uint64_t token) {
  uint32_t index = (uint32_t)token;
  if (index == 0 || index > loop->capacity) {
    return NULL;
  }
  struct slot *slot = &loop->slots[index - 1];
  return slot->generation == (uint32_t)(token >> 32) ? slot : NULL;
}

static int more_slots(struct rtl_loop *loop) {
  uint32_t capacity = loop->capacity == 0 ? 16 : loop->capacity * 2;
  struct slot *slots = realloc(loop->slots, capacity * sizeof *slots);
  if (slots == NULL) {
    return -1;
  }
  for (uint32_t i = capacity; i-- > loop->capacity;) {
    slots[i] = (struct slot){.generation = 1, .next = loop->free};
    loop->free = i + 1;
  }
  loop->slots = slots;
  loop->capacity = capacity;
  return 0;
}

uint64_t rtl_loop_new_token(struct rtl_loop *loop) {
  if (loop->free == 0 && more_slots(loop) != 0) {
    return 0;
  }
  uint32_t index = loop->free;
  struct slot *slot = &loop->slots[index - 1];
  loop->free = slot->next;
  slot->next = 0;
  slot->state = LIVE;
  loop->live.tokens++;
  return (uint64_t)slot->generation << 32 | index;
}

static void post_slot(struct rtl_loop *loop, uint32_t index) {
  struct slot *slot = &loop->slots[index - 1];
  if (slot->posted) {
    return;
  }
  slot->posted = 1;
  slot->next = 0;
  if (loop->first_posted == 0) {
    loop->first_posted = index;
  } else {
    loop->slots[loop->last_posted - 1].next = index;
  }
  loop->last_posted = index;
  loop->posted++;
}

void rtl_loop_post(struct rtl_loop *loop, uint64_t token) {
  struct slot *slot = slot_of(loop, token);
  if (slot != NULL && slot->state == LIVE) {
    post_slot(loop, (uint32_t)token);
  }
}

void rtl_loop_end_token(struct rtl_loop *loop, uint64_t token) {
  struct slot *slot = slot_of(loop, token);
  if (slot != NULL && slot->state == LIVE) {
    slot->state = ENDED;
    loop->live.tokens--;
    post_slot(loop, (uint32_t)token);
  }
}

uint64_t rtl_loop_take(struct rtl_loop *loop) {
  uint32_t index = loop->first_posted;
  if (index == 0) {
    return 0;
  }
  struct slot *slot = &loop->slots[index - 1];
  uint64_t token = (uint64_t)slot->generation << 32 | index;
  loop->first_posted = slot->next;
  loop->posted--;
  slot->posted = 0;
  slot->next = 0;
  if (slot->state == ENDED) {
    slot->state = FREE;
    slot->generation++;
    slot->next = loop->free;
    loop->free = index;
  }
  return token;
}

/* ---- descriptors ---- */

static int poll_watch(struct rtl_loop *loop, struct rtl_watch *watch, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = watch};
  int operation = events == 0 ? EPOLL_CTL_DEL : watch->polled ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (events == 0 && !watch->polled) {
    return 0;
  }
  if (epoll_ctl(loop->epoll, operation, watch->fd, &event) != 0 && events != 0) {
    return -1;
  }
  watch->polled = events != 0;
  return 0;
}

/* Takes what the round still holds for this watch out of it. */
static void drop_from_round(struct rtl_loop *loop, const struct rtl_watch *watch) {
  for (int i = 0; i < loop->round_size; i++) {
    if (loop->round[i].data.ptr == watch) {
      loop->round[i].data.ptr = NULL;
    }
  }
}

int rtl_loop_watch(struct rtl_loop *loop, struct rtl_watch *watch) {
  watch->polled = 0;
  if (poll_watch(loop, watch, watch->events) != 0) {
    return -1;
  }
  watch->watched = 1;
  loop->live.watches++;
  return 0;
}

int rtl_loop_rewatch(struct rtl_loop *loop, struct rtl_watch *watch, uint32_t events) {
  if (watch->events == events) {
    return 0;
  }
  if (poll_watch(loop, watch, events) != 0) {
    return -1;
  }
  watch->events = events;
  if (events == 0) {
    drop_from_round(loop, watch);
  }
  return 0;
}

void rtl_loop_unwatch(struct rtl_loop *loop, struct rtl_watch *watch) {
  if (!watch->watched) {
    return;
  }
  poll_watch(loop, watch, 0);
  watch->watched = 0;
  loop->live.watches--;
  drop_from_round(loop, watch);
}

/* ---- timers: a list by time, since C holds only a handful ---- */

int64_t rtl_loop_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * SECOND + now.tv_nsec;
}

void rtl_loop_timer_clear(struct rtl_loop *loop, struct rtl_timer *timer) {
  if (!timer->set) {
    return;
  }
  if (timer->previous != NULL) {
    timer->previous->next = timer->next;
  } else {
    loop->timers = timer->next;
  }
  if (timer->next != NULL) {
    timer->next->previous = timer->previous;
  }
  timer->set = 0;
  loop->live.timers--;
}

void rtl_loop_timer_set(struct rtl_loop *loop, struct rtl_timer *timer, int64_t at_ns) {
  rtl_loop_timer_clear(loop, timer);
  struct rtl_timer *before = NULL;
  struct rtl_timer *after = loop->timers;
  while (after != NULL && after->at_ns <= at_ns) {
    before = after;
    after = after->next;
  }
  timer->at_ns = at_ns;
  timer->previous = before;
  timer->next = after;
  *(before != NULL ? &before->next : &loop->timers) = timer;
  if (after != NULL) {
    after->previous = timer;
  }
  timer->set = 1;
  loop->live.timers++;
}

/* Fires what is due at the start of the round; a timer set again for now waits for the next. */
static void fire_timers(struct rtl_loop *loop) {
  int64_t now = loop->timers != NULL ? rtl_loop_now() : 0;
  while (loop->timers != NULL && loop->timers->at_ns <= now) {
    struct rtl_timer *timer = loop->timers;
    rtl_loop_timer_clear(loop, timer);
    timer->fire(timer);
  }
}

/* ---- children ---- */

static void on_signal_child(int signal_number) {
  (void)signal_number;
  int saved = errno;
  eventfd_write(the_loop.sigchld, 1);
  errno = saved;
}

static void on_sigchld(struct rtl_watch *watch, uint32_t events) {
  (void)events;
  struct rtl_loop *loop = watch->data;
  eventfd_t drained;
  eventfd_read(watch->fd, &drained);
  loop->look_at_children = 1;
}

void rtl_loop_child_watch(struct rtl_loop *loop, struct rtl_child *child) {
  child->previous = NULL;
  child->next = loop->children;
  if (child->next != NULL) {
    child->next->previous = child;
  }
  loop->children = child;
  child->watched = 1;
  loop->look_at_children = 1; /* it may have ended before it was watched */
  loop->live.children++;
}

void rtl_loop_child_forget(struct rtl_loop *loop, struct rtl_child *child) {
  if (!child->watched) {
    return;
  }
  if (child->previous != NULL) {
    child->previous->next = child->next;
  } else {
    loop->children = child->next;
  }
  if (child->next != NULL) {
    child->next->previous = child->previous;
  }
  child->watched = 0;
  loop->live.children--;
}

/* One callback a walk, since it may change the list; SIGCHLD says only that some child ended. */
static int reap_one(struct rtl_loop *loop) {
  for (struct rtl_child *child = loop->children; child != NULL; child = child->next) {
    int status = 0;
    pid_t pid = waitpid(child->pid, &status, WNOHANG);
    if (pid == child->pid || (pid < 0 && errno == ECHILD)) {
      rtl_loop_child_forget(loop, child);
      child->exited(child, status);
      return 1;
    }
  }
  return 0;
}

static void reap(struct rtl_loop *loop) {
  if (loop->look_at_children) {
    loop->look_at_children = 0;
    while (reap_one(loop)) {
    }
  }
}

/* ---- the round ---- */

static void on_clock(struct rtl_watch *watch, uint32_t events) {
  (void)events;
  struct rtl_loop *loop = watch->data;
  uint64_t expirations;
  if (read(watch->fd, &expirations, sizeof expirations) > 0) {
    loop->clock_at = 0;
  }
}

/* epoll's own time-out stops while the machine sleeps; a timerfd on CLOCK_BOOTTIME does not. One
 * that is set for an earlier moment stays: it wakes the loop once for nothing, and requests one
 * after another move what they wait for ahead each time. */
static void set_clock(struct rtl_loop *loop, int64_t at_ns) {
  if (at_ns == NEVER || (loop->clock_at != 0 && loop->clock_at <= at_ns)) {
    return;
  }
  struct itimerspec when = {{0, 0}, {at_ns / SECOND, at_ns % SECOND}};
  timerfd_settime(loop->clock, TFD_TIMER_ABSTIME, &when, NULL);
  loop->clock_at = at_ns;
}

/* The moment until which this round may sleep: 0 not at all, NEVER for ever. */
static int64_t sleep_until(const struct rtl_loop *loop, int64_t timeout_ns) {
  if (timeout_ns == 0 || loop->posted > 0 || loop->look_at_children) {
    return 0;
  }
  int64_t now = rtl_loop_now();
  int64_t at = timeout_ns < 0 || timeout_ns > INT64_MAX - now ? NEVER : now + timeout_ns;
  if (loop->timers != NULL && (at == NEVER || loop->timers->at_ns < at)) {
    at = loop->timers->at_ns;
  }
  return at != NEVER && at <= now ? 0 : at;
}

size_t rtl_loop_wait(struct rtl_loop *loop, int64_t timeout_ns) {
  int64_t at = sleep_until(loop, timeout_ns);
  if (at != 0) {
    set_clock(loop, at);
  }
  int count = epoll_wait(loop->epoll, loop->round, ROUND, at == 0 ? 0 : -1);
  loop->round_size = count < 0 ? 0 : count;
  for (int i = 0; i < loop->round_size; i++) {
    struct rtl_watch *watch = loop->round[i].data.ptr;
    if (watch != NULL) {
      watch->ready(watch, loop->round[i].events);
    }
  }
  loop->round_size = 0;
  reap(loop);
  fire_timers(loop);
  return loop->posted;
}

struct rtl_loop_live rtl_loop_live(const struct rtl_loop *loop) {
  return loop->live;
}

/* ---- the one loop ---- */

static void close_all(struct rtl_loop *loop) {
  int *descriptors[] = {&loop->epoll, &loop->clock, &loop->sigchld};
  for (size_t i = 0; i < 3; i++) {
    if (*descriptors[i] >= 0) {
      close(*descriptors[i]);
      *descriptors[i] = -1;
    }
  }
}

static int open_all(struct rtl_loop *loop) {
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  loop->clock = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  loop->sigchld = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (loop->epoll < 0 || loop->clock < 0 || loop->sigchld < 0) {
    return -1;
  }
  loop->on_clock = (struct rtl_watch){loop->clock, EPOLLIN, on_clock, loop, 0, 0};
  loop->on_sigchld = (struct rtl_watch){loop->sigchld, EPOLLIN, on_sigchld, loop, 0, 0};
  if (rtl_loop_watch(loop, &loop->on_clock) != 0 || rtl_loop_watch(loop, &loop->on_sigchld) != 0) {
    return -1;
  }
  loop->live.watches = 0; /* these two don't count */
  struct sigaction action = {.sa_handler = on_signal_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
  sigemptyset(&action.sa_mask);
  return sigaction(SIGCHLD, &action, NULL);
}

struct rtl_loop *rtl_loop_default(void) {
  if (the_loop.epoll < 0 && open_all(&the_loop) != 0) {
    int saved = errno;
    close_all(&the_loop);
    errno = saved;
    return NULL;
  }
  return &the_loop;
}
