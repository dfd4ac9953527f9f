"""Networks on what is no picture: sound by STFT, text by strings, graphs by scatters, integers by quantisation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from . import quantization, untrained
from .graph import Graph
from .seed import Input, Seed


def audio() -> Seed:
    """Logarithmic mel energies, normalised over time, and two convolutions along time."""
    g = Graph("audio", 60)
    length, step, frame, mels = 640, 64, 128, 16
    sound = g.input("sound", np.float32, [1, length])
    signal = g.node("Unsqueeze", "signal/Unsqueeze", [sound, g.constant("last_axis", np.array([2]))])
    size = g.constant("frame.length", np.array(frame))
    window = g.node("HannWindow", "window/HannWindow", [size])
    waves = g.node("STFT", "waves/STFT", [signal, g.constant("frame.step", np.array(step)), window, size], onesided=1)
    power = g.node("ReduceSumSquare", "power/ReduceSumSquare", [waves], axes=[3], keepdims=0)
    edges = [g.constant("mel.low", np.array(60.0)), g.constant("mel.high", np.array(3800.0))]
    counts = [g.constant("mel.count", np.array(mels)), size, g.constant("mel.rate", np.array(8000)), *edges]
    mel = g.node("MatMul", "mel/MatMul", [power, g.node("MelWeightMatrix", "mel/MelWeightMatrix", counts)])
    x = g.node("Log", "mel/Log", [g.node("Add", "mel/Add", [mel, g.constant("mel.floor", np.array(1e-3))])])
    x = g.node("MeanVarianceNormalization", "mel/MeanVarianceNormalization", [x], axes=[1])
    x = g.node("Transpose", "mel/Transpose", [x], perm=[0, 2, 1])
    x = g.node("Relu", "conv1/Relu", [g.conv("conv1", x, mels, 16, 3, axes=1)])
    x = g.node("Relu", "conv2/Relu", [g.conv("conv2", x, 16, 16, 3, axes=1, dilations=[2], pads=[2, 2])])
    x = g.node("ReduceMax", "pool/ReduceMax", [x], axes=[2], keepdims=0)
    g.output(g.dense("head", x, 16, 8, output="scores"), np.float32, [1, 8])
    rng = np.random.default_rng(60)
    time = np.arange(length) / 8000
    tones = [
        np.sin(2 * np.pi * np.cumsum(rng.uniform(100, 3000) * (1 + rng.uniform(-8, 8) * time)) / 8000) for _ in "abcdef"
    ]
    sounds = 0.5 * np.stack(tones) + rng.normal(0, 0.05, (6, length))
    return untrained.by_hand(
        "audio",
        "Audio front end: HannWindow, STFT, MelWeightMatrix, logarithm, convolutions along time",
        "Davis, Mermelstein: Comparison of Parametric Representations for Monosyllabic Word Recognition, 1980",
        g.model(),
        {"sound": np.clip(sounds, -1, 1).astype(np.float32)[:, None]},
        [Input("sound", -1.0, 1.0, "a twelfth of a second at 8 kHz")],
        ["score of each word"],
    )


_VOCABULARY = ("good", "bad", "film", "very", "not", "plot", "dull", "great", "a", "ab", "neural", "0", "-1.5", "nan")
_PAIRS = (("not", "good"), ("very", "dull"), ("great", "film"), ("bad", "plot"), ("a", "a"), ("0", "nan"))
_TEXTS = (
    "The film was NOT good a plot",
    "A great film and a very GOOD plot",
    "very dull the bad plot was 0",
    "Neural ab films not good the 0 nan",
)


def text() -> Seed:
    """Words in lower case without the most common ones, weighted counts of words and pairs, a dense layer."""
    g = Graph("text", 61)
    words = g.input("words", str, ["words"])
    kept = g.node(
        "StringNormalizer",
        "words/StringNormalizer",
        [words],
        "kept",
        case_change_action="LOWER",
        is_case_sensitive=0,
        stopwords=["the", "and", "was"],
        locale="C",
    )
    pool = [*_VOCABULARY, *(word for pair in _PAIRS for word in pair)]
    count = len(_VOCABULARY) + len(_PAIRS)
    counts = g.node(
        "TfIdfVectorizer",
        "counts/TfIdfVectorizer",
        [kept],
        mode="TFIDF",
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=0,
        ngram_counts=[0, len(_VOCABULARY)],
        ngram_indexes=list(range(count)),
        pool_strings=pool,
        weights=[round(1 + 0.25 * (i % 5), 2) for i in range(count)],
    )
    x = g.node(
        "LpNormalization", "counts/LpNormalization", [g.node("Add", "counts/Add", [counts, g.bias("prior", count)])]
    )
    x = g.node("MatMul", "head/MatMul", [x, g.weight("head.weight", count, 3, inputs=4)])
    g.output(g.node("Add", "head/Add", [x, g.bias("head.bias", 3)], "scores"), np.float32, [3])
    g.output(kept, str, ["kept"])
    split = [text.split() for text in _TEXTS]
    return untrained.by_hand(
        "text",
        "Text classifier: StringNormalizer, TfIdfVectorizer over words and pairs of words, named number of words",
        "Spärck Jones: A Statistical Interpretation of Term Specificity and its Application in Retrieval, 1972",
        g.model(),
        {"words": np.array([words[:7] for words in split])},
        [Input("words", None, None, "words of a text")],
        ["score of each opinion", "the words that were counted"],
        fit=False,
    )


def graph_network() -> Seed:
    """Two layers in which every node sums what its neighbours send, weighted by their degrees."""
    g = Graph("graph_network", 62)
    nodes, before, width = 10, 6, 12
    features = g.input("features", np.float32, [nodes, before])
    edges = g.input("edges", np.int64, [2, "edges"])
    source = g.node("Gather", "edges/Gather", [edges, g.constant("source_row", np.array(0))])
    target = g.node("Gather", "edges/Gather_1", [edges, g.constant("target_row", np.array(1))])
    count = g.node("Shape", "edges/Shape", [source])
    ones = g.node("Expand", "edges/Expand", [g.constant("one", np.array(1.0)), count])
    degree = g.node(
        "ScatterElements",
        "degree/ScatterElements",
        [g.constant("loops", np.ones(nodes)), target, ones],
        reduction="add",
    )
    scale = g.node("Reciprocal", "degree/Reciprocal", [g.node("Sqrt", "degree/Sqrt", [degree])])
    ends = [g.node("Gather", f"weight/Gather_{i}", [scale, end]) for i, end in enumerate((source, target))]
    column = g.constant("last_axis", np.array([1]))
    weight = g.node("Unsqueeze", "weight/Unsqueeze", [g.node("Mul", "weight/Mul", ends), column])
    places = g.node("Unsqueeze", "target/Unsqueeze", [target, column])
    own = g.node("Unsqueeze", "degree/Unsqueeze", [g.node("Reciprocal", "degree/Reciprocal_1", [degree]), column])
    x = features
    for name, wide, activation in (("layer1", width, "Relu"), ("layer2", 4, None)):
        x = g.dense(name, x, before, wide)
        sent = g.node("Mul", f"{name}/Mul", [g.node("Gather", f"{name}/Gather", [x, source]), weight])
        kept = g.node("Mul", f"{name}/Mul_1", [x, own])
        output = None if activation else "scores"
        x = g.node("ScatterND", f"{name}/ScatterND", [kept, places, sent], output, reduction="add")
        x = g.node(activation, f"{name}/{activation}", [x]) if activation else x
        before = wide
    g.output(x, np.float32, [nodes, 4])
    rng = np.random.default_rng(62)
    return untrained.by_hand(
        "graph_network",
        "Graph convolution: sums over a named number of edges by ScatterElements and ScatterND with addition",
        "Kipf, Welling: Semi-Supervised Classification with Graph Convolutional Networks, 2017, equation 2",
        g.model(),
        {
            "features": rng.standard_normal((6, 1, nodes, 6)).astype(np.float32)[:, 0],
            "edges": rng.integers(0, nodes, (6, 2, 24)),
        },
        [
            Input("features", -4.0, 4.0, "properties of each node"),
            Input("edges", 0, nodes - 1, "where each edge starts (first row) and ends (second)"),
        ],
        ["score of each class for each node"],
    )


def quantized_mlp() -> Seed:
    """Three dense layers, one in each form of quantisation that ONNX has."""
    g = Graph("quantized_mlp", 63)
    widths = (16, 24, 20, 10)
    x = g.input("x", np.float32, ["batch", widths[0]])
    rng = np.random.default_rng(63)
    real = [rng.standard_normal((b, a)) / np.sqrt(b) for b, a in pairwise(widths)]
    weights = [quantization.weight(w, per_channel=False) for w in real]
    zero = g.constant("zero", np.array(0, np.int8))
    names = ("first", "second", "third")
    held = [g.constant(f"{n}.weight", w.integers) for n, w in zip(names, weights, strict=True)]
    scales = [g.constant(f"{n}.weight.scale", w.scale) for n, w in zip(names, weights, strict=True)]

    input_q = [g.constant("x.scale", np.array(2.0**-6)), g.constant("x.zero_point", np.array(128, np.uint8))]
    first_q = [g.constant("first.scale", np.array(2.0**-6)), g.constant("first.zero_point", np.array(96, np.uint8))]
    x = g.node("QuantizeLinear", "x/QuantizeLinear", [x, *input_q])
    x = g.node("QLinearMatMul", "first/QLinearMatMul", [x, *input_q, held[0], scales[0], zero, *first_q])
    x = g.node("DequantizeLinear", "first/DequantizeLinear", [x, *first_q])
    x = g.node("LeakyRelu", "first/LeakyRelu", [x], alpha=0.25)

    second = g.node("DequantizeLinear", "second.weight/DequantizeLinear", [held[1], scales[1], zero])
    bias = g.constant("second.bias", np.rint(64 * 0.2 * rng.standard_normal(widths[2])) / 64)
    x = g.node("Relu", "second/Relu", [g.node("Gemm", "second/Gemm", [x, second, bias])])
    second_q = [g.constant("second.scale", np.array(2.0**-5)), g.constant("second.zero_point", np.array(-128, np.int8))]
    x = g.node("QuantizeLinear", "second/QuantizeLinear", [x, *second_q])
    x = g.node("DequantizeLinear", "second/DequantizeLinear", [x, *second_q])

    made = ["third_quantized", "third_scale", "third_zero_point"]
    g.many("DynamicQuantizeLinear", "third/DynamicQuantizeLinear", [x], made)
    x = g.node("MatMulInteger", "third/MatMulInteger", [made[0], held[2], made[2], zero])
    x = g.node("Cast", "third/Cast", [x], to=1)
    x = g.node("Mul", "third/Mul", [x, g.node("Mul", "third/Mul_1", [made[1], scales[2]])])
    g.output(g.node("Add", "third/Add", [x, g.bias("third.bias", widths[3])], "scores"), np.float32, ["batch", 10])
    drawn = np.rint(256 * rng.uniform(-1, 1, (6, 1, widths[0]))) / 256
    return untrained.by_hand(
        "quantized_mlp",
        "Quantised dense layers: QLinearMatMul, Q/DQ pairs around Gemm, DynamicQuantizeLinear with MatMulInteger",
        "Jacob et al.: Quantization and Training of Neural Networks for Integer-Arithmetic-Only Inference, 2018",
        g.model(),
        {"x": drawn.astype(np.float32)},
        [Input("x", -1.0, 1.0, "any signal")],
        ["score of each class"],
        fit=False,
    )
