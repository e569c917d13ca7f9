/* A disk that fails now and then: preloaded into a process, it lets some of the calls fail that write to files below
 * one folder. Every other file is left alone.
 *
 *   HEADISH_FAULT_FOLDER   the folder; without it nothing fails
 *   HEADISH_FAULT_EVERY    one call in so many fails
 *   HEADISH_FAULT_SEED     another seed, other calls
 *   HEADISH_FAULT_REPORT   a file that grows by one byte for each fault
 *
 * A fault is EIO, ENOSPC, or half a write. Linux: /proc says which file a descriptor is of.
 * cc -shared -fPIC -O1 -o faults.so faults.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fault { NONE, NO_SPACE, FAILED, SHORT };

static const char *folder, *report;
static size_t folder_length;
static uint64_t every, seed;
static atomic_uint_fast64_t calls;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("HEADISH_FAULT_EVERY");
    every = text ? strtoull(text, NULL, 10) : 0;
    text = getenv("HEADISH_FAULT_SEED");
    seed = text ? strtoull(text, NULL, 10) : 0;
    folder = getenv("HEADISH_FAULT_FOLDER");
    folder_length = folder ? strlen(folder) : 0;
    report = getenv("HEADISH_FAULT_REPORT");
}

/* The same for a seed and a number, on every run. */
static uint64_t mix(uint64_t number)
{
    number = (number + seed * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 31)) * 0x94d049bb133111ebu;
    return number ^ (number >> 29);
}

static int is_watched(int descriptor)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > (ssize_t)folder_length && !memcmp(path, folder, folder_length) && path[folder_length] == '/';
}

static ssize_t (*real_write(void))(int, const void *, size_t)
{
    static ssize_t (*found)(int, const void *, size_t);
    if (!found)
        found = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return found;
}

static void tell(void)
{
    int file = report ? open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (file < 0)
        return;
    if (real_write()(file, ".", 1) < 0) {
        /* The count is then one too low. */
    }
    close(file);
}

static enum fault draw(int descriptor)
{
    if (!folder || !every || !is_watched(descriptor))
        return NONE;
    uint64_t drawn = mix(atomic_fetch_add(&calls, 1) + 1);
    if (drawn % every)
        return NONE;
    tell();
    return 1 + (drawn / every) % 3;
}

static int fails(int descriptor)
{
    enum fault fault = draw(descriptor);
    if (fault != NONE)
        errno = fault == NO_SPACE ? ENOSPC : EIO;
    return fault != NONE;
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    enum fault fault = draw(descriptor);
    if (fault == SHORT && size > 1)
        size /= 2;
    else if (fault != NONE) {
        errno = fault == NO_SPACE ? ENOSPC : EIO;
        return -1;
    }
    return real_write()(descriptor, data, size);
}

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int descriptor, const void *data, size_t size, offset_type offset)                                    \
    {                                                                                                                  \
        static ssize_t (*real)(int, const void *, size_t, offset_type);                                                \
        if (!real)                                                                                                     \
            real = (ssize_t(*)(int, const void *, size_t, offset_type))dlsym(RTLD_NEXT, #name);                        \
        enum fault fault = draw(descriptor);                                                                           \
        if (fault == SHORT && size > 1)                                                                                \
            size /= 2;                                                                                                 \
        else if (fault != NONE) {                                                                                      \
            errno = fault == NO_SPACE ? ENOSPC : EIO;                                                                  \
            return -1;                                                                                                 \
        }                                                                                                              \
        return real(descriptor, data, size, offset);                                                                   \
    }

#define SYNC(name)                                                                                                     \
    int name(int descriptor)                                                                                           \
    {                                                                                                                  \
        static int (*real)(int);                                                                                       \
        if (!real)                                                                                                     \
            real = (int (*)(int))dlsym(RTLD_NEXT, #name);                                                              \
        return fails(descriptor) ? -1 : real(descriptor);                                                              \
    }

#define TRUNCATE(name, offset_type)                                                                                    \
    int name(int descriptor, offset_type size)                                                                         \
    {                                                                                                                  \
        static int (*real)(int, offset_type);                                                                          \
        if (!real)                                                                                                     \
            real = (int (*)(int, offset_type))dlsym(RTLD_NEXT, #name);                                                 \
        return fails(descriptor) ? -1 : real(descriptor, size);                                                        \
    }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
SYNC(fsync)
SYNC(fdatasync)
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)
