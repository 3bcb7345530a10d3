/* Lets the wall clock of one process jump: SECONDS of IXBENCH_TEST_STEP_S are added to it, and taken away again, every
   IXBENCH_TEST_STEP_EVERY_S. What the kernel stamps on received bytes jumps along, as it would with the clock of the machine. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

static int (*real_clock)(clockid_t, struct timespec *);
static ssize_t (*real_recvmsg)(int, struct msghdr *, int);
static time_t step, every;
static struct timespec begun;

__attribute__((constructor)) static void prepare(void) {
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    real_recvmsg = dlsym(RTLD_NEXT, "recvmsg");
    step = atol(getenv("IXBENCH_TEST_STEP_S"));
    every = atol(getenv("IXBENCH_TEST_STEP_EVERY_S"));
    real_clock(CLOCK_MONOTONIC, &begun);
}

static time_t offset(void) {
    struct timespec now;
    real_clock(CLOCK_MONOTONIC, &now);
    return ((now.tv_sec - begun.tv_sec) / every) % 2 ? step : 0;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    int code = real_clock(clock, found);
    if (clock == CLOCK_REALTIME) found->tv_sec += offset();
    return code;
}

int gettimeofday(struct timeval *found, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
    ssize_t count = real_recvmsg(socket, message, flags);
    if (count < 0) return count;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS && part->cmsg_len >= CMSG_LEN(sizeof(struct timespec))) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
            stamp.tv_sec += offset();
            memcpy(CMSG_DATA(part), &stamp, sizeof stamp);
        }
    }
    return count;
}
