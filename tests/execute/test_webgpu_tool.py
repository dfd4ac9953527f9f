"""The file of the WebGPU provider: its device is opened before the first request and stays open, with its shaders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_a_driver_without_half_precision_is_a_gap_and_an_invalid_shader_is_none() -> None:
    pytest.importorskip("onnxruntime")
    from irfuzz.execute.workers.tools import webgpu

    said = "shader_helper.cc:401 GenerateSourceCode Program Cos requires f16 but the device does not support it."
    assert webgpu.GAP.search(said)
    assert not webgpu.GAP.search('Failed to create a WebGPU compute pipeline: [Invalid ShaderModule "Pow"] is invalid')


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
