/* The wall clock of one process, off by the seconds in the file that STEPPED_CLOCK names.

   cc -shared -fPIC -o stepped_clock.so stepped_clock.c -ldl; LD_PRELOAD=… STEPPED_CLOCK=file

   Clocks that never step (CLOCK_MONOTONIC and the like) are left alone, as a real step leaves them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile long *offset;

__attribute__((constructor)) static void open_offset(void)
{
    const char *name = getenv("STEPPED_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *found = file < 0 ? MAP_FAILED : mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    offset = found == MAP_FAILED ? 0 : found;
}

static long seconds(void) { return offset ? *offset : 0; }

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += seconds();
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    static int (*real)(struct timeval *, void *);
    if (!real)
        real = dlsym(RTLD_NEXT, "gettimeofday");
    int result = real(now, zone);
    if (!result)
        now->tv_sec += seconds();
    return result;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
