# pyright: basic, reportArgumentType=none, reportCallIssue=none, reportOperatorIssue=none, reportOptionalOperand=none
"""Converts numpy arrays to tensors and back."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def to_tensor(value, dtype):
    """A tensor of ``dtype`` from an array; bfloat16 may come as its uint16 bit pattern. Sequences are lists."""
    if value is None or isinstance(value, tf.Tensor):
        return value
    if isinstance(value, list | tuple):
        return [to_tensor(v, dtype) for v in value]
    array = np.asarray(value)
    if dtype == tf.string:
        return tf.constant(array.astype(object), dtype)
    if dtype == tf.bfloat16:
        raw = np.array(array).view(np.uint16).reshape(array.shape)
        return tf.bitcast(tf.constant(raw), tf.bfloat16)
    # A copy: TensorFlow may share memory with the caller's array.
    tensor = tf.constant(np.array(array, dtype=array.dtype.newbyteorder("=")))
    if tensor.dtype != dtype:
        raise TypeError(f"expected an array of {dtype.name}, got {array.dtype}")
    return tensor


def to_array(value):
    """An array from a tensor; strings are Python's, in an object array."""
    if value is None:
        return None
    if isinstance(value, list):
        return [to_array(v) for v in value]
    if value.dtype != tf.string:
        return np.asarray(value.numpy())
    texts = np.asarray(value.numpy(), dtype=object)
    return np.array([text.decode() for text in texts.reshape(-1)], dtype=object).reshape(texts.shape)


def known(x):
    """The number that a tensor of one element holds. Raises if only a run of the graph can tell."""
    return static(x).reshape(-1)[0].item()


def static(x):
    """The array that a tensor holds. Raises if only a run of the graph can tell."""
    found = folded(x)
    if found is None:
        raise NotImplementedError("a size, length, axis or condition that the graph computes: only eager runs know it")
    return np.asarray(found)


def ints(tensor):
    """The elements of a tensor as a tuple of Python numbers."""
    return tuple(static(tensor).reshape(-1).tolist())


def dims(x):
    """Sizes of the axes as integers; those that only a run can tell as scalar tensors."""
    sizes = x.shape.as_list()
    return [tf.shape(x)[i] if n is None else n for i, n in enumerate(sizes)] if None in sizes else sizes


def sizes_of(x):
    """Sizes of the axes as integers. Raises if only a run of the graph can tell."""
    if x.shape.rank is None or None in x.shape.as_list():
        raise NotImplementedError("a shape that the graph computes: only eager runs know it")
    return x.shape.as_list()


def folded(x):
    """The array that ``x`` holds in every run, ``None`` if that depends on what the graph is fed with."""
    found = tf.get_static_value(x)
    if found is not None or tf.executing_eagerly():
        return found
    graph, seen, todo = tf.compat.v1.GraphDef(), set(), [x.op]
    while todo:
        op = todo.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        value = tf.get_static_value(op.outputs[0]) if len(op.outputs) == 1 else None
        if value is not None:
            graph.node.append(constant_node(op.name, value, op.outputs[0].dtype))
            continue
        calls = any(attribute.type in ("func", "list(func)") for attribute in op.op_def.attr)
        if not op.inputs or op.op_def.is_stateful or calls:
            return None
        node = graph.node.add()
        node.CopyFrom(op.node_def)
        node.device = ""
        node.input[:] = [name for name in node.input if not name.startswith("^")]
        todo.extend(y.op for y in op.inputs)
    with tf.init_scope():
        run = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(graph, return_elements=[x.name]), [])
        return run()[0].numpy()


def constant_node(name, value, dtype):
    """A node of a graph that holds an array."""
    tensor = tf.make_tensor_proto(value, dtype)
    attributes = {"dtype": tf.compat.v1.AttrValue(type=dtype.as_datatype_enum)}
    attributes["value"] = tf.compat.v1.AttrValue(tensor=tensor)
    return tf.compat.v1.NodeDef(name=name, op="Const", attr=attributes)
