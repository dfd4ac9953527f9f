// Two spans of equal length and type enter, a summary of where and how far they differ leaves, in one pass.
#pragma once

#include <cstdint>
#include <span>

#include "element.hpp"

namespace irfuzz {

// What two arrays differ in. "Compared" are the pairs of two finite numbers, of two NaNs and of two infinities of one
// sign; the last two count as equal. Every other pair (a NaN against a number, +Inf against -Inf, ...) is mismatched
// and has no part in mean_abs, max_abs, argmax and max_rel.
struct Difference {
    std::int64_t count = 0;            // pairs
    std::int64_t compared = 0;         // pairs that are not mismatched
    std::int64_t mismatched = 0;       // pairs whose class (finite, NaN, +Inf, -Inf) differs
    std::int64_t first_mismatch = -1;  // row-major index of the first of them, -1 without
    double mean_abs = 0.0;             // mean of |a - b| over the compared pairs, 0 without any
    double max_abs = 0.0;              // largest |a - b| over the compared pairs; infinite where it exceeds a double
    std::int64_t argmax = -1;          // row-major index of the first pair at max_abs, -1 without compared pairs
    double max_rel = 0.0;              // largest |a - b| / max(|a|, |b|), in [0, 2]; 0 where a == b
    double max_a = 0.0;                // largest |a| over the finite elements of a
    double max_b = 0.0;
    std::int64_t nan_a = 0;
    std::int64_t nan_b = 0;
    std::int64_t posinf_a = 0;
    std::int64_t posinf_b = 0;
    std::int64_t neginf_a = 0;
    std::int64_t neginf_b = 0;
};

// Instantiated for float, double, Float16, BFloat16, Bool and the integers of 8 to 64 bits.
// Every |a - b| is the exact one rounded once to double; which is the largest is decided on exact values for integers
// (neighbours above 2^53 are told apart) and on rounded ones otherwise.
// The mean's relative error is below 1e-13. Throws std::invalid_argument where the lengths differ.
template <typename T>
[[nodiscard]] Difference difference(std::span<const T> a, std::span<const T> b);

}  // namespace irfuzz
