// 64-bit integers: a double would not tell neighbours above 2^53 apart. Their sums are taken in halves, without error.
#pragma once

#include <cstddef>
#include <cstdint>

#include "distance.hpp"
#include "simd/kernels.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

template <typename T>
void add_wide(const void* a, const void* b, const double* bound, std::size_t count, std::size_t origin,
              const Options& options, Totals& totals, ChunkSums& sums) {
    const auto* left = static_cast<const T*>(a);
    const auto* right = static_cast<const T*>(b);
    std::uint64_t sum_low = 0;
    std::uint64_t sum_high = 0;
    T low_a = left[0];
    T high_a = left[0];
    T low_b = right[0];
    T high_b = right[0];
    std::int64_t beyond = 0;
    std::uint64_t furthest = totals.max_wide;
    bool further = totals.argmax < 0;
    for (std::size_t i = 0; i < count; ++i) {
        const T x = left[i];
        const T y = right[i];
        const auto forth = static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y);
        const std::uint64_t apart = x > y ? forth : 0 - forth;
        sum_low += apart & 0xffffffffU;
        sum_high += apart >> 32U;
        further = further || apart > furthest;
        furthest = apart > furthest ? apart : furthest;
        low_a = x < low_a ? x : low_a;
        high_a = x > high_a ? x : high_a;
        low_b = y < low_b ? y : low_b;
        high_b = y > high_b ? y : high_b;
        const double limit =
            bound != nullptr ? bound[i] : options.atol + options.rtol * __builtin_fabs(static_cast<double>(y));
        beyond += static_cast<double>(apart) > limit ? 1 : 0;
    }
    if (further) {
        std::size_t i = 0;
        while ((left[i] > right[i]
                    ? static_cast<std::uint64_t>(left[i]) - static_cast<std::uint64_t>(right[i])
                    : static_cast<std::uint64_t>(right[i]) - static_cast<std::uint64_t>(left[i])) != furthest) {
            ++i;
        }
        totals.argmax = static_cast<std::int64_t>(origin + i);
        totals.max_wide = furthest;
        totals.max_abs = static_cast<double>(furthest);
    }
    totals.beyond += beyond;
    const auto lowest = [](double limit, double value) { return value < limit ? value : limit; };
    const auto highest = [](double limit, double value) { return value > limit ? value : limit; };
    totals.low_a = lowest(totals.low_a, static_cast<double>(low_a));
    totals.high_a = highest(totals.high_a, static_cast<double>(high_a));
    totals.low_b = lowest(totals.low_b, static_cast<double>(low_b));
    totals.high_b = highest(totals.high_b, static_cast<double>(high_b));
    // Both halves of the sum are doubles: 2^16 terms of 32 bits.
    const double high = static_cast<double>(sum_high) * 0x1p32;
    const double low = static_cast<double>(sum_low);
    sums.apart = {high + low, low - ((high + low) - high)};
    if (options.relative || options.cosine) {
        LongSum dot{};
        LongSum square_a{};
        LongSum square_b{};
        const auto add = [](LongSum& sum, double term) {
            const double total = sum.high + term;
            const double part = total - sum.high;
            sum.low += (sum.high - (total - part)) + (term - part);
            sum.high = total;
        };
        for (std::size_t i = 0; i < count; ++i) {
            const auto size = [](T v) {
                return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
            };
            const T x = left[i];
            const T y = right[i];
            const auto forth = static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y);
            const std::uint64_t apart = x > y ? forth : 0 - forth;
            if (apart != 0) {
                const std::uint64_t scale = size(x) > size(y) ? size(x) : size(y);
                const double ratio = static_cast<double>(apart) / static_cast<double>(scale);
                totals.max_rel = ratio > totals.max_rel ? ratio : totals.max_rel;
            }
            add(dot, static_cast<double>(x) * static_cast<double>(y));
            add(square_a, static_cast<double>(x) * static_cast<double>(x));
            add(square_b, static_cast<double>(y) * static_cast<double>(y));
        }
        sums.dot = dot;
        sums.square_a = square_a;
        sums.square_b = square_b;
    }
}

}  // namespace
}  // namespace irfuzz::IRFUZZ_TARGET
