"""A clock that jumps: what programs take for the time of day is ahead, or behind, by as much as a file says.

A library that is loaded before the C library's gives every process of a job the wrong time, Java's too;
what measures how long something takes goes on evenly. It is compiled where it is needed, by gcc.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_VARIABLE: Final = "PENSTOCK_CRASH_CLOCK"
_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile int64_t *ahead;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    real = dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("PENSTOCK_CRASH_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *place = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (place != MAP_FAILED) ahead = place;
}

static int64_t jump(void) { return ahead ? *ahead : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *place) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (place) *place = found.tv_sec;
    return found.tv_sec;
}
"""


def can_jump() -> bool:
    """Whether there is a compiler for the library."""
    return shutil.which("gcc") is not None


class Clock:
    """The clock of the processes that have its environment.

    Args:
        folder: Where its library and its file are put.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = folder / "clock.so"
        (folder / "clock.c").write_text(_SOURCE)
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", "-o", self._library, folder / "clock.c", "-ldl"],
            check=True,
        )
        self.jump(0)

    @property
    def environment(self) -> Mapping[str, str]:
        """What processes must have in their environment."""
        return {"LD_PRELOAD": str(self._library), _VARIABLE: str(self._file)}

    def jump(self, seconds: int) -> None:
        """Be ahead of the true time, or behind if it is negative."""
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, struct.pack("=q", seconds), 0)
        os.close(descriptor)
