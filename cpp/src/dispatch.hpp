// Which instruction set the kernels use: the best of the machine's, unless told otherwise.
#pragma once

#include <span>
#include <string_view>

namespace irfuzz {

struct Kernels;

// Those that this build has and this machine runs, the plainest first.
[[nodiscard]] std::span<const Kernels* const> usable_kernels();

// The chosen ones; at first the last of usable_kernels().
[[nodiscard]] const Kernels& chosen_kernels() noexcept;

// For the whole process, from the next call of a kernel on. Throws std::invalid_argument where the name is not usable.
void choose_kernels(std::string_view name);

}  // namespace irfuzz
