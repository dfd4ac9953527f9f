"""What an oracle must know of operators: which of them jump, round to integers, saturate, draw or leave NaN open."""

from __future__ import annotations


def _ops(names: str) -> frozenset[str]:
    return frozenset(names.split())


JUMPS = _ops(
    """
    ArgMax ArgMin Bernoulli BitCast Ceil Equal Floor Greater GreaterOrEqual Hardmax If IsInf IsNaN Less
    LessOrEqual Loop MaxRoiPool Mod Multinomial NonMaxSuppression NonZero Not Range Round Shrink Sign
    ThresholdedRelu TopK Unique Where And Or Xor Scan
    """
)
"""Discontinuous in a floating-point input: a rounding error decides between distant results. (Cast to integers too.)"""

INDEX_OUTPUTS = frozenset({"MaxPool", "TopK", "Unique"})
"""Discontinuous only in their outputs after the first."""

ROUNDERS = _ops("Ceil Floor Round Mod")
"""Turn floats into whole numbers, so that results next to each other differ by one step."""

QUANTISERS = _ops(
    """
    QuantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul QLinearAdd QLinearMul QLinearSigmoid
    QLinearAveragePool QLinearGlobalAveragePool QLinearConcat QLinearLeakyRelu QGemm QAttention
    """
)
"""Round to integers of few bits; where the fraction is a half, components legitimately differ by one step."""

RANDOM = _ops("RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli")
"""Draw numbers, with generators that ONNX leaves open even where a seed is given."""

SHAPE_ONLY = frozenset({"Shape", "Size", "SequenceLength", "OptionalHasElement"})
"""Read the shape of their input, or whether there is one, so that values do not flow through them."""

DATA_SHAPED = _ops("Compress NonMaxSuppression NonZero Unique StringSplit StringNormalizer Loop If Scan Range")
"""The output shape depends on the elements of any input."""

SHAPE_INPUTS = _ops("Resize Upsample Expand Reshape Tile Pad Slice ConstantOfShape OneHot TopK Split SplitToSequence")
"""The output shape depends on the elements of their last inputs, which usually are constants."""

SATURATING = _ops(
    """
    Softmax LogSoftmax Sigmoid Tanh HardSigmoid Clip Erf Softsign Exp Hardmax Sign Greater GreaterOrEqual Less
    LessOrEqual Equal Relu Atan Not IsNaN IsInf Sin Cos
    """
)
"""What was added before them (a mask of -1e9) no longer shows its magnitude behind them."""

ADDITIVE = _ops("Add Sub Sum Mean Gemm Conv ConvTranspose LayerNormalization BatchNormalization Attention")
"""Add a constant to a computed value: the sum is rounded at the constant's magnitude."""

EXPLOSIVE = _ops(
    """
    Exp Pow ReduceProd ReduceSumSquare ReduceL2 ReduceLogSumExp ReduceLogSum Sinh Cosh Softplus CumProd Det Mish
    Gelu BiasGelu FastGelu QuickGelu Elu Celu Selu LpNormalization LpPool GlobalLpPool LRN Div Reciprocal
    """
)
"""May overflow inside from moderate inputs, depending on the formula that a component chose."""

EDGED = _ops(
    """
    Sqrt Log Div Reciprocal Pow Acos Asin Atanh Acosh Mod LpNormalization ReduceLogSum ReduceLogSumExp LogSoftmax
    BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization
    MeanVarianceNormalization
    """
)
"""Have an edge beyond which they give NaN or Inf: rounding decides on which side of it an input falls."""

SPECIAL_SAFE = _ops(
    """
    Abs Add Cast CastLike Concat Constant Cos DepthToSpace Div Exp Expand Flatten Gather GatherElements GatherND
    Identity IsInf IsNaN Log Mul Neg Pad Reshape Reciprocal ReverseSequence ScatterElements ScatterND Shape Sin
    Size Slice SpaceToDepth Split Sqrt Squeeze Sub Tanh Tile Transpose Trilu Unsqueeze Where
    """
)
"""IEEE 754 or plain copying prescribes what they do with NaN and Inf; for all others ONNX does not."""

COPYING = _ops(
    """
    Concat Constant ConstantOfShape DepthToSpace Dropout Expand Flatten Gather GatherElements GatherND Identity Pad
    Reshape ReverseSequence ScatterElements ScatterND Slice SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze
    Max Min Relu Neg Abs MaxPool GlobalMaxPool ReduceMax ReduceMin Cast CastLike OneHot Compress EyeLike
    """
)
"""Round nothing: what they give stood in their inputs, but for signs and constants."""

VANISHING = _ops("Exp Sigmoid Softmax Softplus Pow Gelu Mish Swish ReduceProd CumProd Erf")
"""Make subnormal numbers of ordinary ones."""

THROUGH_ONE = _ops(
    """
    Acosh Asinh Atanh Celu Elu GRU Gelu LSTM LogSoftmax Mish RNN ReduceLogSum ReduceLogSumExp
    Selu Sigmoid Sinh SoftmaxCrossEntropyLoss Softplus Swish Tanh
    """
)
"""Have small results of numbers near one, by their formulae (``exp(x) - 1``), or approximations of absolute error."""

HIDING = _ops(
    """
    ArgMax ArgMin Celu Clip DeformConv Elu Equal GRU GlobalMaxPool Greater GreaterOrEqual GridSample HardSigmoid
    HardSwish Hardmax LSTM LeakyRelu Less LessOrEqual LogSoftmax Max MaxPool Min PRelu QuantizeLinear
    DynamicQuantizeLinear RNN ReduceMax ReduceMin Relu Selu Shrink Sigmoid Sign Softmax Softplus ThresholdedRelu
    TopK Unique NonZero
    """
)
"""May answer NaN with a number, and ONNX does not say whether they do."""

RECURRENT = frozenset({"LSTM", "GRU", "RNN", "Scan", "Loop"})
"""Repeat their roundings for every step of the sequence."""

SUMMING = _ops(
    """
    MatMul Gemm Conv ConvTranspose Einsum LSTM GRU RNN Attention MultiHeadAttention ConvInteger MatMulInteger
    QLinearConv QLinearMatMul
    """
)
"""Sum products along an inner axis."""

CARRIERS = frozenset({"Identity", "Constant"})
"""Say nothing of a fault and so have no part in its signature."""
