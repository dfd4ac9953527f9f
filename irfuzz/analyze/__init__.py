"""Static numeric analysis: a program and ranges of its inputs enter, operators that may compute NaN or Inf leave."""
