"""Reads ONNX bytes and files as programs and writes programs as bytes again, without loss.

What onnx-ir has no place for travels beside the program as protobuf (`preserved_unsupported_fields`); equal programs
give equal bytes; large weights stay where they were read. Sizes are checked before memory is taken.

Read `serde`, then `model_decoding`, `tensor_type_attribute_decoding` and `model_encoding`. `protobuf_field_encoding`
writes single fields; `lazy_tensor`, `mapped_file`, `external_tensor_references` and `weightless_message` keep weights
out of messages; `fast_path_self_check` decides between the native writer and `onnx_ir_fallback`.

A message that onnx-ir drops gets a field in `preserved_unsupported_fields`, a line in the decoder and one in the
encoder. Never write a second serialiser, and never parse large weights to copy them.
"""
