"""Runs ONNX models on ONNXRuntime under each requested set of session options.

Runs in the worker's interpreter: imports only the standard library, numpy and onnxruntime.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state  # pyright: ignore[reportAttributeAccessIssue]

from . import ort_pass_discovery
from .runs import Answer, Course, Failure, attempt, each, named

# Element types that numpy itself does not have. Their elements travel as raw bytes, packed as ONNX packs them.
RAW_TYPES = {
    "bfloat16": 16,
    "float8e4m3fn": 17,
    "float8e4m3fnuz": 18,
    "float8e5m2": 19,
    "float8e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "float4e2m1": 23,
    "float8e8m0": 24,
    "uint2": 25,
    "int2": 26,
}
BITS = {"bfloat16": 16, "uint4": 4, "int4": 4, "float4e2m1": 4, "uint2": 2, "int2": 2}
"""How wide their elements are, where it is not 8 bits."""

LEVELS = {
    "disabled": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "layout": "ORT_ENABLE_LAYOUT",
    "all": "ORT_ENABLE_ALL",
}

# Status NOT_IMPLEMENTED always means "no kernel". ONNXRuntime also reports a missing schema, opset or kernel variant
# under FAIL, INVALID_GRAPH and INVALID_ARGUMENT; only within those classes are its words looked at.
GAPS = {
    "InvalidGraph": re.compile(r"No Op registered for|is not a registered function/op|No opset import for domain"),
    "Fail": re.compile(
        r"is not a registered function/op|No Op registered for|ValidateOpsetForDomain|Unsupported model IR version"
        r"|(?i:not (currently |yet )?(registered or )?(supported|implemented)|unsupported)"
        r"|(?i:only supports?\b|only implements)"
    ),
    "InvalidArgument": re.compile(
        r"(?i:not (currently |yet )?(supported|implemented)|unsupported|Invalid tensor data type)"
    ),
    "RuntimeException": re.compile(
        r"(?i:not (currently |yet )?(supported|implemented)|unsupported)|does not support \w+ yet"
    ),
}
FOLDER = "session.model_external_initializers_file_folder_path"
"""Entry of a session's configuration: where the external data of a model are that came as bytes."""
MAPS_FROM = (1, 18)
"""The first version that is known to have it."""

BEHIND = {
    "CPUExecutionProvider": (),
    "CUDAExecutionProvider": ("CPUExecutionProvider",),
    "TensorrtExecutionProvider": ("CUDAExecutionProvider", "CPUExecutionProvider"),
}
"""Providers, and those that take what one of them has no kernel for."""

FELL_BACK = "the session fell back to another provider: the driver, CUDA, cuDNN or TensorRT could not be loaded"
"""What a session that does not start on its provider does, and says in its log alone."""

TF32_FROM = (1, 18)
"""The first version whose CUDA provider has the option."""

MEMORY = re.compile(r"bad_alloc|bad allocation|Failed to allocate memory", re.IGNORECASE)


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run one model.

    A run request has ``inputs`` (one ``{"name", "raw"?, "shape"?}`` for each array after the first, which is the
    model), ``folder`` (of its external data), ``keep`` (the session serves the next request for the same) and
    ``variants`` (session options; ``way``, one of ``ways/onnxruntime.py``; ``off``, passes to leave out; ``first``,
    passes to leave out when the model is optimised and saved, before it is optimised again; ``tell``, whether the
    status's ``passes`` are to be those that ``modified`` the model or all that are ``registered``; ``rules``, rewrite
    rules to look for among those). Each variant is run whatever became of those before it; the answer's ``runs`` has
    one status for each, and the arrays are their outputs, one after the other.
    """
    if request["do"] == "describe":
        return {**_describe(arrays, request.get("providers", ())), **_limits(request, arrays[1:])}, []
    model = bytes(arrays[0])
    settings = {} if "folder" not in request else {FOLDER: request["folder"]}
    keep = bool(request.get("keep"))
    feeds = list(zip(request["inputs"], arrays[1:]))  # noqa: B905 - Python 3.9
    return each(request["variants"], lambda place, options: _run(model, feeds, {**options, **settings}, place, keep))


@functools.cache
def open_device() -> str:
    """Load CUDA's libraries that other packages brought. Says nothing: whether they serve, the first session shows."""
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    return ""


def _describe(arrays: list[Any], asked: Sequence[str]) -> dict[str, Any]:
    """Version, which providers really start (probed with the model in ``arrays[0]``), and the levels there are."""
    providers: dict[str, str] = {}
    for name in asked:
        if name not in onnxruntime.get_available_providers():
            providers[name] = "not part of this build of onnxruntime"
            continue
        try:
            session = onnxruntime.InferenceSession(bytes(arrays[0]), _options({}), providers=[_with_options(name)])
        except Exception as error:  # noqa: BLE001 - whatever the provider raises is the answer
            providers[name] = _first_line(error)
            continue
        providers[name] = "" if session.get_providers()[0] == name else FELL_BACK
    return {
        "version": onnxruntime.__version__,
        "maps": tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= MAPS_FROM,
        "providers": providers,
        "levels": [k for k, v in LEVELS.items() if hasattr(onnxruntime.GraphOptimizationLevel, v)],
    }


def _limits(request: dict[str, Any], models: list[Any]) -> dict[str, int]:
    """The newest opset and IR version of which a model loads; the models follow the request's lists, newest first."""
    found: dict[str, int] = {}
    for key, numbers in (("opset", request["opsets"]), ("ir", request["irs"])):
        for number, model in zip(numbers, models):  # noqa: B905 - Python 3.9
            try:
                onnxruntime.InferenceSession(bytes(model), _options({}), providers=["CPUExecutionProvider"])
            except Exception as error:  # noqa: BLE001 - whatever it raises about the version is a no
                if not isinstance(error, state.NotImplemented):  # a version without kernels is known all the same
                    continue
            found[key] = number
            break
        models = models[len(numbers) :]
    return found


def _options(options: dict[str, Any]) -> Any:
    made = onnxruntime.SessionOptions()
    made.log_severity_level = 4
    made.intra_op_num_threads = 1
    made.inter_op_num_threads = 1
    made.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    # use_deterministic_compute stays at its default: setting it selects other kernels than users get.
    made.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[options.get("level", "all")])
    for key, value in options.items():
        if key.startswith("session."):
            made.add_session_config_entry(key, str(value))
    return made


def _with_options(provider: str) -> Any:
    """A provider as a session takes it, with what is declared of its arithmetic: no TF32 for float32."""
    tuned = provider == "CUDAExecutionProvider" and tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= TF32_FROM
    return (provider, {"use_tf32": "0"}) if tuned else provider


_KEPT: dict[str, Any] = {}
"""The last session, if the request after it is to find it: ``of`` (model and options), ``session`` and ``told``."""


def _run(model: bytes, feeds: list[Any], options: dict[str, Any], place: int, keep: bool) -> Answer:
    provider = options.get("provider", "CPUExecutionProvider")
    providers = [_with_options(name) for name in (provider, *BEHIND[provider])]
    course = Course(place, "compile")
    told: list[str] = []

    def compute() -> Answer:
        level = LEVELS[options.get("level", "all")]
        if not hasattr(onnxruntime.GraphOptimizationLevel, level):
            raise _NotCarried(f"onnxruntime {onnxruntime.__version__} has no optimisation level {level}")
        if "way" in options:
            from .ways import onnxruntime as ways  # a file that findings take along

            given = {about["name"]: None if "raw" in about else value for about, value in feeds}
            found = ways.run(options["way"], model, given, _options(options), providers)
            course.stage = "run"
            return named(found)
        session = _kept_session(_optimised(model, options, providers), options, providers, told, keep)
        if session.get_providers()[0] != provider:
            raise _NotCarried(f"{provider} did not start")
        session.disable_fallback()
        course.at("run")
        names, values = _compute(session, feeds)
        return {"outputs": names}, values

    def failed(error: Exception, _stage: str) -> Failure:
        if isinstance(error, (_NotCarried, NotImplementedError)):
            return Failure("unsupported", str(error))
        said = f"{type(error).__name__}: {_first_line(error)}"
        return Failure(_classify(error), said, str(error)[:4000])

    status, values = attempt(course, compute, failed)
    return ({**status, "passes": told} if told else status), values


def _kept_session(model: bytes, options: dict[str, Any], providers: list[str], told: list[str], keep: bool) -> Any:
    """The session of the request before, or a new one; never two at once, for each may hold a copy of all weights."""
    kept = dict(_KEPT)
    _KEPT.clear()
    if kept and kept["of"] == (model, options):
        session = kept["session"]
        told += kept["told"]
    else:
        kept.clear()
        session = _session(model, options, providers, told)
    if keep:
        _KEPT.update(of=(model, options), session=session, told=list(told))
    return session


def _optimised(model: bytes, options: dict[str, Any], providers: list[str]) -> bytes:
    """The model as ``first`` leaves it; itself if nothing is to be done first."""
    if "first" not in options:
        return model

    def begin(given: bytes, made: Any) -> Any:
        return onnxruntime.InferenceSession(
            given, made, providers=providers, disabled_optimizers=_names(options, "first")
        )

    return ort_pass_discovery.saved(model, begin, _options(options))


def _session(model: bytes, options: dict[str, Any], providers: list[str], told: list[str]) -> Any:
    """A session; ``told`` gets the names of passes that ``tell`` asks for. Names that it does not know it ignores."""
    off, rules = _names(options, "off"), _names(options, "rules")

    def begin(without: Sequence[str], made: Any) -> Any:
        return onnxruntime.InferenceSession(model, made, providers=providers, disabled_optimizers=[*without])

    def options_again() -> Any:
        return _options(options)

    tell = options.get("tell")
    given = _options(options)
    if not tell:
        return begin(off, given)
    if tell == "registered":
        told += ort_pass_discovery.registered(begin, options_again, off, rules)
        return begin(off, given)
    given.log_severity_level = 1
    session = ort_pass_discovery.logged(lambda: begin(off, given), told, ort_pass_discovery.MODIFIED)
    if rules and any(ort_pass_discovery.RULES.fullmatch(name) for name in told):
        known = _names(options, "other_rules")
        told += ort_pass_discovery.fired_rules(begin, options_again, [*off, *known], rules)
    return session


def _names(options: dict[str, Any], key: str) -> list[str]:
    return [name for name in str(options.get(key, "")).split(",") if name]


class _NotCarried(Exception):
    """onnxruntime's Python interface cannot pass such a value."""


def _compute(session: Any, feeds: list[Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    outputs = session.get_outputs()
    raw_out = [_raw_type(o.type) for o in outputs]
    if not any(raw_out) and not any("raw" in about for about, _ in feeds):
        values = session.run(None, {about["name"]: value for about, value in feeds})
        return [{"name": o.name} for o in outputs], values
    made = {}
    for about, value in feeds:
        name = about["name"]
        if "raw" in about:
            if not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
                raise _NotCarried(
                    f"the Python interface of onnxruntime {onnxruntime.__version__} cannot feed {name!r}, "
                    "a tensor of a type that numpy lacks"
                )
            # The tensor borrows this memory: a packed type needs fewer bytes than it has elements, never more.
            buffer = np.zeros(about["shape"], np.dtype(about["unit"]))
            flat = buffer.reshape(-1).view(np.uint8)
            flat[: value.size] = value.reshape(-1)
            made[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(buffer, about["raw"])
        elif isinstance(value, np.ndarray) and value.dtype != object:
            made[name] = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value).reshape(value.shape))
        else:
            raise _NotCarried(
                f"onnxruntime's Python interface cannot feed {name!r} (string, sequence or optional) to a model "
                "that also takes or gives a tensor of a type numpy lacks"
            )
    names: list[dict[str, Any]] = []
    values = []
    for output, kind, value in zip(outputs, raw_out, session.run_with_ort_values(None, made)):  # noqa: B905
        if kind is None:
            names.append({"name": output.name})
            values.append(value.numpy())
        elif output.type != f"tensor({kind})":
            raise _NotCarried(
                f"onnxruntime's Python interface cannot read output {output.name!r} of type {output.type}"
            )
        else:
            size = -(-functools.reduce(operator.mul, value.shape(), 1) * BITS.get(kind, 8) // 8)
            data = ctypes.string_at(value.data_ptr(), size) if size else b""
            names.append({"name": output.name, "raw": RAW_TYPES[kind], "shape": list(value.shape())})
            values.append(np.frombuffer(data, np.uint8))
    return names, values


def _raw_type(text: str) -> str | None:
    """The element type in ONNXRuntime's spelling of a type, if numpy lacks it."""
    inner = text[text.rfind("(") + 1 :].rstrip(")")
    return inner if inner in RAW_TYPES else None


def _classify(error: Exception) -> str:
    text = str(error)
    if MEMORY.search(text):
        return "memory"
    if isinstance(error, state.NotImplemented):
        return "unsupported"
    for name, pattern in GAPS.items():
        if isinstance(error, getattr(state, name)) and pattern.search(text):
            return "unsupported"
    return "rejected"


_FUNCTION = re.compile(r"(\.(?:cc|h):\d+) (?:[\w:<>,&*]+ )?\w[\w:~]*::[\w~]+\((?:[^()]|\([^()]*\))*\)(?: const)?(?= )")
"""The C++ function behind a place in ONNXRuntime's source, often longer than what it says."""


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return _FUNCTION.sub(r"\1", lines[0])[:500] if lines else ""
