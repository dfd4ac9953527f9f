"""Small models that leave sizes or meanings of their inputs open."""

from __future__ import annotations

import re

import onnx

from irfuzz.ir.program import Program


def program(body: str, opset: int = 17) -> Program:
    """A program from ONNX's text."""
    text = f'<ir_version: 9, opset_import: ["" : {opset}]> {body}'
    return Program.from_proto(onnx.parser.parse_model(text))


PYRAMID = """g (float[n, 3, h, w] image) => (float[n, c, p, q] y) <
  float[4, 3, 3, 3] a = {FILL108}, float[4, 4, 3, 3] b = {FILL144}, float[4] s = {1, 1, 2, 2}> {
  one = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (image, a)
  two = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (one, b)
  three = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (two, b)
  roi = Constant <value = float[0] {}> ()
  up = Resize <mode = "nearest"> (three, roi, s)
  y = Concat <axis = 1> (up, two)
}"""


def filled(text: str) -> str:
    """The text with ``FILLn`` as ``n`` small numbers."""

    def numbers(found: re.Match[str]) -> str:
        return ", ".join(str(0.01 * (i % 7 - 3)) for i in range(int(found[1])))

    return re.sub(r"FILL(\d+)", numbers, text)


CACHE = """g (int64[b, s] ids, int64[b, t] attention_mask, float[b, 2, p, 4] past_key)
  => (float[b, 2, s, t] y, float[b, 2, u, 4] present_key) <
  float[10, 8] table = {FILL80}, int64[4] split = {0, 0, 2, 4}, int64[2] axes = {1, 2},
  float big = {-10000.0}, float one = {1.0}> {
  rows = Gather (table, ids)
  parts = Reshape (rows, split)
  keys = Transpose <perm = [0, 2, 1, 3]> (parts)
  present_key = Concat <axis = 2> (past_key, keys)
  turned = Transpose <perm = [0, 1, 3, 2]> (present_key)
  scores = MatMul (keys, turned)
  seen = Cast <to = 1> (attention_mask)
  hidden = Sub (one, seen)
  low = Mul (hidden, big)
  wide = Unsqueeze (low, axes)
  y = Add (scores, wide)
}"""

SWITCH = """g (float[n, t] input, float[1, m, 4] state, int64 sr) => (float[a, b, 4] y, float[1, m, 4] stateN) <
  int64 rate = {16000}, float[4, 1, 64] wide = {FILL256}, float[4, 1, 32] narrow = {FILL128}, int64[1] axis = {1},
  float[1, 16, 4] W = {FILL64}, float[1, 16, 4] R = {FILL64}, int64[1] first = {0}> {
  fast = Equal (sr, rate)
  waves = Unsqueeze (input, axis)
  y, stateN = If (fast) <
    then_branch = g1 () => (float[a, b, 4] y1, float[1, m, 4] s1) {
      f1 = Conv <strides = [32]> (waves, wide)
      r1 = Transpose <perm = [2, 0, 1]> (f1)
      z1, s1 = LSTM <hidden_size = 4> (r1, W, R, , , state)
      y1 = Squeeze (z1, axis)
    },
    else_branch = g2 () => (float[a, b, 4] y2, float[1, m, 4] s2) {
      f2 = Conv <strides = [16]> (waves, narrow)
      r2 = Transpose <perm = [2, 0, 1]> (f2)
      z2, s2 = LSTM <hidden_size = 4> (r2, W, R, , , state)
      y2 = Squeeze (z2, axis)
    }>
}"""
