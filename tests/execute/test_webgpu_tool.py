"""The file of the WebGPU provider: its device is opened before the first request."""

from __future__ import annotations

import pytest

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
