"""Static numeric analysis: which operators of a program may compute NaN or Inf, given ranges of its inputs."""
