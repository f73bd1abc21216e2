/* Owns a wall clock that a test can step: preloaded, it adds the seconds written in the file
 * $WALL_SHIFT_FILE to CLOCK_REALTIME and leaves every other clock alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long shift_ns(void)
{
    const char *path = getenv("WALL_SHIFT_FILE");
    char text[64];
    ssize_t length;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (file < 0)
        return 0;
    length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    return (long long)(strtod(text, NULL) * 1e9);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long long nanoseconds;
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (result || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return result;
    nanoseconds = now->tv_sec * 1000000000LL + now->tv_nsec + shift_ns();
    now->tv_sec = nanoseconds / 1000000000LL;
    now->tv_nsec = nanoseconds % 1000000000LL;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result)
{
    struct timespec precise;

    clock_gettime(CLOCK_REALTIME, &precise);
    if (result)
        *result = precise.tv_sec;
    return precise.tv_sec;
}
