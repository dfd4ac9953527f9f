#!/bin/bash -eu
# Builds onnx with the sanitizer, and the harnesses with irfuzz's mutation; runs in the container of OSS-Fuzz.

cd "$SRC/onnx"
CMAKE_ARGS="-DONNX_USE_ASAN=$([[ $SANITIZER == address ]] && echo ON || echo OFF)" pip3 install --no-build-isolation .
pip3 install --no-deps /deps/*

# The mutator is Python, libFuzzer is preloaded: mutation.c says why there is a library between.
$CC -shared -fPIC -O2 -o "$OUT/libmutation.so" "$SRC/mutation.c"

irfuzz seeds export -o "$SRC/corpus" --max-bytes 5000

for harness in "$SRC"/fuzz_*.py; do
  name=$(basename "$harness" .py)
  compile_python_fuzzer "$harness" --paths "$SRC" --collect-all irfuzz --collect-all onnx_ir --collect-all onnx
  sed -i 's|sanitizer_with_fuzzer\.so|&:$this_dir/libmutation.so|' "$OUT/$name"
  (cd "$SRC/corpus" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
  printf '[libfuzzer]\nmax_len = 100000\ntimeout = 30\n' > "$OUT/$name.options"
done
