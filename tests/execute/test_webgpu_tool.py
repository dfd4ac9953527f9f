"""The file of the WebGPU provider: its device is opened before the first request and stays open, with its shaders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx.parser
import pytest

from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.target_table import describe

pytestmark = pytest.mark.backend


def test_its_device_is_opened_before_the_first_request_and_a_missing_one_is_one_line() -> None:
    pytest.importorskip("onnxruntime")
    from irfuzz.execute.workers.tools import webgpu

    if webgpu.PROVIDER in webgpu.onnxruntime.get_available_providers():
        webgpu.warm()
    else:
        with pytest.raises(RuntimeError, match="is built without WebGPU; install onnxruntime-webgpu"):
            webgpu.warm()


def test_what_it_says_it_lacks_is_a_gap_and_an_invalid_shader_is_none() -> None:
    pytest.importorskip("onnxruntime")
    from irfuzz.execute.workers.tools import webgpu

    said = "shader_helper.cc:401 GenerateSourceCode Program Cos requires f16 but the device does not support it."
    assert webgpu.GAP.search(said)
    assert webgpu.GAP.search("Conv3D does not support grouped convolution (group=2).")
    assert webgpu.GAP.search("MLDataType for: tensor(complex64) is not currently registered or supported")
    assert not webgpu.GAP.search("Type 'tensor(int4)' of input parameter (q) of operator (MemcpyFromHost) is invalid.")
    assert not webgpu.GAP.search('Failed to create a WebGPU compute pipeline: [Invalid ShaderModule "Pow"] is invalid')


@pytest.mark.parametrize(
    "said",
    [
        "Only bilinear/trilinear and bicubic modes are supported in Resize",
        "Only Conv2d or Conv1d are supported.",
        "Conv3D does not support grouped convolution (group=4).",
    ],
)
def test_what_the_provider_says_that_it_lacks_is_a_gap(said: str) -> None:
    pytest.importorskip("onnxruntime")
    from irfuzz.execute.workers.tools import webgpu

    assert webgpu.GAP.search(said)
    assert not webgpu.GAP.search("Size of X.shape()[axis:] == 2. Size of scale must match this. Got scale size of 1")


def test_a_node_that_no_provider_takes_is_a_gap_if_the_processor_has_no_kernel_either() -> None:
    pytest.importorskip("onnxruntime")
    from irfuzz.execute.workers.tools import webgpu

    assert webgpu.UNASSIGNED.search("Provider type for Cos node with name 'Cos_node_0' is not set.")
    text = '<ir_version: 8, opset_import: ["": 17]> g ({0}[2] x) => ({0}[2] y) {{ y = Elu (x) }}'
    single, double = (onnx.parser.parse_model(text.format(t)).SerializeToString() for t in ("float", "double"))
    assert webgpu.has_kernels(single)
    assert not webgpu.has_kernels(double)


def test_what_its_driver_compiles_outlives_its_workers_and_is_for_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRFUZZ_HOME", str(tmp_path))
    tools = [tool for tool in TOOL_ADAPTERS if tool.cache]
    assert [tool.component for tool in tools] == ["webgpu"]
    assert tools[0].allowed == (str(tmp_path / "compiled" / "webgpu"),)
    assert tools[0].env["MESA_SHADER_CACHE_DIR"] == tools[0].allowed[0]
    assert not any(tool.allowed for tool in TOOL_ADAPTERS if not tool.cache)


def test_lavapipe_gets_vectors_that_it_compiles_sooner_unless_the_user_says_how_wide_they_are() -> None:
    told = "import os, irfuzz.execute.workers.tools.webgpu; print(os.environ['LP_NATIVE_VECTOR_WIDTH'])"
    plain = {name: value for name, value in os.environ.items() if name != "LP_NATIVE_VECTOR_WIDTH"}
    pytest.importorskip("onnxruntime")
    for env, width in ((plain, "128"), ({**plain, "LP_NATIVE_VECTOR_WIDTH": "256"}, "256")):
        said = subprocess.run([sys.executable, "-c", told], env=env, capture_output=True, text=True, check=True)
        assert said.stdout.strip() == width


def test_the_device_stays_open_until_a_program_fails_on_it() -> None:
    there = [a.target for a in describe() if a.target.component == "webgpu" and not a.why_not]
    if not there:
        pytest.skip("no environment of onnxruntime-webgpu; irfuzz env add webgpu")
    script = Path(__file__).parent / "webgpu_device.py"
    said = subprocess.run([there[0].interpreter, script], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["ran open", "gap open", "fault closed", "ran open"]
