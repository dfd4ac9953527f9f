// How far each vector is from the nearest of those before; exact, though most of them are never read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lines.hpp"

namespace irfuzz {

// The distance from q to x is at least that between their codes less both coding errors. A scan over the codes, a byte
// a number, leaves only vectors for which this is no more than the nearest distance so far; those are compared in
// doubles. Not for two threads at a time.
class Novelty {
  public:
    // 1 to 100,000 dimensions, else std::invalid_argument.
    explicit Novelty(std::size_t dimensions);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::size_t bytes() const noexcept;

    // Vectors one after the other; numbers that are not finite throw std::invalid_argument before anything is changed.
    void add(std::span<const float> vectors);
    // Euclidean distance and index, of equally near ones the first; infinity and -1 without any.
    void nearest(std::span<const float> vectors, std::span<double> distances, std::span<std::int64_t> indices,
                 unsigned threads) const;
    // In their order, adds those farther than the threshold from all before; their distances, and 1 where added.
    void add_novel(std::span<const float> vectors, double threshold, std::span<double> distances,
                   std::span<std::uint8_t> added, unsigned threads);

  private:
    struct Search;

    [[nodiscard]] std::size_t rows_of(std::span<const float> vectors) const;
    void append(const float* vector);
    void search(Search& search, unsigned threads) const;

    std::size_t dimensions_;
    std::size_t quads_;
    std::size_t size_ = 0;
    std::vector<std::uint8_t, LineAllocator<std::uint8_t>> codes_;
    std::vector<float, LineAllocator<float>> vectors_;
    std::vector<float> scales_;
    std::vector<float> squares_;
    std::vector<float> errors_;
};

}  // namespace irfuzz
