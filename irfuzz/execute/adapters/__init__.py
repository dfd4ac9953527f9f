"""One adapter a component: how it is found, what its worker is asked, and which targets it offers.

An adapter never imports the component; it names a worker file of `execute/workers/` that the component's interpreter
runs.

Read `adapter` first (`Adapter`, `ModelAdapter` for ONNX bytes), then `generated_source` for frameworks that run
irfuzz's lowering, `converter_tools` with `tool_table` and `tool_made_model_runs` for converters, `plugin` for a user's
class, and `alternative_runs` for other ways to run the same component. `tensor_packing`, `mapped_weights` and
`input_shape_freezing` prepare what is sent.

To add a component, write its worker, then an adapter in `execute/target_table` or a line in `tool_table`. Do not
interpret answers here; `execute/reply_parsing` does.
"""
