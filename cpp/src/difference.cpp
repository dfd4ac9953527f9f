#include "difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace irfuzz {
namespace {

// Independent accumulators: they let the compiler vectorise, and they keep the sums short and so accurate.
constexpr std::size_t lanes = 8;
// Two blocks of doubles stay in the first-level cache.
constexpr std::size_t block = 128 * lanes;

template <typename T>
inline constexpr bool is_wide_integer = std::is_integral_v<T> && sizeof(T) == 8;

template <typename T>
[[nodiscard]] double as_double(T value) noexcept {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(std::int32_t)) {
        return static_cast<double>(static_cast<std::int32_t>(value));  // in two steps it vectorises
    } else if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(value);
    } else {
        return static_cast<double>(widen(value));
    }
}

[[nodiscard]] double larger(double x, double y) noexcept { return x > y ? x : y; }

// |a - b| without overflow, whatever the signs.
template <typename T>
[[nodiscard]] std::uint64_t distance(T a, T b) noexcept {
    const auto left = static_cast<std::uint64_t>(a);
    const auto right = static_cast<std::uint64_t>(b);
    return a > b ? left - right : right - left;
}

enum class Class : std::uint8_t { finite, nan, posinf, neginf };

[[nodiscard]] Class classify(double value) noexcept {
    if (std::isfinite(value)) {
        return Class::finite;
    }
    if (std::isnan(value)) {
        return Class::nan;
    }
    return value > 0.0 ? Class::posinf : Class::neginf;
}

void count_special(Class kind, std::int64_t& nan, std::int64_t& posinf, std::int64_t& neginf) noexcept {
    nan += kind == Class::nan ? 1 : 0;
    posinf += kind == Class::posinf ? 1 : 0;
    neginf += kind == Class::neginf ? 1 : 0;
}

struct State {
    Difference result;
    // Wider than double, so that a sum of huge differences neither overflows nor loses the small ones. Every term is
    // positive and a block's sum is one term, so no further compensation is needed.
    long double sum = 0.0L;
    double max_abs = -1.0;  // below every difference: the first compared pair becomes argmax
};

// One pair at a time: for the last few, and for blocks with NaN, infinities or a difference that exceeds a double.
// `origin` is the index of the first pair in the whole arrays.
void add_pairs(State& state, std::span<const double> a, std::span<const double> b, std::size_t origin) {
    Difference& result = state.result;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a[i];
        const double y = b[i];
        const Class kind_a = classify(x);
        const Class kind_b = classify(y);
        count_special(kind_a, result.nan_a, result.posinf_a, result.neginf_a);
        count_special(kind_b, result.nan_b, result.posinf_b, result.neginf_b);
        if (kind_a == Class::finite) {
            result.max_a = larger(std::fabs(x), result.max_a);
        }
        if (kind_b == Class::finite) {
            result.max_b = larger(std::fabs(y), result.max_b);
        }
        if (kind_a != kind_b) {
            if (result.mismatched == 0) {
                result.first_mismatch = static_cast<std::int64_t>(origin + i);
            }
            ++result.mismatched;
            continue;
        }
        double apart = 0.0;
        if (kind_a == Class::finite) {
            apart = std::fabs(x - y);
            state.sum += std::fabs(static_cast<long double>(x) - static_cast<long double>(y));
            const double scale = larger(std::fabs(x), std::fabs(y));
            if (scale > 0.0) {
                // Divide first where the difference itself overflows.
                const double ratio = std::isinf(apart) ? std::fabs(x / scale - y / scale) : apart / scale;
                result.max_rel = larger(ratio, result.max_rel);
            }
        }
        if (apart > state.max_abs) {
            state.max_abs = apart;
            result.argmax = static_cast<std::int64_t>(origin + i);
        }
    }
}

// At most a block, a multiple of the lanes, of finite numbers. Returns false, having changed nothing, where it holds
// anything else.
[[nodiscard]] bool add_lanes(State& state, std::span<const double> a, std::span<const double> b, std::size_t origin) {
    std::array<double, lanes> sum{};
    std::array<double, lanes> apart{};
    std::array<double, lanes> ratio{};
    std::array<double, lanes> max_a{};
    std::array<double, lanes> max_b{};
    std::array<double, lanes> poison{};
    for (std::size_t i = 0; i < a.size(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double x = a[i + lane];
            const double y = b[i + lane];
            const double size_x = std::fabs(x);
            const double size_y = std::fabs(y);
            const double distance_xy = std::fabs(x - y);
            // The smallest number instead of zero: 0 / 0 must be 0, and every other quotient stays as it is.
            const double scale = larger(larger(size_x, size_y), std::numeric_limits<double>::denorm_min());
            sum[lane] += distance_xy;
            apart[lane] = larger(distance_xy, apart[lane]);
            ratio[lane] = larger(distance_xy / scale, ratio[lane]);
            max_a[lane] = larger(size_x, max_a[lane]);
            max_b[lane] = larger(size_y, max_b[lane]);
            poison[lane] += x * 0.0 + y * 0.0;  // NaN where x or y is not finite
        }
    }
    double total = 0.0;
    double poisoned = 0.0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        total += sum[lane];
        poisoned += poison[lane];
    }
    if (!std::isfinite(total) || std::isnan(poisoned)) {
        return false;
    }
    Difference& result = state.result;
    state.sum += static_cast<long double>(total);
    result.max_a = larger(*std::ranges::max_element(max_a), result.max_a);
    result.max_b = larger(*std::ranges::max_element(max_b), result.max_b);
    result.max_rel = larger(*std::ranges::max_element(ratio), result.max_rel);
    const double furthest = *std::ranges::max_element(apart);
    if (furthest > state.max_abs) {
        state.max_abs = furthest;
        // Found again rather than carried along: this happens in few blocks, and the index would slow down all of them.
        std::size_t i = 0;
        while (std::fabs(a[i] - b[i]) != furthest) {
            ++i;
        }
        result.argmax = static_cast<std::int64_t>(origin + i);
    }
    return true;
}

void add_block(State& state, std::span<const double> a, std::span<const double> b, std::size_t origin) {
    const std::size_t even = a.size() - a.size() % lanes;
    if (even != 0 && !add_lanes(state, a.first(even), b.first(even), origin)) {
        add_pairs(state, a.first(even), b.first(even), origin);
    }
    add_pairs(state, a.subspan(even), b.subspan(even), origin + even);
}

// Types whose every value is a double.
template <typename T>
void add_narrow(State& state, std::span<const T> a, std::span<const T> b) {
    std::array<double, block> left;
    std::array<double, block> right;
    for (std::size_t origin = 0; origin < a.size(); origin += block) {
        const std::size_t size = std::min(block, a.size() - origin);
        const auto part_a = a.subspan(origin, size);
        const auto part_b = b.subspan(origin, size);
        if constexpr (std::is_same_v<T, double>) {
            add_block(state, part_a, part_b, origin);
        } else {
            std::ranges::transform(part_a, left.begin(), as_double<T>);
            std::ranges::transform(part_b, right.begin(), as_double<T>);
            add_block(state, std::span(left).first(size), std::span(right).first(size), origin);
        }
    }
}

// 64-bit integers: a double would not tell neighbours above 2^53 apart.
template <typename T>
void add_wide(State& state, std::span<const T> a, std::span<const T> b) {
    Difference& result = state.result;
    std::uint64_t furthest = 0;
    std::uint64_t max_a = 0;
    std::uint64_t max_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::uint64_t size_a = distance(a[i], T{0});
        const std::uint64_t size_b = distance(b[i], T{0});
        const std::uint64_t apart = distance(a[i], b[i]);
        max_a = std::max(max_a, size_a);
        max_b = std::max(max_b, size_b);
        if (apart > furthest || result.argmax < 0) {
            furthest = apart;
            result.argmax = static_cast<std::int64_t>(i);
        }
        if (apart != 0) {
            state.sum += static_cast<long double>(apart);
            const double ratio = static_cast<double>(apart) / static_cast<double>(std::max(size_a, size_b));
            result.max_rel = larger(ratio, result.max_rel);
        }
    }
    result.max_a = static_cast<double>(max_a);
    result.max_b = static_cast<double>(max_b);
    state.max_abs = static_cast<double>(furthest);
}

}  // namespace

template <typename T>
Difference difference(std::span<const T> a, std::span<const T> b) {
    if (a.size() != b.size()) {
        throw std::invalid_argument("difference: spans of different length");
    }
    State state;
    if constexpr (is_wide_integer<T>) {
        add_wide(state, a, b);
    } else {
        add_narrow(state, a, b);
    }
    Difference& result = state.result;
    result.count = static_cast<std::int64_t>(a.size());
    result.compared = result.count - result.mismatched;
    if (result.compared > 0) {
        result.max_abs = state.max_abs;
        result.mean_abs = static_cast<double>(state.sum / static_cast<long double>(result.compared));
    }
    return result;
}

template Difference difference<float>(std::span<const float>, std::span<const float>);
template Difference difference<double>(std::span<const double>, std::span<const double>);
template Difference difference<Float16>(std::span<const Float16>, std::span<const Float16>);
template Difference difference<BFloat16>(std::span<const BFloat16>, std::span<const BFloat16>);
template Difference difference<Bool>(std::span<const Bool>, std::span<const Bool>);
template Difference difference<std::int8_t>(std::span<const std::int8_t>, std::span<const std::int8_t>);
template Difference difference<std::int16_t>(std::span<const std::int16_t>, std::span<const std::int16_t>);
template Difference difference<std::int32_t>(std::span<const std::int32_t>, std::span<const std::int32_t>);
template Difference difference<std::int64_t>(std::span<const std::int64_t>, std::span<const std::int64_t>);
template Difference difference<std::uint8_t>(std::span<const std::uint8_t>, std::span<const std::uint8_t>);
template Difference difference<std::uint16_t>(std::span<const std::uint16_t>, std::span<const std::uint16_t>);
template Difference difference<std::uint32_t>(std::span<const std::uint32_t>, std::span<const std::uint32_t>);
template Difference difference<std::uint64_t>(std::span<const std::uint64_t>, std::span<const std::uint64_t>);

}  // namespace irfuzz
