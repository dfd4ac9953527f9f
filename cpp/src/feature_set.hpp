// A set of 64-bit features with counts, which says which keys of a batch are new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lines.hpp"

namespace irfuzz {

// Open addressing with linear probing from the start of a line of the cache, a power of two of places, at most 5 in 8
// of them taken; a batch's places are fetched ahead. Counts lie apart, as most questions are about keys only. Any keys
// will do, they are mixed here. Not for two threads at a time.
class FeatureSet {
  public:
    [[nodiscard]] std::size_t size() const noexcept { return size_ + (zero_ != 0 ? 1 : 0); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return (keys_.capacity() + counts_.capacity()) * sizeof(std::uint64_t);
    }

    // Room for so many keys without growing. Throws std::length_error or std::bad_alloc.
    void reserve(std::size_t keys);

    // 1 for each key that is not in the set. The spans are of one length (std::invalid_argument).
    void is_new(std::span<const std::uint64_t> keys, std::span<std::uint8_t> fresh) const;
    // Counts each key once more; 1 for each that was not in the set, nor earlier in the batch. Gives their number.
    std::size_t add(std::span<const std::uint64_t> keys, std::span<std::uint8_t> fresh);
    // How often each key was added.
    void counts(std::span<const std::uint64_t> keys, std::span<std::uint64_t> counts) const;
    // Adds the other's keys and counts; gives the number of new keys.
    std::size_t merge(const FeatureSet& other);
    // All keys with their counts, in no particular order.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> items() const;

  private:
    using Places = std::vector<std::uint64_t, LineAllocator<std::uint64_t>>;

    // The first place of the line that a key is looked for from.
    [[nodiscard]] std::size_t start(std::uint64_t key) const noexcept;
    // The place of a key, or the free one that it would get.
    [[nodiscard]] std::size_t find(std::uint64_t key) const noexcept;
    bool count(std::uint64_t key, std::uint64_t times);
    void grow(std::size_t places);

    Places keys_;  // 0: free
    Places counts_;
    unsigned shift_ = 64;     // 64 - log2(places)
    std::size_t size_ = 0;    // without the key 0
    std::uint64_t zero_ = 0;  // the count of the key 0
};

}  // namespace irfuzz
