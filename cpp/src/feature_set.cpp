#include "feature_set.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace irfuzz {
namespace {

constexpr std::size_t least_places = 16;
// Places a line of the cache. A key is looked for from the first one of its line on, so that those taken in a line come
// before those that are free: nothing is ever removed.
constexpr std::size_t line = 4;
// As many cache misses as a core has under way at once.
constexpr std::size_t ahead = 24;

[[nodiscard]] std::uint64_t mix(std::uint64_t key) noexcept {
    key ^= key >> 32U;
    key *= 0x9e3779b97f4a7c15U;
    key ^= key >> 29U;
    return key * 0xbf58476d1ce4e5b9U;
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

const FeatureSet::Place* FeatureSet::find(std::uint64_t key) const noexcept {
    const std::size_t last = places_.size() - 1;
    for (std::size_t i = start(key);; i = (i + 1) & last) {
        if (places_[i].key == key || places_[i].key == 0) {
            return &places_[i];
        }
    }
}

void FeatureSet::grow(std::size_t places) {
    std::vector<Place, LineAllocator<Place>> old(places);
    old.swap(places_);
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(places));
    for (const Place& place : old) {
        if (place.key != 0) {
            *const_cast<Place*>(find(place.key)) = place;
        }
    }
}

void FeatureSet::reserve(std::size_t keys) {
    if (keys > places_.max_size() / 4) {
        throw std::length_error("a set of " + std::to_string(keys) + " features is too large");
    }
    std::size_t places = std::max(least_places, places_.size());
    while (too_full(keys, places)) {
        places *= 2;
    }
    if (places != places_.size()) {
        grow(places);
    }
}

bool FeatureSet::count(std::uint64_t key, std::uint64_t times) {
    if (key == 0) {
        const bool fresh = zero_ == 0;
        zero_ += times;
        return fresh;
    }
    auto* place = const_cast<Place*>(find(key));
    if (place->key == 0 && too_full(size_ + 1, places_.size())) {
        grow(2 * places_.size());
        place = const_cast<Place*>(find(key));
    }
    const bool fresh = place->key == 0;
    size_ += fresh ? 1 : 0;
    place->key = key;
    place->count += times;
    return fresh;
}

void FeatureSet::is_new(std::span<const std::uint64_t> keys, std::span<std::uint8_t> fresh) const {
    require_equal(keys.size(), fresh.size());
    if (places_.empty()) {
        std::ranges::transform(keys, fresh.begin(),
                               [&](std::uint64_t key) { return static_cast<std::uint8_t>(key != 0 || zero_ == 0); });
        return;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (i + ahead < keys.size()) {
            __builtin_prefetch(&places_[start(keys[i + ahead])]);
        }
        const std::uint64_t key = keys[i];
        const Place* places = &places_[start(key)];
        // Whether it is known cannot be foreseen, and so is no branch; that a line is full seldom happens.
        bool known = static_cast<bool>(static_cast<int>(places[0].key == key) | static_cast<int>(places[1].key == key) |
                                       static_cast<int>(places[2].key == key) | static_cast<int>(places[3].key == key));
        if (key == 0) {
            known = zero_ != 0;
        } else if (!static_cast<bool>(static_cast<int>(known) | static_cast<int>(places[line - 1].key == 0))) {
            known = find(key)->key == key;
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
            __builtin_prefetch(&places_[start(keys[i + ahead])], 1);
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
        if (i + ahead < keys.size() && !places_.empty()) {
            __builtin_prefetch(&places_[start(keys[i + ahead])]);
        }
        counts[i] = keys[i] == 0 ? zero_ : places_.empty() ? 0 : find(keys[i])->count;
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
    for (const Place& place : places_) {
        if (place.key != 0) {
            found.emplace_back(place.key, place.count);
        }
    }
    return found;
}

}  // namespace irfuzz
