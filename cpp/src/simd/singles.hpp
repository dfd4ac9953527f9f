// float16 and bfloat16 in single precision, where that is exact: twice the numbers a vector, and no widening twice.
//
// Every number of a block is a whole multiple of the unit in the last place of its smallest one other than zero. So are
// the differences, and while a sum of them stays below 2^24 of these units, single precision has rounded nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/chunk.hpp"
#include "simd/ulp.hpp"
#include "simd/vector.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

// Where the sum was not exact once, it will not be in the next blocks either, and finding that out is dear.
constexpr int inexact_blocks = 16;

// Tolerances that single precision holds without overflow or underflow.
inline bool single_tolerance(double value) noexcept { return value == 0.0 || (value > 0x1p-60 && value < 0x1p60); }

// A block, or false where it needs more than single precision; then nothing has changed.
template <typename E>
[[nodiscard, gnu::noinline]] bool single_block(Chunk<E>& chunk, const typename E::Type* a, const typename E::Type* b,
                                               Terms& terms) noexcept;

#if defined(__FMA__)
using U16 = Vector<std::uint16_t, 2 * narrow>;
using I32 = Vector<std::int32_t, narrow>;
using U32 = Vector<std::uint32_t, narrow>;

// How a vector of 16-bit numbers becomes two of floats: in which one and where a number comes to lie does not matter,
// as long as lane() tells.
template <typename E>
struct Singles {
    static constexpr bool here = false;
};

template <>
struct Singles<Half16> {
    static constexpr bool here = true;
    static constexpr int digits = 10;  // after the point
    static constexpr int bias = 15;
    [[gnu::always_inline]] inline static void widen(const Float16* from, F32& first, F32& second) noexcept {
        first = Half16::limits(from);
        second = Half16::limits(from + narrow);
    }
    IRFUZZ_INLINE static std::size_t lane(std::size_t part, std::size_t i) noexcept { return part * narrow + i; }
};

template <>
struct Singles<Brain16> {
    static constexpr bool here = true;
    static constexpr int digits = 7;
    static constexpr int bias = 127;
    [[gnu::always_inline]] inline static void widen(const BFloat16* from, F32& first, F32& second) noexcept {
        const U32 both = load<U32>(from);
        first = reinterpret_cast<F32>(both << 16);
        second = reinterpret_cast<F32>(both & 0xffff0000U);
    }
    IRFUZZ_INLINE static std::size_t lane(std::size_t part, std::size_t i) noexcept { return 2 * i + part; }
};

IRFUZZ_INLINE F32 absolute(F32 x) noexcept { return reinterpret_cast<F32>(reinterpret_cast<I32>(x) & 0x7fffffff); }

IRFUZZ_INLINE F32 multiply_add(F32 x, F32 y, F32 z) noexcept {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(x, y, z);
#else
    return _mm256_fmadd_ps(x, y, z);
#endif
}

// Vectors of 16-bit numbers that are added up before their sums are widened: so few that differences as large as the
// numbers themselves stay within 24 digits.
constexpr std::size_t singles_rows = 4;
// A distance so near its limit, in units in the last place, may be on either side: limits are rounded three times.
constexpr std::uint32_t unsure = 8;
template <typename E>
bool single_block(Chunk<E>& chunk, const typename E::Type* a, const typename E::Type* b, Terms& terms) noexcept {
    using S = Singles<E>;
    constexpr std::size_t row = 2 * narrow;
    constexpr std::size_t ahead = 2048 / sizeof(typename E::Type);
    // Below it no limit is told from 0: no two numbers are nearer than twice that.
    constexpr float least = 0x1p-134F;
    const F32 atol = all(static_cast<float>(chunk.options.atol));
    const F32 rtol = all(static_cast<float>(chunk.options.rtol));
    F32 low_a = chunk.lanes.low_a[0];
    F32 high_a = chunk.lanes.high_a[0];
    F32 low_b = chunk.lanes.low_b[0];
    F32 high_b = chunk.lanes.high_b[0];
    F64 sums[2][2] = {};  // of each part, its lower and its upper half
    F32 largest_sum{};
    F32 furthest{};
    I32 over{};
    U32 nearest = U32{} + ~0U;  // to the limit, with `unsure` added
    U16 smallest{};             // as 2^16 less twice its magnitude
    for (std::size_t i = 0; i < block; i += singles_rows * row) {
        F32 sum[2] = {};
#pragma GCC unroll 8
        for (std::size_t r = 0; r < singles_rows; ++r) {
            const typename E::Type* x = a + i + r * row;
            const typename E::Type* y = b + i + r * row;
            __builtin_prefetch(x + ahead);
            __builtin_prefetch(y + ahead);
            const auto minus_twice = static_cast<std::uint16_t>(-2);
            smallest = unsigned_max(smallest, load<U16>(x) * minus_twice);
            smallest = unsigned_max(smallest, load<U16>(y) * minus_twice);
            F32 left[2];
            F32 right[2];
            S::widen(x, left[0], left[1]);
            S::widen(y, right[0], right[1]);
#pragma GCC unroll 2
            for (std::size_t p = 0; p < 2; ++p) {
                low_a = smaller(left[p], low_a);
                high_a = larger(left[p], high_a);
                low_b = smaller(right[p], low_b);
                high_b = larger(right[p], high_b);
                const F32 apart = absolute(left[p] - right[p]);
                sum[p] += apart;
                furthest = larger(apart, furthest);
                F32 limit = multiply_add(rtol, absolute(right[p]), atol);
                limit = larger(limit, all(least));
                const I32 room = reinterpret_cast<I32>(limit) - reinterpret_cast<I32>(apart);
                over += room >> 31;
                nearest = unsigned_min(nearest, reinterpret_cast<U32>(room) + unsure);
            }
        }
#pragma GCC unroll 2
        for (std::size_t p = 0; p < 2; ++p) {
            largest_sum = larger(sum[p], largest_sum);
            float part[narrow];
            std::memcpy(part, &sum[p], sizeof(part));
            sums[p][0] += Float32::numbers(part);
            sums[p][1] += Float32::numbers(part + wide);
        }
    }
    std::uint32_t least_magnitude = 0;
    std::uint32_t least_room = ~0U;
    float sum_limit = 0;
    float sum_most = 0;
    for (std::size_t i = 0; i < row; ++i) {
        least_magnitude = smallest[i] > least_magnitude ? smallest[i] : least_magnitude;
    }
    for (std::size_t i = 0; i < narrow; ++i) {
        least_room = nearest[i] < least_room ? nearest[i] : least_room;
        sum_most = largest_sum[i] > sum_most ? largest_sum[i] : sum_most;
    }
    if (least_magnitude != 0) {
        const std::uint32_t magnitude = (0x10000U - least_magnitude) / 2;
        const std::uint32_t exponent = magnitude >> static_cast<std::uint32_t>(S::digits);
        const int unit = static_cast<int>(exponent == 0 ? 1U : exponent) - S::bias - S::digits;
        sum_limit = static_cast<float>(__builtin_ldexp(1.0, unit + 24 < 127 ? unit + 24 : 127));
    }
    bool exact = least_room > 2 * unsure && (sum_most < sum_limit || least_magnitude == 0);
    for (std::size_t p = 0; p < 2; ++p) {
        // NaN where anything was.
        exact = exact && every(less(sums[p][0], all(huge)) & less(sums[p][1], all(huge)));
    }
    if (!exact) {
        return false;
    }
    chunk.lanes.low_a[0] = low_a;
    chunk.lanes.high_a[0] = high_a;
    chunk.lanes.low_b[0] = low_b;
    chunk.lanes.high_b[0] = high_b;
    // The lanes of doubles that other blocks use: sums are exact, but those of a chunk are rounded in their order.
    double lanes[group] = {};
    std::int64_t beyond = 0;
    for (std::size_t i = 0; i < narrow; ++i) {
        for (std::size_t p = 0; p < 2; ++p) {
            lanes[S::lane(p, i) % group] += sums[p][i / wide][i % wide];
        }
        beyond -= over[i];
    }
    std::memcpy(terms.apart, lanes, sizeof(lanes));
    chunk.totals.beyond += beyond;
    float apart[narrow];
    std::memcpy(apart, &furthest, sizeof(apart));
    for (std::size_t g = 0; g < narrow / wide; ++g) {
        chunk.lanes.apart[0] = larger(Float32::numbers(apart + g * wide), chunk.lanes.apart[0]);
    }
    return true;
}
#else
template <typename E>
struct Singles {
    static constexpr bool here = false;
};
#endif

}  // namespace
}  // namespace irfuzz::IRFUZZ_TARGET
