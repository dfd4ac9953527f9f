"""Oracles: judge what several targets did with one program."""

from __future__ import annotations

from irfuzz.oracle.fault_signature import signature, title
from irfuzz.oracle.judge import judge
from irfuzz.oracle.judged_case import Case, Leaf
from irfuzz.oracle.measuring_judge import MeasuringJudge
from irfuzz.oracle.message_normalization import normalise_message
from irfuzz.oracle.numeric.perturbation import Rerun
from irfuzz.oracle.oracle_table import Oracle, oracles
from irfuzz.oracle.verdict import Symptom, Verdict

__all__ = [
    "Case",
    "Leaf",
    "MeasuringJudge",
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
