"""irfuzz inside AFL++ and Atheris, measured against their own byte mutation."""
