"""Targets that answer wrongly in one way each; as far as irfuzz knows independent of each other."""

from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator


class Right:
    """Computes as the reference does."""

    version = '1.0 """ \\ `x`\nimport os'

    def run(self, model, inputs):
        evaluator = ReferenceEvaluator(onnx.load_from_string(model))
        outputs = dict(zip(evaluator.output_names, evaluator.run(None, inputs), strict=True))
        return {name: self.change(value) for name, value in outputs.items()}

    def change(self, value):
        return value


class Off(Right):
    """Numbers, truth values and strings are others, deep inside sequences too."""

    def change(self, value):
        if isinstance(value, list):
            return [*value[:-1], self.change(value[-1])]
        value = np.array(value)
        if value.dtype.kind in "OUS":
            value = value.astype(object)
            value[(-1,) * value.ndim] = "wrong\n'''\"\"\""
        elif value.dtype.kind == "b":
            value[(-1,) * value.ndim] ^= True
        else:
            value[(-1,) * value.ndim] += 100
        return value


class ThirdOff(Off):
    """Wrong at its third call."""

    calls = 0

    def change(self, value):
        self.calls += 1
        return super().change(value) if self.calls == 3 else value


class Nan(Right):
    def change(self, value):
        value = np.array(value)
        value[(-1,) * value.ndim] = np.nan
        return value


class LosesTheLargest(Right):
    """Gives 1.4 whatever it is asked."""

    def change(self, value):
        return np.full_like(np.asarray(value), 1.4)


class Doubles(Right):
    def change(self, value):
        return np.asarray(value, np.float64)


class Flat(Right):
    def change(self, value):
        return np.ravel(value)


class NoOutput(Right):
    """Leaves the last output out."""

    def run(self, model, inputs):
        outputs = super().run(model, inputs)
        outputs.popitem()
        return outputs


class Refuses(Right):
    def run(self, model, inputs):
        raise ValueError('no """ \\ `thanks`\n| <b>')


class NeedsMore(Right):
    """Needs a package that nobody has."""

    def run(self, model, inputs):
        import a_package_that_is_not_there  # noqa: F401

        return {}


class Mended(Off):
    """Wrong where the file that stands for its version says so."""

    def change(self, value):
        return super().change(value) if Path(__file__).with_name("is_wrong").exists() else value
