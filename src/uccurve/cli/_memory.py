"""Memory: how much of it a process may still take, by whoever limits it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

CGROUPS = ("memory.max", "memory/memory.limit_in_bytes")
USED = ("memory.current", "memory/memory.usage_in_bytes")


def room() -> int | None:
    """Bytes that this process may still take; None where the system does not tell.

    It is the minimum of what the machine has free, what its container may use and what the process was limited to.
    """
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    if found := re.search(r"MemAvailable:\s+(\d+) kB", _text("/proc/meminfo")):
        yield 1024 * int(found[1])
    elif hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit, used in zip(CGROUPS, USED, strict=True):
        most, now = (_text(f"/sys/fs/cgroup/{name}").strip() for name in (limit, used))
        if most.isdecimal() and now.isdecimal() and int(most) < 1 << 60:
            yield max(0, int(most) - int(now))
    if (address_space := _address_space()) is not None:
        yield address_space


def _address_space() -> int | None:
    """What is left of the address space that `ulimit -v` allows; None without such a limit."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    used = re.search(r"VmSize:\s+(\d+) kB", _text("/proc/self/status"))
    return max(0, most - 1024 * int(used[1])) if used else most


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
