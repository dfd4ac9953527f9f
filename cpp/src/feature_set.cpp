#include "feature_set.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace irfuzz {
namespace {

constexpr std::size_t least_places = 16;
// Places a line of the cache. A key is looked for from the first one of its line on, so that those taken in a line come
// before those that are free: nothing is ever removed.
constexpr std::size_t line = 8;
// More than the cache misses that a core has under way at once.
constexpr std::size_t ahead = 32;

[[nodiscard]] std::uint64_t mix(std::uint64_t key) noexcept {
    key ^= key >> 32U;
    key *= 0x9e3779b97f4a7c15U;
    key ^= key >> 29U;
    return key * 0xbf58476d1ce4e5b9U;
}

// Whether a line has a key, without a branch.
[[nodiscard]] bool holds(const std::uint64_t* places, std::uint64_t key) noexcept {
#if defined(__SSE2__)
    // The oldest vectors of x86 compare halves of a key; a bit each, of which two neighbours must be set.
    const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(key));
    const auto* pairs = static_cast<const __m128i*>(static_cast<const void*>(places));
    const auto same = [&](std::size_t i) { return _mm_cmpeq_epi32(_mm_load_si128(pairs + i), wanted); };
    const __m128i low = _mm_packs_epi32(same(0), same(1));
    const __m128i high = _mm_packs_epi32(same(2), same(3));
    const auto halves = static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    return (halves & (halves >> 1U) & 0x5555U) != 0;
#else
    int found = 0;
    for (std::size_t i = 0; i < line; ++i) {
        found |= static_cast<int>(places[i] == key);
    }
    return found != 0;
#endif
}

[[nodiscard]] constexpr bool too_full(std::size_t keys, std::size_t places) { return keys > places / 8 * 5; }

void require_equal(std::size_t keys, std::size_t results) {
    if (keys != results) {
        throw std::invalid_argument("as many results as keys are needed");
    }
}

}  // namespace

std::size_t FeatureSet::start(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(mix(key) >> shift_) & ~(line - 1);
}

std::size_t FeatureSet::find(std::uint64_t key) const noexcept {
    const std::size_t last = keys_.size() - 1;
    std::size_t place = start(key);
    while (keys_[place] != key && keys_[place] != 0) {
        place = (place + 1) & last;
    }
    return place;
}

void FeatureSet::grow(std::size_t places) {
    Places keys(places);
    Places counts(places);
    keys.swap(keys_);
    counts.swap(counts_);
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(places));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] != 0) {
            const std::size_t place = find(keys[i]);
            keys_[place] = keys[i];
            counts_[place] = counts[i];
        }
    }
}

void FeatureSet::reserve(std::size_t keys) {
    if (keys > keys_.max_size() / 4) {
        throw std::length_error("a set of " + std::to_string(keys) + " features is too large");
    }
    std::size_t places = std::max(least_places, keys_.size());
    while (too_full(keys, places)) {
        places *= 2;
    }
    if (places != keys_.size()) {
        grow(places);
    }
}

bool FeatureSet::count(std::uint64_t key, std::uint64_t times) {
    if (key == 0) {
        const bool fresh = zero_ == 0;
        zero_ += times;
        return fresh;
    }
    std::size_t place = find(key);
    const bool fresh = keys_[place] == 0;
    if (fresh && too_full(size_ + 1, keys_.size())) {
        grow(2 * keys_.size());
        place = find(key);
    }
    size_ += fresh ? 1 : 0;
    keys_[place] = key;
    counts_[place] += times;
    return fresh;
}

void FeatureSet::is_new(std::span<const std::uint64_t> keys, std::span<std::uint8_t> fresh) const {
    require_equal(keys.size(), fresh.size());
    if (keys_.empty()) {
        std::ranges::transform(keys, fresh.begin(),
                               [&](std::uint64_t key) { return static_cast<std::uint8_t>(key != 0 || zero_ == 0); });
        return;
    }
    // Where the next keys are looked for, worked out when their lines are sent for.
    std::array<const std::uint64_t*, ahead> lines;
    const auto send_for = [&](std::size_t i) {
        lines[i % ahead] = &keys_[start(keys[i])];
        __builtin_prefetch(lines[i % ahead]);
    };
    for (std::size_t i = 0; i < std::min(ahead, keys.size()); ++i) {
        send_for(i);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::uint64_t key = keys[i];
        const std::uint64_t* places = lines[i % ahead];
        if (i + ahead < keys.size()) {
            send_for(i + ahead);
        }
        // Whether it is known cannot be foreseen; that a line is full seldom happens.
        bool known = holds(places, key);
        if (key == 0) {
            known = zero_ != 0;
        } else if ((static_cast<int>(known) | static_cast<int>(places[line - 1] == 0)) == 0) {
            known = keys_[find(key)] == key;
        }
        fresh[i] = known ? 0 : 1;
    }
}

std::size_t FeatureSet::add(std::span<const std::uint64_t> keys, std::span<std::uint8_t> fresh) {
    require_equal(keys.size(), fresh.size());
    reserve(size_);  // at least the first places
    std::size_t total = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (i + ahead < keys.size()) {
            const std::size_t next = start(keys[i + ahead]);
            __builtin_prefetch(&keys_[next], 1);
            __builtin_prefetch(&counts_[next], 1);
        }
        const bool added = count(keys[i], 1);
        fresh[i] = added ? 1 : 0;
        total += fresh[i];
    }
    return total;
}

void FeatureSet::counts(std::span<const std::uint64_t> keys, std::span<std::uint64_t> counts) const {
    require_equal(keys.size(), counts.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (i + ahead < keys.size() && !keys_.empty()) {
            const std::size_t next = start(keys[i + ahead]);
            __builtin_prefetch(&keys_[next]);
            __builtin_prefetch(&counts_[next]);
        }
        if (keys[i] == 0) {
            counts[i] = zero_;
        } else {
            counts[i] = keys_.empty() ? 0 : counts_[find(keys[i])];
        }
    }
}

std::size_t FeatureSet::merge(const FeatureSet& other) {
    reserve(size_);
    std::size_t fresh = 0;
    for (const auto& [key, times] : other.items()) {
        fresh += count(key, times) ? 1 : 0;
    }
    return fresh;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> FeatureSet::items() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    found.reserve(size());
    if (zero_ != 0) {
        found.emplace_back(0, zero_);
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        if (keys_[i] != 0) {
            found.emplace_back(keys_[i], counts_[i]);
        }
    }
    return found;
}

}  // namespace irfuzz
