"""Valid calls of an operator are drawn from its spec.

A drawn call keeps every rule of its operator; every draw is recorded in `Choices`, so the same record gives the same
call.

Read `call_sampler`, then `draw_order`, which orders the open names of a call, and `draw_attempt`, which draws them
one by one and may come to a dead end. `value_drawing` draws one value of a domain, `sampled_input_planning` decides
one input, and `parameter_generators` and `operator_specific_generators` make what no range describes.

A new generator is a function in the table of its module, named in the `generate` key of an operator's file. Do not
name single operators here.
"""
