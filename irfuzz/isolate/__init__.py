"""Runs components under test in worker processes, which may crash, hang or eat memory without harming irfuzz.

A component may do anything to the process that it runs in, and a new process for each request would be slow, because
the import of a framework takes far longer than most requests. So a worker has two processes. A zygote imports the
component once and runs none of its code; a fork of it, the child, answers requests until it dies, and then the zygote
forks another one in milliseconds. The zygote runs nothing, because a fork after TensorFlow has run an operator hangs.
docs/isolation.md has the limits and how they are kept.

What every file relies on:

* ``Worker.call`` returns a ``Reply`` for every request, however the child ended. ``Reply.exit`` is the way: ``ok``,
  ``error``, ``crash``, ``exited``, ``hang``, ``memory`` or ``protocol``. It raises ``StartError`` only if no request
  could ever work.
* Nothing is pickled. Values travel as frames of JSON and raw bytes, and a length is checked before memory is taken.
* The files that run on the other side (``zygote``, ``child``, ``sandbox``, ``transport``, ``linux``, ``line_tracer``,
  ``folder_removal``) need only Python 3.7, and numpy at most; they are loaded by path, since the component's
  interpreter has no irfuzz.
* Time is measured by the parent, without what the child waited for a processor, so that a busy machine makes no hangs.
* All processes end with irfuzz, also after ``kill -9``. A worker belongs to one thread of one process.
* If a reply comes with ``served > 0``, an earlier request may be the cause; ``fresh=True`` asks a new child.

The way through the files:

* ``worker_spec_and_reply`` has what callers give and get: ``WorkerSpec``, ``Limits``, ``Reply``, ``Value``.
* ``worker`` is the class that callers use; ``worker_pool`` has several of them by name.
* ``zygote_client`` starts a zygote and forks children; ``zygote`` and ``child`` are the two processes themselves.
* ``child_connection`` exchanges frames and watches memory; ``request_deadline`` says until when, on a busy machine,
  and ``transport`` encodes frames.
* ``exit_classification`` makes a ``Reply`` of what happened; ``output_log`` keeps what the child printed, and
  ``printed_output`` what other processes do.
* ``stray_processes`` ends what outlives a zygote that was killed, in processes that adopt orphans, as jobs do.
* ``scratch_folder`` makes folders that are removed with the process that holds them, or by the next campaign;
  ``scratch_quota`` empties them once too much is left there, and ``folder_removal`` removes whatever is in them.
* ``sandbox`` takes network, home and files from a process as far as the kernel allows; ``sandbox_report`` tells what
  holds here, and has what the user leaves to workers.
* ``linux`` has the system calls that Python lacks, ``guard`` runs a whole command so that all of its processes end with
  it, and ``line_tracer`` counts lines of Python code that run for the first time.

To add a way in which a child can end, add it to ``ExitKind`` and to ``exit_classification``, with a handler in
``tests/isolate/handlers`` that ends so, and decide in ``irfuzz/execute/reply_parsing.py`` what it means for a target.
To add a limit, add a field to ``Limits``; the parent keeps it in ``child_connection`` or the child sets it for itself.
To run a new component, write a handler file and a ``WorkerSpec``; nothing changes here.

Do not import irfuzz, or syntax of a newer Python, into a file that a worker runs: ``tests/isolate/test_old_python.py``
checks that. Do not trust a size that a child reports. docs/security.md says what a child may still do to the user.
"""

from __future__ import annotations

from irfuzz.isolate.transport import Tagged
from irfuzz.isolate.worker import Worker
from irfuzz.isolate.worker_pool import WorkerPool
from irfuzz.isolate.worker_spec_and_reply import ExitKind, Limits, Reply, StartError, Value, WorkerSpec

__all__ = ["ExitKind", "Limits", "Reply", "StartError", "Tagged", "Value", "Worker", "WorkerPool", "WorkerSpec"]
