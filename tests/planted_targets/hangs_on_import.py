"""A module that never comes back when it is imported, and hears no signal, as one that waits in C does."""

import ctypes

_library = ctypes.PyDLL(None)  # calls keep the interpreter's lock
_mutex = ctypes.create_string_buffer(64)
_library.pthread_mutex_init(_mutex, None)
for _ in range(2):
    _library.pthread_mutex_lock(_mutex)


class Target:
    """Never reached."""
