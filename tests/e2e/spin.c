/* Lets the thread of a process that computes most compute for ever once the process gets SIGUSR2, as a kernel does that never ends: it
   goes on where the signal found it, and what it holds it keeps. No thread ends or is stopped, and all others go on. */

#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>

static volatile sig_atomic_t forever = 1;

static void spin(int number) {
    (void)number;
    setpriority(PRIO_PROCESS, 0, 19);
    while (forever) {
    }
}

__attribute__((constructor)) static void prepare(void) {
    struct sigaction action = {.sa_handler = spin};
    sigaction(SIGUSR2, &action, 0);
}
