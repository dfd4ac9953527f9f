// What the distance kernels keep while they go through a chunk: lanes in registers, sums with their rounding errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "distance.hpp"
#include "simd/kernels.hpp"
#include "simd/vector.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

constexpr std::size_t block = 64 * group;
// Where special values are scattered, a block without any says little of the next one, and taking one twice is dear.
constexpr int careful_blocks = 8;
constexpr double infinite = __builtin_inf();
// From here on, sums of a chunk could overflow; they are kept apart, scaled down.
constexpr double huge = 0x1p900;
constexpr double huge_scale = 0x1p-64;

template <typename E>
inline constexpr std::size_t limit_lanes = sizeof(typename E::Limit) / sizeof(typename E::Limit{}[0]);

// A sum grows by a term, with the rounding error kept.
[[gnu::always_inline]] inline void grow(LongSum& sum, double term) noexcept {
    const double total = sum.high + term;
    const double part = total - sum.high;
    sum.low += (sum.high - (total - part)) + (term - part);
    sum.high = total;
}

struct Sums {
    F64 high[wides] = {};
    F64 low[wides] = {};

    // high + low grows by the lanes' terms, with the rounding error kept.
    [[gnu::always_inline]] inline void add(std::size_t g, F64 term) noexcept {
        const F64 total = high[g] + term;
        const F64 part = total - high[g];
        low[g] += (high[g] - (total - part)) + (term - part);
        high[g] = total;
    }

    [[nodiscard]] LongSum total() const noexcept {
        double highs[group];
        double lows[group];
        std::memcpy(highs, high, sizeof(high));
        std::memcpy(lows, low, sizeof(low));
        LongSum sum{highs[0], lows[0]};
        for (std::size_t i = 1; i < group; ++i) {
            grow(sum, highs[i]);
            sum.low += lows[i];
        }
        return sum;
    }
};

// What is taken over blocks and kept in registers meanwhile.
template <typename E>
struct Lanes {
    static constexpr std::size_t limits = group / limit_lanes<E>;
    F64 apart[wides];
    I64 over[wides];
    typename E::Limit low_a[limits];
    typename E::Limit high_a[limits];
    typename E::Limit low_b[limits];
    typename E::Limit high_b[limits];
};

// A block's sums.
struct Terms {
    F64 apart[wides];
    F64 dot[wides];
    F64 square_a[wides];
    F64 square_b[wides];
};

// What groups with special values add; seldom needed, so it lives in memory.
struct Specials {
    Terms terms;
    F64 apart[wides];
    F64 low_a[wides];
    F64 high_a[wides];
    F64 low_b[wides];
    F64 high_b[wides];
    I64 over[wides];
    I64 nan_a;
    I64 nan_b;
    I64 posinf_a;
    I64 posinf_b;
    I64 neginf_a;
    I64 neginf_b;
    I64 mismatched;
    I64 not_finite;
};

template <typename E>
struct Chunk {
    using Type = typename E::Type;

    Chunk(const Options& some_options, Totals& some_totals, ChunkSums& some_sums) noexcept
        : options(some_options), totals(some_totals), sums(some_sums) {}

    const Options& options;
    Totals& totals;
    ChunkSums& sums;
    Lanes<E> lanes;  // begin() sets them
    union {
        Specials specials;  // large, and set only where it is used
    };
    bool singles = false;         // whether blocks may be taken in single precision
    bool used_specials = false;   // in this chunk
    bool block_specials = false;  // in this block
    Sums apart;
    Sums dot;
    Sums square_a;
    Sums square_b;
};

}  // namespace
}  // namespace irfuzz::IRFUZZ_TARGET
