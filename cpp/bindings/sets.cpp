// Objects that live between calls: the set of features.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "arrays.hpp"
#include "feature_set.hpp"

namespace irfuzz::bindings {
namespace {

// Several threads of Python may use one set: the kernels run without the interpreter's lock, so it has one of its own.
class Features {
  public:
    [[nodiscard]] py::array_t<bool> is_new(const py::object& keys) const {
        const py::object held = keys_of(keys, "is_new");
        py::array_t<bool> fresh(shape_of_keys(held));
        const std::span<std::uint8_t> to = bytes_of(fresh);
        const Unlocked unlocked(8 * to.size());
        const std::scoped_lock lock(mutex_);
        set_.is_new(span_of(held), to);
        return fresh;
    }

    [[nodiscard]] py::array_t<bool> add(const py::object& keys) {
        const py::object held = keys_of(keys, "add");
        py::array_t<bool> fresh(shape_of_keys(held));
        const std::span<std::uint8_t> to = bytes_of(fresh);
        const Unlocked unlocked(8 * to.size());
        const std::scoped_lock lock(mutex_);
        set_.add(span_of(held), to);
        return fresh;
    }

    [[nodiscard]] py::array_t<std::uint64_t> counts(const py::object& keys) const {
        const py::object held = keys_of(keys, "counts");
        py::array_t<std::uint64_t> found(shape_of_keys(held));
        const std::span<std::uint64_t> to(found.mutable_data(), static_cast<std::size_t>(found.size()));
        const Unlocked unlocked(8 * to.size());
        const std::scoped_lock lock(mutex_);
        set_.counts(span_of(held), to);
        return found;
    }

    std::size_t merge(const Features& other) {
        const py::gil_scoped_release unlocked;
        if (this == &other) {
            const std::scoped_lock lock(mutex_);
            return set_.merge(set_);
        }
        const std::scoped_lock lock(mutex_, other.mutex_);
        return set_.merge(other.set_);
    }

    void reserve(py::ssize_t keys) {
        if (keys < 0) {
            throw py::value_error("reserve: a number of keys is 0 or more, got " + std::to_string(keys));
        }
        const std::scoped_lock lock(mutex_);
        set_.reserve(static_cast<std::size_t>(keys));
    }

    [[nodiscard]] py::tuple items() const {
        const auto found = [&] {
            const std::scoped_lock lock(mutex_);
            return set_.items();
        }();
        py::array_t<std::uint64_t> keys(static_cast<py::ssize_t>(found.size()));
        py::array_t<std::uint64_t> counts(static_cast<py::ssize_t>(found.size()));
        for (std::size_t i = 0; i < found.size(); ++i) {
            keys.mutable_data()[i] = found[i].first;
            counts.mutable_data()[i] = found[i].second;
        }
        return py::make_tuple(keys, counts);
    }

    [[nodiscard]] std::size_t size() const {
        const std::scoped_lock lock(mutex_);
        return set_.size();
    }

    [[nodiscard]] std::size_t nbytes() const {
        const std::scoped_lock lock(mutex_);
        return set_.bytes();
    }

  private:
    [[nodiscard]] static py::object keys_of(const py::object& keys, const std::string& function) {
        py::object held = tidy_of(keys.ptr(), "uint64", "FeatureSet." + function + ": keys");
        if (proxy(held.ptr())->nd != 1) {
            throw py::value_error("FeatureSet." + function + ": keys must have one dimension, got shape " +
                                  irfuzz::bindings::shape_of(keys.ptr()));
        }
        return held;
    }
    [[nodiscard]] static py::ssize_t shape_of_keys(const py::object& keys) {
        return static_cast<py::ssize_t>(size_of_array(keys.ptr()));
    }
    [[nodiscard]] static std::span<const std::uint64_t> span_of(const py::object& keys) {
        return {static_cast<const std::uint64_t*>(static_cast<const void*>(proxy(keys.ptr())->data)),
                size_of_array(keys.ptr())};
    }
    [[nodiscard]] static std::span<std::uint8_t> bytes_of(py::array_t<bool>& array) {
        return {static_cast<std::uint8_t*>(static_cast<void*>(proxy(array.ptr())->data)),
                static_cast<std::size_t>(array.size())};
    }

    FeatureSet set_;
    mutable std::mutex mutex_;
};

}  // namespace

void add_sets(py::module_& module) {
    py::class_<Features>(module, "FeatureSet", "A set of 64-bit features with counts.")
        .def(py::init<>())
        .def("is_new", &Features::is_new, py::arg("keys"), py::pos_only())
        .def("add", &Features::add, py::arg("keys"), py::pos_only())
        .def("counts", &Features::counts, py::arg("keys"), py::pos_only())
        .def("merge", &Features::merge, py::arg("other"), py::pos_only())
        .def("reserve", &Features::reserve, py::arg("keys"), py::pos_only())
        .def("items", &Features::items)
        .def_property_readonly("nbytes", &Features::nbytes)
        .def("__len__", &Features::size);
}

}  // namespace irfuzz::bindings
