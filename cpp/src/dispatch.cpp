#include "dispatch.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "simd/kernels.hpp"

namespace irfuzz {
namespace {

#define IRFUZZ_KERNELS(set) \
    static const Kernels set##_kernels = {#set, set::distance_table(), set::coverage_table(), set::novelty_table()}

[[nodiscard]] std::vector<const Kernels*> find_usable() {
    IRFUZZ_KERNELS(baseline);
    std::vector<const Kernels*> found = {&baseline_kernels};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
        __builtin_cpu_supports("popcnt") != 0 && __builtin_cpu_supports("f16c") != 0) {
        IRFUZZ_KERNELS(avx2);
        found.push_back(&avx2_kernels);
        if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
            __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
            __builtin_cpu_supports("avx512cd") != 0) {
            IRFUZZ_KERNELS(avx512);
            found.push_back(&avx512_kernels);
        }
    }
#endif
    return found;
}

[[nodiscard]] const std::vector<const Kernels*>& usable() {
    static const std::vector<const Kernels*> found = find_usable();
    return found;
}

[[nodiscard]] std::atomic<const Kernels*>& choice() {
    static std::atomic<const Kernels*> chosen{usable().back()};
    return chosen;
}

}  // namespace

std::span<const Kernels* const> usable_kernels() { return usable(); }

const Kernels& chosen_kernels() noexcept { return *choice().load(std::memory_order_relaxed); }

void choose_kernels(std::string_view name) {
    std::string names;
    for (const Kernels* kernels : usable()) {
        if (name == kernels->name) {
            choice().store(kernels, std::memory_order_relaxed);
            return;
        }
        names += names.empty() ? "" : ", ";
        names += kernels->name;
    }
    throw std::invalid_argument("instruction set '" + std::string(name) + "' is not one of this machine's: " + names);
}

}  // namespace irfuzz
