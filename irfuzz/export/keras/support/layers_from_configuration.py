# pyright: basic, reportAttributeAccessIssue=none, reportArgumentType=none, reportCallIssue=none, reportOptionalMemberAccess=none
"""Layers of a Keras file, made from their configuration."""

from __future__ import annotations

import inspect
import json

import keras

from irfuzz.export.keras.support.model_building_and_running import with_weights

OWN_STATE = (
    *("dtype", "trainable", "build_config", "quantization_config", "autocast"),
    *("kernel_initializer", "bias_initializer", "recurrent_initializer", "embeddings_initializer", "beta_initializer"),
    *("gamma_initializer", "moving_mean_initializer", "moving_variance_initializer", "depthwise_initializer"),
    *("pointwise_initializer", "alpha_initializer"),
)
"""Parts of a configuration that say nothing of a layer that is given its weights."""


def layer_of_file(config, call, inputs, weights):
    """What a layer computes: its configuration and the arguments of its call as JSON; a list of tensors."""
    config, call = json.loads(config), json.loads(call)
    if hasattr(keras, "KerasTensor"):
        layer = keras.saving.deserialize_keras_object(config)
    else:
        layer = old_layer(config, call.get("defaults", []))
    args = [argument(value, inputs) for value in call["args"]]
    kwargs = {name: argument(value, inputs) for name, value in call["kwargs"].items()}

    def run():
        return layer(*args, **kwargs)

    made = with_weights(layer, weights, run) if weights else run()
    if isinstance(made, dict):
        return list(made.values())
    return list(made) if isinstance(made, (list, tuple)) else [made]


def argument(value, inputs):
    """An argument of a call, with its tensors."""
    if "tensor" in value:
        return inputs[value["tensor"]]
    return [argument(item, inputs) for item in value["list"]] if "list" in value else value["value"]


def old_layer(config, defaults):
    """A layer of Keras 2 that does what one of Keras 3 is configured to do; it may lack what is at its default."""
    kind = getattr(keras.layers, config["class_name"], None) if config.get("module") == "keras.layers" else None
    if kind is None:
        raise NotImplementedError(f"Keras {keras.__version__} has no layer {config['class_name']}")
    make = getattr(kind.__init__, "_original_function", kind.__init__)
    taken = set(inspect.signature(make).parameters)
    given = {}
    for name, value in config["config"].items():
        if name in OWN_STATE or value is None:
            continue
        if name in taken:
            given[name] = tuple(value) if isinstance(value, list) and all(isinstance(v, int) for v in value) else value
        elif name not in defaults:
            raise NotImplementedError(f"Keras {keras.__version__} has no {name} of {config['class_name']}")
    return kind(**given)
