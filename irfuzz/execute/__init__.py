"""Runs programs on targets and reports what each did with them.

A target is one way to run a program: a component (ONNXRuntime, PyTorch, a converter), its version, its interpreter, a
device and options. Components crash, hang and eat memory, they need other interpreters and other inputs, and they take
between a millisecond and seconds. With a ``Runner`` nobody has to care: it takes a program and inputs, and returns one
``RunResult`` for each target.

What every file relies on:

* No component is imported in this process. ``target_table`` only looks for packages; files in ``workers`` run in the
  component's own interpreter and import nothing of irfuzz, which ``tests/test_house.py`` checks.
* Each component has one worker for each interpreter, in a process of its own and with one thread, and its slow targets
  have another one. More threads make small models ten times slower on a busy machine, and float sums unrepeatable.
* ``Runner.run`` gives one result a target, in the order of the targets, whatever happened. All targets of a component
  travel in one request; if its process dies or hangs, they run again one by one, so that one of them costs no other its
  result.
* ``Exit`` is how a run ended, and ``Stage`` how far it came. ``UNSUPPORTED`` is a gap that the component itself names,
  ``REJECTED`` an error of its own, and the others are ends of a process.
* A value is an array, a list (a sequence) or ``None`` (an empty optional); a map is two tensors.
* Nothing here judges: who is right is the question of ``irfuzz/oracle``.

The way through the files:

* ``run_types`` has ``Target``, ``RunResult``, ``Stage``, ``Exit`` and ``TargetRole``.
* ``target_table`` turns names into targets and lists the adapters (``BUILT_IN``). ``adapters`` has one adapter a
  component, which makes requests; ``workers`` answers them.
* ``reply_parsing`` makes results of a worker's reply, ``request_batching`` sends several requests together,
  ``component_worker`` has the thread that waits for one worker, and ``runner`` puts them together.
* ``float64_shadow_runs`` runs a program in float64 with made-up rounding errors, for the numeric oracle.
* ``intermediate_values`` reads inner values, and checks that reading them changed no output.
* ``quickest_installed_runtime`` is the quickest runtime as a callable; ``large_model_limits`` raises limits with the
  weights.
* ``onnxruntime_passes`` lists the passes of ONNXRuntime's optimiser; ``line_traced_packages`` decides which Python
  code is watched for lines.
* ``versions`` builds and lists environments with other versions of components.

To add a component, write a worker file (``workers/reference.py`` is the shortest), an adapter, and a line in
``BUILT_IN``: a ``ModelAdapter`` if the component takes ONNX bytes, a ``SourceAdapter`` if it runs generated source.
``STAGES`` gets a line if it goes through other stages than import, convert and run. A converter or tool is a file in
``workers/tools`` and a line in ``adapters/tool_table.py``. A way to run a component again is in
``adapters/alternative_runs.py`` and ``workers/ways``. Add its version and a run of it to ``tests/execute``, a row to
docs/targets.md, and a runner to ``irfuzz/report/repro_scripts`` so that findings replay. A user's own runtime is a
class with one method and needs no change here (docs/extending.md).

Do not interpret a component's outputs, and do not retry what failed until it succeeds. Do not call a gap what the
component does not call one itself. Do not use a ``Runner`` from several threads.
"""
