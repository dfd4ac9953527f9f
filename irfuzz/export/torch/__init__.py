"""A program enters, the source of an equivalent PyTorch module and its arrays leave."""

from irfuzz.export.torch.lowering import lower, lower_model
from irfuzz.export.torch.source import TorchSource

__all__ = ["TorchSource", "lower", "lower_model"]
