"""Lists the trackers of components, with the headings of their own issue templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus

FACTS = ("cause", "expectation", "script", "versions", "severity", "searched")
"""What every issue states; the words in braces of a section. Beside these there are ``version`` (of the component),
``python``, ``system`` (of this machine, in one line), ``platform`` and ``architecture``."""


@dataclass(frozen=True, slots=True)
class IssueTracker:
    """The tracker in which issues of components are filed.

    Attributes:
        components: as targets spell them; a target's whole name (``torch:compile``) goes before its component.
        repository: at GitHub; empty if it is not known.
        template: file below ``.github/ISSUE_TEMPLATE``; empty if the repository has none.
        sections: headings of the template, and what is written under each, with facts in braces.
        prefix: of titles.
        marks: how a heading is written: ``### {}`` of forms, ``**{}**`` of many older templates.
    """

    components: tuple[str, ...]
    repository: str
    template: str
    sections: Mapping[str, str]
    prefix: str = ""
    marks: str = "### {}"

    def body(self, facts: Mapping[str, str]) -> str:
        """The template, filled in.

        Args:
            facts: Markdown by name.
        """
        return "\n\n".join(
            f"{self.marks.format(heading)}\n\n{text.format_map(facts)}" for heading, text in self.sections.items()
        )

    @property
    def form(self) -> str:
        """Address of the form for a new issue; empty if the repository is not known."""
        if not self.repository:
            return ""
        query = f"?template={quote_plus(self.template)}" if self.template else ""
        return f"https://github.com/{self.repository}/issues/new{query}"

    def search(self, words: str) -> str:
        """Address of a search of its issues, open and closed; empty if the repository is not known."""
        return f"https://github.com/{self.repository}/issues?q={quote_plus(words)}" if self.repository else ""


_NOTES = "{severity}\n\n{searched}"
_ALL = "{cause}\n\n{versions}"
_PLAIN = {
    "Describe the bug": _ALL,
    "To reproduce": "{script}",
    "Expected behavior": "{expectation}",
    "Environment": "{version}, Python {python}, {system}",
    "Additional context": _NOTES,
}

TRACKERS: tuple[IssueTracker, ...] = (
    IssueTracker(
        (
            "onnxruntime",
            "onnxruntime-saved",
            "onnxruntime-transformers",
            "onnxruntime-shapes",
            "onnxruntime-float16",
            "onnxruntime-quantization",
            "webgpu",
            "onnxruntime-openvino",
            "onnxruntime-node",
            "onnxruntime-web",
        ),
        "microsoft/onnxruntime",
        "08-general.yml",
        {
            "Describe the issue": "{cause}\n\n{expectation}\n\n{versions}\n\n{searched}",
            "To reproduce": "{script}",
            "Urgency": "{severity}",
            "Platform": "{platform}",
            "OS Version": "{system}",
            "ONNX Runtime Installation": "Released Package",
            "ONNX Runtime Version or Commit ID": "{version}",
            "ONNX Runtime API": "Python",
            "Architecture": "{architecture}",
            "Execution Provider": "Default CPU",
            "Execution Provider Library Version": "_No response_",
        },
    ),
    IssueTracker(
        ("reference", "onnx-version-converter", "onnx-compose", "onnx-inliner", "onnx-shape-inference"),
        "onnx/onnx",
        "bug.md",
        {
            "Is the issue related to model conversion?": "No.",
            "Describe the bug": _ALL,
            "System information": "- OS: {system}\n- ONNX version: {version}\n- Python version: {python}",
            "Reproduction instructions": "{script}",
            "Expected behavior": "{expectation}",
            "Notes": _NOTES,
        },
    ),
    IssueTracker(
        ("torch:compile",),
        "pytorch/pytorch",
        "pt2-bug-report.yml",
        {
            "🐛 Describe the bug": "{cause}\n\n{expectation}\n\n{versions}\n\n{severity}\n\n{searched}\n\n"
            "It was found by a fuzzer; what is accepted as a difference is bounded by the same program in float64.",
            "Error logs": "{script}",
            "Versions": "{version}, Python {python}, {system}; the output of `collect_env.py` goes here",
        },
    ),
    IssueTracker(
        ("torch", "torch-onnx"),
        "pytorch/pytorch",
        "bug-report.yml",
        {
            "🐛 Describe the bug": "{cause}\n\n{script}\n\n{expectation}\n\n{versions}\n\n{severity}\n\n{searched}",
            "Versions": "{version}, Python {python}, {system}; the output of `collect_env.py` goes here",
        },
    ),
    IssueTracker(
        ("tensorflow",),
        "tensorflow/tensorflow",
        "tensorflow_issue_template.yaml",
        {
            "Issue Type": "Bug",
            "Have you reproduced the bug with TF nightly?": "No",
            "Source": "binary",
            "Tensorflow Version": "{version}",
            "Custom Code": "Yes",
            "OS Platform and Distribution": "{system}",
            "Python version": "{python}",
            "Current Behaviour?": "{cause}\n\n{expectation}\n\n{versions}\n\n{severity}\n\n{searched}",
            "Standalone code to reproduce the issue": "{script}",
        },
    ),
    IssueTracker(
        ("openvino",),
        "openvinotoolkit/openvino",
        "bug.yml",
        {
            "OpenVINO Version": "{version}",
            "Operating System": "Other (Please specify in description)",
            "Device used for inference": "CPU",
            "Framework": "ONNX",
            "Issue description": "{cause}\n\n{expectation}\n\n{versions}\n\n{severity}\n\n{system}, Python {python}",
            "Step by step reproduction": "{script}",
            "Issue submission checklist": "{searched}",
        },
        prefix="[Bug]: ",
    ),
    IssueTracker(
        ("iree",),
        "iree-org/iree",
        "bug_report.yml",
        {
            "What happened?": "{cause}\n\n{expectation}\n\n{severity}",
            "Steps to reproduce your issue": "{script}",
            "What component(s) does this issue relate to?": "Compiler",
            "Version information": "{version}, Python {python}, {system}\n\n{versions}",
            "Additional context": "{searched}",
        },
    ),
    IssueTracker(
        ("keras", "keras-onnx"),
        "keras-team/keras",
        "00-bug-issue.md",
        {
            "System information": "{version}, Python {python}, {system}",
            "Describe the problem": "{versions}\n\n{severity}\n\n{searched}",
            "Describe the current behavior": "{cause}",
            "Describe the expected behavior": "{expectation}",
            "Standalone code to reproduce the issue": "{script}",
        },
        marks="**{}**.",
    ),
    IssueTracker(
        ("tf2onnx",),
        "onnx/tensorflow-onnx",
        "bug-performance-issue.md",
        {
            "Describe the bug": "{cause}\n\n{expectation}",
            "Urgency": "{severity}",
            "System information": "- OS: {system}\n- tf2onnx: {version}\n- Python: {python}\n\n{versions}",
            "To Reproduce": "{script}",
            "Additional context": "{searched}",
        },
        marks="**{}**",
    ),
    IssueTracker(
        ("onnxslim",),
        "inisis/OnnxSlim",
        "bug_report.md",
        {
            "Describe the bug": _ALL,
            "To Reproduce": "{script}",
            "Expected behavior": "{expectation}",
            "Environment:": "{version}, Python {python}, {system}",
            "Additional context": _NOTES,
        },
        marks="**{}**",
    ),
    IssueTracker(
        ("onnx-graphsurgeon",),
        "NVIDIA/TensorRT",
        "bug_report.md",
        {
            "Description": "{cause}\n\n{expectation}\n\n{severity}\n\n{searched}",
            "Environment": "onnx-graphsurgeon: {version}, no TensorRT and no GPU take part\n\n"
            "**Operating System + Version**: {system}\n**Python Version (if applicable)**: {python}\n\n{versions}",
            "Steps To Reproduce": "{script}",
        },
        marks="## {}",
    ),
    IssueTracker(("onnxsim",), "onnxsim/onnxsim", "", _PLAIN),
    IssueTracker(("onnx2torch",), "ENOT-AutoDL/onnx2torch", "", _PLAIN),
    IssueTracker(("onnxscript",), "microsoft/onnxscript", "", _PLAIN),
    IssueTracker(("onnxconverter-float16",), "microsoft/onnxconverter-common", "", _PLAIN),
    IssueTracker(("onnxoptimizer",), "onnx/optimizer", "", _PLAIN),
    IssueTracker(("opencv",), "opencv/opencv", "", _PLAIN),
    IssueTracker(("tract",), "sonos/tract", "", _PLAIN),
    IssueTracker(("mnn",), "alibaba/MNN", "", _PLAIN),
    IssueTracker(("ncnn",), "Tencent/ncnn", "", _PLAIN),
    IssueTracker(("tinygrad",), "tinygrad/tinygrad", "", _PLAIN),
    IssueTracker(("tvm",), "apache/tvm", "", _PLAIN),
    IssueTracker(("litert",), "google-ai-edge/LiteRT", "", _PLAIN),
    IssueTracker(("onnx2keras",), "gmalivenko/onnx2keras", "", _PLAIN),
    IssueTracker(("executorch",), "pytorch/executorch", "", _PLAIN),
    IssueTracker(("coremltools",), "apple/coremltools", "", _PLAIN),
    IssueTracker(("numpy",), "numpy/numpy", "", _PLAIN),
    IssueTracker(("jax",), "jax-ml/jax", "", _PLAIN),
)

UNKNOWN = IssueTracker((), "", "", _PLAIN)
"""For plug-ins and whatever has no line."""


def tracker_of(target: str) -> IssueTracker:
    """The tracker for faults of a target, ``UNKNOWN`` if it has no line.

    Args:
        target: its name, with a version or without: ``onnxruntime@1.20.1:all``.
    """
    component, _, variant = target.partition(":")
    component = component.partition("@")[0]
    for name in (f"{component}:{variant}", component):
        for tracker in TRACKERS:
            if name in tracker.components:
                return tracker
    return UNKNOWN
