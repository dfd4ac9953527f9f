"""Edits that make models which onnx's checker accepts and its inference often refuses.

Every draw comes from the given `Choices`, so equal bytes give equal models; edits work on protobuf messages, not on
programs.

Read `model_edits` first, which draws the edits of one model; `random_model_parts` draws calls, types and attributes;
`checker_schemas` says what the checker asks of them; `call_grafting`, `node_removal` and `field_corruption` are kinds
of edits.

A new edit is a method or module that `model_edits` lists with its weight. Do not use these models if validity is
assumed: nothing here says what a right runtime computes.
"""
