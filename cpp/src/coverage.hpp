// Sets bits for what activations cover in bitmaps, in place, and returns the number of new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "distance.hpp"

namespace irfuzz {

// A row a sample, a column a neuron (or class), row-major; of a floating-point type.
struct Activations {
    const void* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    Element element = Element::float32;
};

// Bit i of a bitmap is bit i % 8 of byte i / 8, the lowest first.
[[nodiscard]] constexpr std::size_t bytes_for(std::size_t bits) noexcept { return bits / 8 + (bits % 8 != 0 ? 1 : 0); }

// Bits that `found` has and `seen` has not.
[[nodiscard]] std::uint64_t new_bits(std::span<const std::uint8_t> seen, std::span<const std::uint8_t> found);
// The same, and then `seen` has them too.
std::uint64_t merge_bits(std::span<std::uint8_t> seen, std::span<const std::uint8_t> found);

// k-multisection (DeepGauge): a neuron's range [low, high] in `sections` equal parts, each of them a bit of the
// neuron's row of bytes_for(sections) bytes. Value v is in part min(floor((v - low) * (sections / (high - low))),
// sections - 1), in doubles; one outside the range is in none. `low` and `high` are doubles for doubles, and floats for
// all others.
std::uint64_t cover_sections(const Activations& values, const void* low, const void* high, std::size_t sections,
                             std::uint8_t* covered, unsigned threads);

// Neuron boundaries (DeepGauge): a bit for each neuron that went below its low, and one for each above its high.
// `below` may be null (strong neuron activation coverage).
std::uint64_t cover_boundaries(const Activations& values, const void* low, const void* high, std::uint8_t* below,
                               std::uint8_t* above);

// Neuron coverage (DeepXplore): a bit for each neuron above the threshold; scaled, where v - min > threshold * (max -
// min) over the finite values of its row.
std::uint64_t cover_neurons(const Activations& values, double threshold, bool scaled, std::uint8_t* covered);

// The columns of each row's k largest values, the largest first, of equal ones the first; NaN is never among them, and
// -1 stands where there are no more numbers.
void top(const Activations& values, std::size_t k, std::int64_t* columns);

// Top-k neuron coverage (DeepGauge): a bit for each neuron that was among the k largest of a row.
std::uint64_t cover_top(const Activations& values, std::size_t k, std::uint8_t* covered);

// The place of each row's label when its values are sorted as top() does, NaN last; the first is 1.
void ranks(const Activations& values, const std::int64_t* labels, std::int64_t* ranks);

}  // namespace irfuzz
