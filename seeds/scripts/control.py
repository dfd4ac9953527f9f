"""Networks with graphs inside: an early exit (If), a greedy decoder (Loop), a Kalman filter and a CRF (Scan), bags."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from . import images, untrained
from .graph import Graph
from .seed import Input, Seed

VOCABULARY = 20


def early_exit() -> Seed:
    g = Graph("early_exit", 50)
    image = g.input("image", np.float32, [1, 1, 16, 16])
    stem = g.node("Relu", "stem/Relu", [g.conv("stem", image, 1, 8, 3, strides=[2, 2])])
    pooled = g.node("GlobalAveragePool", "exit/GlobalAveragePool", [stem])
    first = g.dense("exit", g.node("Flatten", "exit/Flatten", [pooled]), 8, 10)
    sure = g.node(
        "ReduceMax", "sure/ReduceMax", [g.node("Softmax", "sure/Softmax", [first], axis=1)], "sure", keepdims=0
    )
    leave = g.node("Greater", "sure/Greater", [sure, g.constant("sure.least", np.array(0.4))])

    stop = Graph("stop")
    stop.output(stop.node("Identity", "stop/Identity", [first]), np.float32, [1, 10])
    go = Graph("go")
    weights = [g.weight("deep.weight", 16, 8, 3, 3, gain=1.4), g.bias("deep.bias", 16)]
    x = go.node("Conv", "deep/Conv", [stem, *weights], kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    x = go.node("GlobalMaxPool", "deep/GlobalMaxPool", [go.node("Relu", "deep/Relu", [x])])
    head = [g.weight("head.weight", 10, 16), g.bias("head.bias", 10)]
    x = go.node("Gemm", "head/Gemm", [go.node("Flatten", "head/Flatten", [x]), *head], transB=1)
    go.output(x, np.float32, [1, 10])
    g.node("If", "exit/If", [leave], "scores", then_branch=stop.graph(), else_branch=go.graph())
    g.output("scores", np.float32, [1, 10])
    g.output(sure, np.float32, [])
    return untrained.by_hand(
        "early_exit",
        "Early exit: where the first classifier is sure its scores are the answer, otherwise a deeper one's (If)",
        "Teerapittayanon, McDanel, Kung: BranchyNet: Fast Inference via Early Exiting from Deep Neural Networks, 2016",
        g.model(),
        {"image": images.gratings(8, (1, 16, 16), 50)},
        [Input("image", 0.0, 1.0, "brightness")],
        ["score of each class", "how sure the first classifier is"],
        kept=8,
    )


def greedy() -> Seed:
    """A GRU cell written out, fed with its own best token until that is the end or eight are there."""
    g = Graph("greedy", 51)
    width, steps = 16, 8
    features = g.input("features", np.float32, [1, 12])
    start = g.dense("start", features, 12, width, "Tanh")
    embedding = g.weight("embedding", VOCABULARY, width, inputs=1)
    gates = [g.weight(f"{n}.weight", width, 2 * width, gain=1.5) for n in ("reset", "update", "candidate")]
    biases = [g.bias(f"{n}.bias", width) for n in ("reset", "update", "candidate")]
    head = [g.weight("head.weight", VOCABULARY, width, gain=3.0), g.bias("head.bias", VOCABULARY)]
    one = g.constant("one", np.array(1.0))
    end = g.constant("end", np.array([0]))

    b = Graph("step")
    b.input("step_number", np.int64, [])
    b.input("go_on", np.bool_, [])
    hidden, token = b.input("hidden", np.float32, [1, width]), b.input("token", np.int64, [1])
    x = b.node("Gather", "step/Gather", [embedding, token])
    both = b.node("Concat", "step/Concat", [x, hidden], axis=1)
    reset, update = (
        b.node("Sigmoid", f"{n}/Sigmoid", [b.node("Gemm", f"{n}/Gemm", [both, w, c], transB=1)])
        for n, w, c in zip(("reset", "update"), gates[:2], biases[:2], strict=True)
    )
    kept = b.node("Concat", "candidate/Concat", [x, b.node("Mul", "candidate/Mul", [reset, hidden])], axis=1)
    candidate = b.node("Gemm", "candidate/Gemm", [kept, gates[2], biases[2]], transB=1)
    candidate = b.node("Tanh", "candidate/Tanh", [candidate])
    old = b.node("Mul", "update/Mul", [update, hidden])
    new = b.node("Mul", "update/Mul_1", [b.node("Sub", "update/Sub", [one, update]), candidate])
    hidden = b.node("Add", "update/Add", [old, new], "next_hidden")
    scores = b.node("LogSoftmax", "head/LogSoftmax", [b.node("Gemm", "head/Gemm", [hidden, *head], transB=1)], axis=1)
    token = b.node("ArgMax", "head/ArgMax", [scores], "next_token", axis=1, keepdims=0)
    best = b.node("ReduceMax", "head/ReduceMax", [scores], "best_score", axes=[1], keepdims=0)
    same = b.node("Squeeze", "step/Squeeze", [b.node("Equal", "step/Equal", [token, end])])
    b.output(b.node("Not", "step/Not", [same], "still_going"), np.bool_, [])
    b.output(hidden, np.float32, [1, width])
    b.output(token, np.int64, [1])
    b.output(b.node("Identity", "step/Identity", [token], "said"), np.int64, [1])
    b.output(best, np.float32, [1])

    first = g.constant("first", np.array([1]))
    limits = [g.constant("steps", np.array(steps)), g.constant("true", np.ones((), bool))]
    outputs = ["last_hidden", "last_token", "tokens", "scores"]
    g.many("Loop", "decode/Loop", [*limits, start, first], outputs, body=b.graph())
    total = g.node("ReduceSum", "total/ReduceSum", ["scores"], "score", keepdims=0)
    g.output("tokens", np.int64, ["said", 1])
    g.output(total, np.float32, [])
    features_drawn = np.random.default_rng(51).standard_normal((8, 1, 12)).astype(np.float32)
    return untrained.by_hand(
        "greedy",
        "Greedy decoder: a gated cell fed with its own best token in a Loop that ends early, scan outputs",
        "Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder, 2014, section 2.3",
        g.model(),
        {"features": 2 * features_drawn},
        [Input("features", -6.0, 6.0, "what the decoder shall describe")],
        ["the best token of each step", "sum of their logarithmic probabilities"],
        kept=8,
    )


def kalman() -> Seed:
    """Position and velocity from noisy positions; covariances are carried along."""
    g = Graph("kalman", 52)
    seen = g.input("seen", np.float32, ["steps", 1])
    noise = g.input("noise", np.float32, [1, 1])
    move = g.constant("move", np.array([[1.0, 1.0], [0.0, 1.0]]))
    look = g.constant("look", np.array([[1.0, 0.0]]))
    drift = g.constant("drift", np.array([[0.05, 0.0], [0.0, 0.05]]))
    unit = g.constant("unit", np.eye(2))

    b = Graph("update")
    state, spread = b.input("state", np.float32, [2, 1]), b.input("spread", np.float32, [2, 2])
    value = b.input("value", np.float32, [1])
    ahead = b.node("MatMul", "predict/MatMul", [move, state])
    moved = b.node("MatMul", "predict/MatMul_1", [move, spread])
    moved = b.node("MatMul", "predict/MatMul_2", [moved, b.node("Transpose", "predict/Transpose", [move])])
    wider = b.node("Add", "predict/Add", [moved, drift])
    across = b.node("MatMul", "gain/MatMul", [wider, b.node("Transpose", "gain/Transpose", [look])])
    expected = b.node("Add", "gain/Add", [b.node("MatMul", "gain/MatMul_1", [look, across]), noise])
    gain = b.node("Div", "gain/Div", [across, expected])
    surprise = b.node("Sub", "surprise/Sub", [value, b.node("MatMul", "surprise/MatMul", [look, ahead])])
    b.node("Add", "update/Add", [ahead, b.node("MatMul", "update/MatMul", [gain, surprise])], "next_state")
    left = b.node("Sub", "update/Sub", [unit, b.node("MatMul", "update/MatMul_1", [gain, look])])
    b.node("MatMul", "update/MatMul_2", [left, wider], "next_spread")
    b.node("Identity", "update/Identity", ["next_state"], "estimate")
    b.output("next_state", np.float32, [2, 1])
    b.output("next_spread", np.float32, [2, 2])
    b.output("estimate", np.float32, [2, 1])
    b.output(surprise, np.float32, [1, 1])

    start = [g.constant("start", np.zeros((2, 1))), g.constant("start.spread", np.eye(2))]
    outputs = ["last_state", "last_spread", "estimates", "surprises"]
    g.many("Scan", "filter/Scan", [*start, seen], outputs, num_scan_inputs=1, body=b.graph())
    g.output("estimates", np.float32, ["steps", 2, 1])
    g.output("surprises", np.float32, ["steps", 1, 1])
    rng = np.random.default_rng(52)
    paths = np.cumsum(rng.normal(0, 0.5, (6, 12, 1)), axis=1)
    return untrained.by_hand(
        "kalman",
        "Kalman filter over a named number of steps: state and covariance carried by a Scan with two scan outputs",
        "Kalman: A New Approach to Linear Filtering and Prediction Problems, 1960",
        g.model(),
        {
            "seen": (paths + rng.normal(0, 0.3, paths.shape)).astype(np.float32),
            "noise": np.linspace(0.1, 2, 6, dtype=np.float32).reshape(6, 1, 1),
        },
        [Input("seen", -4.0, 4.0, "measured positions"), Input("noise", 0.05, 4.0, "variance of a measurement")],
        ["position and velocity after each measurement", "difference of each measurement from what was expected"],
        fit=False,
    )


def crf() -> Seed:
    """Scores of labels from a recurrent network; the best path forwards by maxima, backwards by what led to them."""
    g = Graph("crf", 53)
    width, hidden, labels = 8, 6, 5
    words = g.input("words", np.int64, ["length"])
    x = g.node("Gather", "embedding/Gather", [g.weight("embedding", VOCABULARY, width, inputs=1), words])
    x = g.node("Unsqueeze", "embedding/Unsqueeze", [x, g.constant("batch_axis", np.array([1]))])
    weights = [
        g.weight("gru.W", 2, 3 * hidden, width, inputs=width),
        g.weight("gru.R", 2, 3 * hidden, hidden, inputs=hidden),
    ]
    both = g.bias("gru.B", 2, 6 * hidden)
    (x,) = g.many("GRU", "gru/GRU", [x, *weights, both], ["gru_output"], direction="bidirectional", hidden_size=hidden)
    x = g.node("Transpose", "gru/Transpose", [x], perm=[0, 2, 1, 3])
    x = g.node("Reshape", "gru/Reshape", [x, g.constant("gru.shape", np.array([-1, 2 * hidden]))])
    scores = g.node("MatMul", "scores/MatMul", [x, g.weight("scores.weight", 2 * hidden, labels, inputs=3)])
    follows = g.weight("follows", labels, labels, inputs=1)

    b = Graph("forwards")
    best, here = b.input("best", np.float32, [1, labels]), b.input("here", np.float32, [labels])
    paths = b.node("Add", "forwards/Add", [b.node("Transpose", "forwards/Transpose", [best]), follows])
    came = b.node("ArgMax", "forwards/ArgMax", [paths], "came_from", axis=0, keepdims=0)
    longest = b.node("ReduceMax", "forwards/ReduceMax", [paths], axes=[0], keepdims=1)
    b.output(b.node("Add", "forwards/Add_1", [longest, here], "next_best"), np.float32, [1, labels])
    b.output(came, np.int64, [labels])
    start = g.constant("start", np.zeros((1, labels)))
    g.many("Scan", "forwards/Scan", [start, scores], ["final", "came"], num_scan_inputs=1, body=b.graph())

    last = g.node("ArgMax", "last/ArgMax", ["final"], axis=1, keepdims=0)
    # The reference evaluator runs a Scan forwards only, so what it reads and writes is turned around outside.
    turn = [
        g.constant(f"turn.{n}", np.array([v])) for n, v in (("start", -1), ("end", -(2**63)), ("axis", 0), ("step", -1))
    ]
    turned = g.node("Slice", "backwards/Slice", ["came", *turn])
    r = Graph("backwards")
    label, came = r.input("label", np.int64, [1]), r.input("came_here", np.int64, [labels])
    before = r.node("GatherElements", "backwards/GatherElements", [came, label], "label_before", axis=0)
    r.output(before, np.int64, [1])
    r.output(r.node("Identity", "backwards/Identity", [label], "chosen"), np.int64, [1])
    g.many("Scan", "backwards/Scan", [last, turned], ["before_all", "turned_path"], num_scan_inputs=1, body=r.graph())
    g.node("Slice", "path/Slice", ["turned_path", *turn], "path")
    score = g.node("ReduceMax", "score/ReduceMax", ["final"], "score", keepdims=0)
    g.output("path", np.int64, ["length", 1])
    g.output(score, np.float32, [])
    return untrained.by_hand(
        "crf",
        "Tagger: bidirectional GRU and the best path of a conditional random field, one Scan forwards, one backwards",
        "Lample et al.: Neural Architectures for Named Entity Recognition, 2016, section 2.2",
        g.model(),
        {"words": np.random.default_rng(53).integers(0, VOCABULARY, (6, 9))},
        [Input("words", 0, VOCABULARY - 1, "a sentence; indexes the embedding")],
        ["the best label of each word", "score of the best path"],
    )


def bags() -> Seed:
    """Rows are split into bags; a Loop reads each from the sequence, sums what a dense layer makes of it, collects."""
    g = Graph("bags", 54)
    rows = g.input("rows", np.float32, [12, 6])
    sizes = g.constant("sizes", np.array([4, 3, 5]))
    bags = g.node("SplitToSequence", "bags/SplitToSequence", [rows, sizes], axis=0)
    extra = g.node("ReduceMean", "extra/ReduceMean", [rows], axes=[0], keepdims=1)
    bags = g.node("SequenceInsert", "bags/SequenceInsert", [bags, extra])
    count = g.node("SequenceLength", "bags/SequenceLength", [bags])
    inner = [g.weight("inner.weight", 6, 10, inputs=3), g.bias("inner.bias", 10)]

    b = Graph("each")
    place = b.input("place", np.int64, [])
    b.input("more", np.bool_, [])
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 10]))
    b.inputs.append(helper.make_value_info("collected", kind))
    x = b.node("SequenceAt", "each/SequenceAt", [bags, place])
    x = b.node("Add", "each/Add", [b.node("MatMul", "each/MatMul", [x, inner[0]]), inner[1]])
    x = b.node(
        "ReduceSum", "each/ReduceSum", [b.node("Tanh", "each/Tanh", [x]), g.constant("first_axis", np.array([0]))]
    )
    b.node("SequenceInsert", "each/SequenceInsert", ["collected", x], "collected_more")
    b.output(b.node("Identity", "each/Identity", ["more"], "more_still"), np.bool_, [])
    b.outputs.append(helper.make_value_info("collected_more", kind))

    empty = g.node("SequenceEmpty", "all/SequenceEmpty", [], dtype=TensorProto.FLOAT)
    g.many("Loop", "each/Loop", [count, g.constant("true", np.ones((), bool)), empty], ["sums"], body=b.graph())
    biggest = g.node("SequenceAt", "last/SequenceAt", ["sums", g.constant("last", np.array(-1))])
    others = g.node("SequenceErase", "others/SequenceErase", ["sums", g.constant("last", np.array(-1))])
    x = g.node("ConcatFromSequence", "others/ConcatFromSequence", [others], axis=0)
    x = g.node("Mul", "gate/Mul", [x, g.node("Sigmoid", "gate/Sigmoid", [biggest])])
    x = g.node("MatMul", "head/MatMul", [x, g.weight("head.weight", 10, 4, inputs=10)])
    g.output(g.node("Add", "head/Add", [x, g.bias("head.bias", 4)], "scores"), np.float32, ["bags", 4])
    drawn = np.random.default_rng(54).standard_normal((6, 12, 6)).astype(np.float32)
    return untrained.by_hand(
        "bags",
        "Deep sets: rows split into a sequence of bags, a Loop over them that collects another sequence",
        "Zaheer et al.: Deep Sets, 2017, section 3",
        g.model(),
        {"rows": drawn},
        [Input("rows", -4.0, 4.0, "elements of three bags, one after the other")],
        ["score of each class for each bag"],
    )
