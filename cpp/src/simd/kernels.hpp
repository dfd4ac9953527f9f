// The seam between what is compiled once and what is compiled for every instruction set: plain structs, and one table
// of functions a set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "distance.hpp"

namespace irfuzz {

// Elements a chunk: sums are rounded within chunks and combined in their order, so threads may take chunks as they
// like.
inline constexpr std::size_t chunk_size = 65536;

// A sum as two doubles: the rounded value, and what rounding lost.
struct LongSum {
    double high = 0.0;
    double low = 0.0;
};

// What has to be added up in the order of the chunks.
struct ChunkSums {
    LongSum apart;  // |a - b|
    LongSum huge;   // the part of it from differences of 2^900 and more, times 2^-64
    LongSum dot;
    LongSum square_a;
    LongSum square_b;
};

// What may be merged in any order.
struct Totals {
    double max_abs = -1.0;       // below every difference: the first compared pair becomes argmax
    std::uint64_t max_wide = 0;  // 64-bit integers: the same, exactly
    std::int64_t argmax = -1;
    double max_rel = 0.0;
    double low_a = std::numeric_limits<double>::infinity();
    double high_a = -std::numeric_limits<double>::infinity();
    double low_b = std::numeric_limits<double>::infinity();
    double high_b = -std::numeric_limits<double>::infinity();
    std::int64_t mismatched = 0;
    std::int64_t first_mismatch = -1;
    std::int64_t nan_a = 0;
    std::int64_t nan_b = 0;
    std::int64_t posinf_a = 0;
    std::int64_t posinf_b = 0;
    std::int64_t neginf_a = 0;
    std::int64_t neginf_b = 0;
    std::int64_t not_finite = 0;  // pairs with a special value on a side
    std::int64_t beyond = 0;
    std::uint64_t max_ulp = 0;
    int careful = 0;                                // so many blocks more are taken to hold special values
    int inexact = 0;                                // and so many to need double precision
    std::uint64_t ulp_histogram[ulp_buckets] = {};  // NOLINT: the functions of std::array would be compiled many times
};

// At most chunk_size elements; `origin` is the index of the first one in the whole arrays.
using ChunkKernel = void (*)(const void* a, const void* b, const double* bound, std::size_t count, std::size_t origin,
                             const Options& options, Totals& totals, ChunkSums& sums);

// Of one row, or of one block of columns of it.
struct CoverageKernels {
    // The part of each column's range that its value is in, -1 for none; scale is sections / (high - low).
    void (*sections)(const void* values, const void* low, const void* high, const double* scale, std::size_t count,
                     double last, std::int32_t* parts);
    void (*scales)(const void* low, const void* high, std::size_t count, double sections, double* scale);
    // Sets the bits of values below `low` and above `high`.
    void (*boundaries)(const void* values, const void* low, const void* high, std::size_t count, std::uint8_t* below,
                       std::uint8_t* above);
    // Sets the bits of values with value - shift > limit.
    void (*above)(const void* values, std::size_t count, double shift, double limit, std::uint8_t* bits);
    void (*range)(const void* values, std::size_t count, double* low, double* high);
    // Sorted; `best` has room for k values.
    void (*top)(const void* values, std::size_t count, std::size_t k, double* best, std::int64_t* columns);
    std::int64_t (*rank)(const void* values, std::size_t count, std::size_t label);
};
inline constexpr std::size_t float_types = 4;  // float16, bfloat16, float32, float64

struct DistanceTable {
    ChunkKernel chunk[element_types];
};

struct CoverageTable {
    CoverageKernels of[float_types];
    std::uint64_t (*new_bits)(const std::uint8_t* seen, const std::uint8_t* found, std::size_t bytes);
    std::uint64_t (*merge_bits)(std::uint8_t* seen, const std::uint8_t* found, std::size_t bytes);
};

// Vectors of a corpus as codes: sixteen of them a block, four numbers of each together, 1 to 127 for -63 to 63 times
// the vector's scale. With them what is needed to bound a distance from below, as floats.
struct Codes {
    const std::uint8_t* codes;  // [block][quad][16][4]
    const float* vectors;       // [vector][dimension]
    const float* scales;
    const float* squares;  // of the norm of what the codes stand for
    const float* errors;   // distance from the vector to what its code stands for, rounded up
    std::size_t size;
    std::size_t dimensions;
    std::size_t quads;  // dimensions / 4, rounded up
};

struct NoveltyQuery {
    const std::int32_t* quads;  // four signed bytes each, -127 to 127 times the scale
    const float* vector;
    float scale;
    float square;
    float error;
    std::int32_t shift;  // what the codes' offset of 64 adds to a product
    double nearest;      // square of the distance
    std::int64_t index;
};

struct NoveltyTable {
    // Blocks first to last (exclusive), for any number of queries: finds the nearest, of equally near ones the first.
    void (*scan)(const Codes& codes, std::size_t first, std::size_t last, NoveltyQuery* queries, std::size_t count);
    // Square of the Euclidean distance.
    double (*square)(const float* a, const float* b, std::size_t dimensions);
};

// One instruction set.
struct Kernels {
    const char* name;
    const DistanceTable& distance;
    const CoverageTable& coverage;
    const NoveltyTable& novelty;
};

namespace baseline {
[[nodiscard]] const DistanceTable& distance_table() noexcept;
[[nodiscard]] const CoverageTable& coverage_table() noexcept;
[[nodiscard]] const NoveltyTable& novelty_table() noexcept;
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
[[nodiscard]] const DistanceTable& distance_table() noexcept;
[[nodiscard]] const CoverageTable& coverage_table() noexcept;
[[nodiscard]] const NoveltyTable& novelty_table() noexcept;
}  // namespace avx2
namespace avx512 {
[[nodiscard]] const DistanceTable& distance_table() noexcept;
[[nodiscard]] const CoverageTable& coverage_table() noexcept;
[[nodiscard]] const NoveltyTable& novelty_table() noexcept;
}  // namespace avx512
#endif

}  // namespace irfuzz
