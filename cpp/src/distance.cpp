#include "distance.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "simd/kernels.hpp"
#include "threads.hpp"

namespace irfuzz {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
// Starting a thread costs as much as some ten thousand elements.
constexpr std::size_t worth_a_thread = 2 * chunk_size;

void add(LongSum& sum, const LongSum& term) {
    const double total = sum.high + term.high;
    const double part = total - sum.high;
    sum.low += ((sum.high - (total - part)) + (term.high - part)) + term.low;
    sum.high = total;
}

void add(ChunkSums& sums, const ChunkSums& more) {
    add(sums.apart, more.apart);
    add(sums.huge, more.huge);
    add(sums.dot, more.dot);
    add(sums.square_a, more.square_a);
    add(sums.square_b, more.square_b);
}

// The index that belongs to the larger value, or to both and comes first.
void merge_first(std::int64_t& index, std::int64_t other) {
    index = index < 0 ? other : other < 0 ? index : std::min(index, other);
}

void merge(Totals& totals, const Totals& more) {
    if (more.argmax >= 0) {
        const bool equal = more.max_abs == totals.max_abs && more.max_wide == totals.max_wide;
        if (equal && totals.argmax >= 0) {
            merge_first(totals.argmax, more.argmax);
        } else if (more.max_wide > totals.max_wide ||
                   (more.max_wide == totals.max_wide && more.max_abs > totals.max_abs)) {
            totals.argmax = more.argmax;
            totals.max_abs = more.max_abs;
            totals.max_wide = more.max_wide;
        }
    }
    totals.max_rel = std::max(totals.max_rel, more.max_rel);
    totals.low_a = std::min(totals.low_a, more.low_a);
    totals.high_a = std::max(totals.high_a, more.high_a);
    totals.low_b = std::min(totals.low_b, more.low_b);
    totals.high_b = std::max(totals.high_b, more.high_b);
    totals.mismatched += more.mismatched;
    merge_first(totals.first_mismatch, more.first_mismatch);
    totals.nan_a += more.nan_a;
    totals.nan_b += more.nan_b;
    totals.posinf_a += more.posinf_a;
    totals.posinf_b += more.posinf_b;
    totals.neginf_a += more.neginf_a;
    totals.neginf_b += more.neginf_b;
    totals.not_finite += more.not_finite;
    totals.beyond += more.beyond;
    totals.max_ulp = std::max(totals.max_ulp, more.max_ulp);
    for (std::size_t i = 0; i < ulp_buckets; ++i) {
        totals.ulp_histogram[i] += more.ulp_histogram[i];
    }
}

[[nodiscard]] double value_of(const LongSum& sum) { return sum.high + sum.low; }

// A sum of squares lost its precision, or overflowed.
[[nodiscard]] bool out_of_range(double square) { return !(square >= 0x1p-900 && square <= 0x1p1000); }

// A product of two doubles lost its precision where the sum of all is as small as this one.
[[nodiscard]] bool a_product_vanished(const Pair& pair, double dot) {
    constexpr double small = 0x1p-900;
    const auto* a = static_cast<const double*>(pair.a);
    const auto* b = static_cast<const double*>(pair.b);
    bool vanished = false;
    for (std::size_t i = 0; i < pair.count && std::fabs(dot) < small; ++i) {
        vanished = vanished || (a[i] != 0.0 && b[i] != 0.0 && std::fabs(a[i] * b[i]) < small);
    }
    return vanished;
}

// Where doubles are so large or small that their products are not doubles, once more with both sides, and their
// products, scaled by powers of two.
void scale_cosine(const Pair& pair, Distance& result) {
    const auto* a = static_cast<const double*>(pair.a);
    const auto* b = static_cast<const double*>(pair.b);
    const auto compared = [&](std::size_t i) { return std::isfinite(a[i]) && std::isfinite(b[i]); };
    constexpr int none = -8192;  // below the exponent of any product
    int top_a = none;
    int top_b = none;
    int top = none;
    for (std::size_t i = 0; i < pair.count; ++i) {
        if (compared(i)) {
            top_a = a[i] != 0.0 ? std::max(top_a, std::ilogb(a[i])) : top_a;
            top_b = b[i] != 0.0 ? std::max(top_b, std::ilogb(b[i])) : top_b;
            top = a[i] != 0.0 && b[i] != 0.0 ? std::max(top, std::ilogb(a[i]) + std::ilogb(b[i])) : top;
        }
    }
    ChunkSums sums;
    for (std::size_t i = 0; i < pair.count; ++i) {
        if (compared(i)) {
            const double x = std::scalbn(a[i], -top_a);
            const double y = std::scalbn(b[i], -top_b);
            add(sums.square_a, {x * x, 0.0});
            add(sums.square_b, {y * y, 0.0});
            if (a[i] != 0.0 && b[i] != 0.0) {
                const int up_a = std::ilogb(a[i]);
                const int up_b = std::ilogb(b[i]);
                const double product = std::scalbn(a[i], -up_a) * std::scalbn(b[i], -up_b);
                add(sums.dot, {std::scalbn(product, up_a + up_b - top), 0.0});
            }
        }
    }
    const double dot = value_of(sums.dot);
    const double norm_a = std::sqrt(value_of(sums.square_a));
    const double norm_b = std::sqrt(value_of(sums.square_b));
    result.cosine = std::scalbn(dot / (norm_a * norm_b), top - top_a - top_b);
    result.dot = std::scalbn(dot, top);
    result.norm_a = std::scalbn(norm_a, top_a);
    result.norm_b = std::scalbn(norm_b, top_b);
}

void finish(const Pair& pair, const Options& options, const Totals& totals, const ChunkSums& sums, Distance& result) {
    result = Distance{};
    result.count = static_cast<std::int64_t>(pair.count);
    result.mismatched = totals.mismatched;
    result.compared = result.count - result.mismatched;
    result.first_mismatch = totals.first_mismatch;
    if (result.compared > 0) {
        const auto compared = static_cast<double>(result.compared);
        const double sum = value_of(sums.apart);
        const double huge = value_of(sums.huge);
        result.sum_abs = huge * 0x1p64 + sum;
        result.mean_abs = huge > 0.0 ? (huge / compared) * 0x1p64 + sum / compared : sum / compared;
        result.max_abs = totals.max_abs;
        result.argmax = totals.argmax;
    }
    result.nan_a = totals.nan_a;
    result.nan_b = totals.nan_b;
    result.posinf_a = totals.posinf_a;
    result.posinf_b = totals.posinf_b;
    result.neginf_a = totals.neginf_a;
    result.neginf_b = totals.neginf_b;
    const bool any_a = totals.low_a != inf;
    const bool any_b = totals.low_b != inf;
    result.low_a = any_a ? totals.low_a + 0.0 : nan;  // -0 + 0 is 0
    result.high_a = any_a ? totals.high_a + 0.0 : nan;
    result.low_b = any_b ? totals.low_b + 0.0 : nan;
    result.high_b = any_b ? totals.high_b + 0.0 : nan;
    result.max_a = any_a ? std::max(std::fabs(totals.low_a), std::fabs(totals.high_a)) : 0.0;
    result.max_b = any_b ? std::max(std::fabs(totals.low_b), std::fabs(totals.high_b)) : 0.0;
    result.beyond = totals.beyond;
    result.max_rel = options.relative ? totals.max_rel : nan;
    result.dot = result.norm_a = result.norm_b = result.cosine = nan;
    if (options.cosine) {
        const double square_a = value_of(sums.square_a);
        const double square_b = value_of(sums.square_b);
        result.dot = value_of(sums.dot);
        result.norm_a = std::sqrt(square_a);
        result.norm_b = std::sqrt(square_b);
        result.cosine = result.dot / (result.norm_a * result.norm_b);
        if (pair.element == Element::float64 &&
            ((result.max_a > 0.0 && out_of_range(square_a)) || (result.max_b > 0.0 && out_of_range(square_b)) ||
             a_product_vanished(pair, result.dot))) {
            scale_cosine(pair, result);
        }
    }
    if (options.ulp && is_float(pair.element)) {
        result.max_ulp = totals.max_ulp;
        auto equal = static_cast<std::uint64_t>(result.count - totals.not_finite);
        for (std::size_t k = 1; k < ulp_buckets; ++k) {
            result.ulp_histogram[k] = totals.ulp_histogram[k];
            equal -= totals.ulp_histogram[k];
        }
        result.ulp_histogram[0] = equal;
    }
}

void run_chunk(const Kernels& kernels, const Pair& pair, std::size_t chunk, const Options& options, Totals& totals,
               ChunkSums& sums) {
    const std::size_t origin = chunk * chunk_size;
    const std::size_t offset = origin * size_of(pair.element);
    kernels.distance.chunk[static_cast<std::size_t>(pair.element)](
        static_cast<const std::byte*>(pair.a) + offset, static_cast<const std::byte*>(pair.b) + offset,
        pair.bound != nullptr ? pair.bound + origin : nullptr, std::min(chunk_size, pair.count - origin), origin,
        options, totals, sums);
}

[[nodiscard]] std::size_t chunks_of(const Pair& pair) { return (pair.count + chunk_size - 1) / chunk_size; }

void one_thread(const Kernels& kernels, std::span<const Pair> pairs, std::span<Distance> results,
                const Options& options) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        Totals totals;
        ChunkSums sums;
        for (std::size_t chunk = 0; chunk < chunks_of(pairs[i]); ++chunk) {
            ChunkSums part;
            run_chunk(kernels, pairs[i], chunk, options, totals, part);
            add(sums, part);
        }
        finish(pairs[i], options, totals, sums, results[i]);
    }
}

void some_threads(const Kernels& kernels, std::span<const Pair> pairs, std::span<Distance> results,
                  const Options& options, unsigned threads) {
    std::vector<std::size_t> first(pairs.size() + 1, 0);  // a pair's first chunk, counted over all pairs
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        first[i + 1] = first[i] + chunks_of(pairs[i]);
    }
    std::vector<ChunkSums> parts(first.back());
    std::vector<Totals> totals(pairs.size());
    std::mutex merging;
    std::atomic<std::size_t> next{0};
    run_on_threads(threads, [&] {
        Totals mine;
        std::size_t of = 0;
        bool any = false;
        const auto hand_over = [&] {
            if (any) {
                const std::scoped_lock lock(merging);
                merge(totals[of], mine);
            }
            mine = Totals{};
            any = false;
        };
        for (std::size_t chunk = next.fetch_add(1); chunk < parts.size(); chunk = next.fetch_add(1)) {
            if (chunk >= first[of + 1]) {
                hand_over();
                of = static_cast<std::size_t>(std::ranges::upper_bound(first, chunk) - first.begin()) - 1;
            }
            run_chunk(kernels, pairs[of], chunk - first[of], options, mine, parts[chunk]);
            any = true;
        }
        hand_over();
    });
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        ChunkSums sums;
        for (std::size_t chunk = first[i]; chunk < first[i + 1]; ++chunk) {
            add(sums, parts[chunk]);
        }
        finish(pairs[i], options, totals[i], sums, results[i]);
    }
}

}  // namespace

void distances(std::span<const Pair> pairs, std::span<Distance> results, const Options& options, unsigned threads) {
    if (pairs.size() != results.size()) {
        throw std::invalid_argument("distances: " + std::to_string(pairs.size()) + " pairs and " +
                                    std::to_string(results.size()) + " results");
    }
    std::size_t work = 0;
    for (const Pair& pair : pairs) {
        work += pair.count;
    }
    const Kernels& kernels = chosen_kernels();
    const std::size_t most = work / worth_a_thread;
    if (threads <= 1 || most <= 1) {
        one_thread(kernels, pairs, results, options);
    } else {
        some_threads(kernels, pairs, results, options, static_cast<unsigned>(std::min<std::size_t>(threads, most)));
    }
}

template <typename T>
Distance distance(std::span<const T> a, std::span<const T> b, const Options& options, unsigned threads) {
    if (a.size() != b.size()) {
        throw std::invalid_argument("distance: spans of different length");
    }
    const Pair pair{a.data(), b.data(), nullptr, a.size(), element_of<T>};
    Distance result;
    distances(std::span(&pair, 1), std::span(&result, 1), options, threads);
    return result;
}

template Distance distance<float>(std::span<const float>, std::span<const float>, const Options&, unsigned);
template Distance distance<double>(std::span<const double>, std::span<const double>, const Options&, unsigned);
template Distance distance<Float16>(std::span<const Float16>, std::span<const Float16>, const Options&, unsigned);
template Distance distance<BFloat16>(std::span<const BFloat16>, std::span<const BFloat16>, const Options&, unsigned);
template Distance distance<Bool>(std::span<const Bool>, std::span<const Bool>, const Options&, unsigned);
template Distance distance<std::int8_t>(std::span<const std::int8_t>, std::span<const std::int8_t>, const Options&,
                                        unsigned);
template Distance distance<std::int16_t>(std::span<const std::int16_t>, std::span<const std::int16_t>, const Options&,
                                         unsigned);
template Distance distance<std::int32_t>(std::span<const std::int32_t>, std::span<const std::int32_t>, const Options&,
                                         unsigned);
template Distance distance<std::int64_t>(std::span<const std::int64_t>, std::span<const std::int64_t>, const Options&,
                                         unsigned);
template Distance distance<std::uint8_t>(std::span<const std::uint8_t>, std::span<const std::uint8_t>, const Options&,
                                         unsigned);
template Distance distance<std::uint16_t>(std::span<const std::uint16_t>, std::span<const std::uint16_t>,
                                          const Options&, unsigned);
template Distance distance<std::uint32_t>(std::span<const std::uint32_t>, std::span<const std::uint32_t>,
                                          const Options&, unsigned);
template Distance distance<std::uint64_t>(std::span<const std::uint64_t>, std::span<const std::uint64_t>,
                                          const Options&, unsigned);

}  // namespace irfuzz
