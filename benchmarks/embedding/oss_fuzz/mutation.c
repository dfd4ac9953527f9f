/* libFuzzer's custom mutator, of which Python says what it does.
 *
 * A libFuzzer that is preloaded (sanitizer_with_fuzzer.so) looks for these functions when it is loaded, before any
 * Python runs, and Atheris's own cannot be preloaded into a program of PyInstaller, whose interpreter comes later
 * (google/atheris#54). This library needs no Python: preload it too, and give it the functions from there.
 */
#include <stddef.h>
#include <stdint.h>

typedef size_t (*mutate_function)(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
typedef size_t (*cross_function)(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_out_size, unsigned int seed);

extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

static mutate_function mutate;
static cross_function cross;

void mutation_set(mutate_function with_one, cross_function with_two) {
  mutate = with_one;
  cross = with_two;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  if (mutate) return mutate(data, size, max_size, seed);
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_out_size, unsigned int seed) {
  return cross ? cross(data1, size1, data2, size2, out, max_out_size, seed) : 0;
}
