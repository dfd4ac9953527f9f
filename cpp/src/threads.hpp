// Threads for one call: started for it, joined before it returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace irfuzz {

// Runs work() on this thread and on at most `threads - 1` others; where the system gives none, on this one alone. The
// work shares itself out. What it throws on any of them is thrown here, once all have ended.
template <typename Work>
void run_on_threads(unsigned threads, const Work& work) {
    std::vector<std::exception_ptr> errors(std::max(threads, 1U));
    const auto guarded = [&](std::size_t index) noexcept {
        try {
            work();
        } catch (...) {
            errors[index] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(errors.size());
    for (std::size_t i = 1; i < errors.size(); ++i) {
        try {
            others.emplace_back(guarded, i);
        } catch (const std::system_error&) {
            break;
        }
    }
    guarded(0);
    for (std::thread& other : others) {
        other.join();
    }
    for (const std::exception_ptr& error : errors) {
        if (error) {
            std::rethrow_exception(error);
        }
    }
}

}  // namespace irfuzz
