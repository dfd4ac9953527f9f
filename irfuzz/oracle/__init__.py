"""Oracles: judge what several targets did with one program."""

from __future__ import annotations

from irfuzz.oracle.case import Case, Leaf
from irfuzz.oracle.hearing import Hearing
from irfuzz.oracle.judge import judge
from irfuzz.oracle.message import normalise_message
from irfuzz.oracle.nudge import Rerun
from irfuzz.oracle.signature import signature, title
from irfuzz.oracle.table import Oracle, oracles
from irfuzz.oracle.types import Symptom, Verdict

__all__ = [
    "Case",
    "Hearing",
    "Leaf",
    "Oracle",
    "Rerun",
    "Symptom",
    "Verdict",
    "judge",
    "normalise_message",
    "oracles",
    "signature",
    "title",
]
