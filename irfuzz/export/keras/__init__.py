"""A program enters, the source of an equivalent functional Keras model and its arrays leave."""

from functools import partial

from irfuzz.export.keras.framework import KERAS
from irfuzz.export.source import lowering
from irfuzz.export.source.module import ModuleSource

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(lowering.lower, KERAS)
lower_model = partial(lowering.lower_model, KERAS)
