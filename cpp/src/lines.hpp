// Memory for vectors that are read by whole lines of the cache.
#pragma once

#include <cstddef>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace irfuzz {

// Begins with a line of the cache; where it is much, with a large page, so that entries of the page table are few.
template <typename T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::size_t line = 64;
    static constexpr std::size_t large_page = std::size_t{1} << 21;

    LineAllocator() = default;
    template <typename U>
    explicit LineAllocator(const LineAllocator<U>& /*other*/) noexcept {}

    [[nodiscard]] T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        void* memory = ::operator new(bytes, alignment_of(bytes));
#if defined(__linux__)
        if (bytes >= 2 * large_page) {
            (void)madvise(memory, bytes, MADV_HUGEPAGE);  // no more than a wish
        }
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        ::operator delete(memory, alignment_of(count * sizeof(T)));
    }
    template <typename U>
    bool operator==(const LineAllocator<U>& /*other*/) const noexcept {
        return true;
    }

  private:
    [[nodiscard]] static std::align_val_t alignment_of(std::size_t bytes) noexcept {
        return static_cast<std::align_val_t>(bytes >= 2 * large_page ? large_page : line);
    }
};

}  // namespace irfuzz
