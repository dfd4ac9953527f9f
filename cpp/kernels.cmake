# Kernels: spans in, plain structs out; no Python type below the bindings. Makes the library irfuzz_kernels.

# Compiled once for every instruction set, into a namespace of its own; cpp/src/dispatch.cpp chooses at run time.
set(IRFUZZ_SIMD_SOURCES cpp/src/simd/coverage.cpp cpp/src/simd/distance.cpp cpp/src/simd/novelty.cpp)
set(IRFUZZ_SETS baseline)
set(IRFUZZ_FLAGS_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND IRFUZZ_SETS avx2 avx512)
  set(IRFUZZ_FLAGS_avx2 -mavx2 -mfma -mf16c -mpopcnt)
  # GCC 12 takes the undefined vectors of its own intrinsics for a mistake: https://gcc.gnu.org/PR105593
  set(IRFUZZ_FLAGS_avx512 ${IRFUZZ_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
      -Wno-uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
set(IRFUZZ_SIMD_OBJECTS "")
foreach(IRFUZZ_SET IN LISTS IRFUZZ_SETS)
  add_library(irfuzz_${IRFUZZ_SET} OBJECT ${IRFUZZ_SIMD_SOURCES})
  target_compile_definitions(irfuzz_${IRFUZZ_SET} PRIVATE IRFUZZ_TARGET=${IRFUZZ_SET})
  # Without contraction every set rounds alike; -Wno-psabi: no vector leaves its translation unit.
  target_compile_options(irfuzz_${IRFUZZ_SET} PRIVATE ${IRFUZZ_FLAGS_${IRFUZZ_SET}} -ffp-contract=off -Wno-psabi)
  list(APPEND IRFUZZ_SIMD_OBJECTS $<TARGET_OBJECTS:irfuzz_${IRFUZZ_SET}>)
endforeach()

find_package(Threads REQUIRED)
add_library(irfuzz_kernels STATIC cpp/src/coverage.cpp cpp/src/dispatch.cpp cpp/src/distance.cpp
            cpp/src/feature_set.cpp cpp/src/novelty.cpp ${IRFUZZ_SIMD_OBJECTS})
target_link_libraries(irfuzz_kernels PUBLIC Threads::Threads)

set(IRFUZZ_TEST_SOURCES cpp/tests/main.cpp cpp/tests/test_coverage.cpp cpp/tests/test_distance.cpp
    cpp/tests/test_element.cpp cpp/tests/test_novelty.cpp)
set(IRFUZZ_BINDING_SOURCES cpp/bindings/arrays.cpp cpp/bindings/coverage.cpp cpp/bindings/distance.cpp
    cpp/bindings/module.cpp cpp/bindings/sets.cpp)

foreach(IRFUZZ_LIBRARY IN LISTS IRFUZZ_SETS ITEMS kernels)
  target_include_directories(irfuzz_${IRFUZZ_LIBRARY} PUBLIC cpp/src)
  set_target_properties(irfuzz_${IRFUZZ_LIBRARY} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_compile_options(irfuzz_${IRFUZZ_LIBRARY} PRIVATE -Wall -Wextra -Wconversion -Wshadow
                         $<$<CONFIG:Release>:-O3>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    # GCC clears a few hundred bytes by "rep stos", which takes 40 ns to start: as long as a small comparison.
    target_compile_options(irfuzz_${IRFUZZ_LIBRARY} PRIVATE
                           -mmemset-strategy=unrolled_loop:128:noalign,libcall:-1:noalign)
  endif()
  if(IRFUZZ_WERROR)
    target_compile_options(irfuzz_${IRFUZZ_LIBRARY} PRIVATE -Werror)
  endif()
  if(IRFUZZ_SANITIZE)
    target_compile_options(irfuzz_${IRFUZZ_LIBRARY} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=all
                           -fno-omit-frame-pointer -g)
    target_link_options(irfuzz_${IRFUZZ_LIBRARY} PUBLIC -fsanitize=address,undefined)
  endif()
endforeach()
