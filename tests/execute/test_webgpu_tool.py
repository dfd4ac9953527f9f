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
