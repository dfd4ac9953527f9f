# pyright: basic
"""Arrays of those tensors of a graph being traced that follow from constants alone."""

from __future__ import annotations

import tensorflow as tf


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
