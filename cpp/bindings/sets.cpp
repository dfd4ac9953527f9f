// Objects that live between calls: the set of features, and the vectors that were seen.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "arrays.hpp"
#include "feature_set.hpp"
#include "novelty.hpp"

namespace irfuzz::bindings {
namespace {

// Several threads of Python may use one set: the kernels run without the interpreter's lock, so it has one of its own,
// taken only while the interpreter's is not held: two threads that wait for each other's would wait for ever.
class Features {
  public:
    [[nodiscard]] py::array_t<bool> is_new(const py::object& keys) const {
        const py::object held = keys_of(keys, "is_new");
        py::array_t<bool> fresh(shape_of_keys(held));
        const std::span<std::uint8_t> to = bytes_of(fresh);
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        set_.is_new(span_of(held), to);
        return fresh;
    }

    [[nodiscard]] py::array_t<bool> add(const py::object& keys) {
        const py::object held = keys_of(keys, "add");
        py::array_t<bool> fresh(shape_of_keys(held));
        const std::span<std::uint8_t> to = bytes_of(fresh);
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        set_.add(span_of(held), to);
        return fresh;
    }

    [[nodiscard]] py::array_t<std::uint64_t> counts(const py::object& keys) const {
        const py::object held = keys_of(keys, "counts");
        py::array_t<std::uint64_t> found(shape_of_keys(held));
        const std::span<std::uint64_t> to(found.mutable_data(), static_cast<std::size_t>(found.size()));
        const py::gil_scoped_release unlocked;
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
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        set_.reserve(static_cast<std::size_t>(keys));
    }

    [[nodiscard]] py::tuple items() const {
        const auto found = [&] {
            const py::gil_scoped_release unlocked;
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
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        return set_.size();
    }

    [[nodiscard]] std::size_t nbytes() const {
        const py::gil_scoped_release unlocked;
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

class Neighbours {
  public:
    explicit Neighbours(py::ssize_t dimensions) : novelty_(checked(dimensions)) {}

    [[nodiscard]] py::tuple nearest(const py::object& vectors, py::ssize_t threads) const {
        const py::object held = rows_of(vectors, "nearest");
        const std::size_t rows = static_cast<std::size_t>(proxy(held.ptr())->dimensions[0]);
        py::array_t<double> distances(static_cast<py::ssize_t>(rows));
        py::array_t<std::int64_t> indices(static_cast<py::ssize_t>(rows));
        double* to = distances.mutable_data();
        std::int64_t* places = indices.mutable_data();
        const unsigned workers = threads_of(threads);
        {
            const py::gil_scoped_release unlocked;
            const std::scoped_lock lock(mutex_);
            novelty_.nearest(numbers(held), {to, rows}, {places, rows}, workers);
        }
        return py::make_tuple(distances, indices);
    }

    void add(const py::object& vectors) {
        const py::object held = rows_of(vectors, "add");
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        novelty_.add(numbers(held));
    }

    [[nodiscard]] py::tuple add_novel(const py::object& vectors, double threshold, py::ssize_t threads) {
        const py::object held = rows_of(vectors, "add_novel");
        if (!(threshold >= 0.0)) {
            throw py::value_error("Novelty.add_novel: threshold must be 0 or more, got " + std::to_string(threshold));
        }
        const std::size_t rows = static_cast<std::size_t>(proxy(held.ptr())->dimensions[0]);
        py::array_t<double> distances(static_cast<py::ssize_t>(rows));
        py::array_t<bool> added(static_cast<py::ssize_t>(rows));
        double* to = distances.mutable_data();
        auto* flags = static_cast<std::uint8_t*>(static_cast<void*>(proxy(added.ptr())->data));
        const unsigned workers = threads_of(threads);
        {
            const py::gil_scoped_release unlocked;
            const std::scoped_lock lock(mutex_);
            novelty_.add_novel(numbers(held), threshold, {to, rows}, {flags, rows}, workers);
        }
        return py::make_tuple(distances, added);
    }

    [[nodiscard]] std::size_t size() const {
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        return novelty_.size();
    }

    [[nodiscard]] std::size_t nbytes() const {
        const py::gil_scoped_release unlocked;
        const std::scoped_lock lock(mutex_);
        return novelty_.bytes();
    }

  private:
    [[nodiscard]] static std::size_t checked(py::ssize_t dimensions) {
        if (dimensions < 1 || dimensions > 100'000) {
            throw py::value_error("Novelty: dimensions must be in 1 to 100000, got " + std::to_string(dimensions));
        }
        return static_cast<std::size_t>(dimensions);
    }
    [[nodiscard]] py::object rows_of(const py::object& vectors, const std::string& function) const {
        const std::string what = "Novelty." + function + ": vectors";
        py::object held = tidy_of(vectors.ptr(), "float32", what);
        const auto* raw = proxy(held.ptr());
        if (raw->nd != 2 || raw->dimensions[1] != static_cast<py::ssize_t>(novelty_.dimensions())) {
            throw py::value_error(what + " must have shape (n, " + std::to_string(novelty_.dimensions()) + "), got " +
                                  shape_of(vectors.ptr()));
        }
        return held;
    }
    [[nodiscard]] static std::span<const float> numbers(const py::object& array) {
        return {static_cast<const float*>(static_cast<const void*>(proxy(array.ptr())->data)),
                size_of_array(array.ptr())};
    }

    Novelty novelty_;
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
    py::class_<Neighbours>(module, "Novelty", "Vectors that were seen, and how far others are from them.")
        .def(py::init<py::ssize_t>(), py::arg("dimensions"))
        .def("nearest", &Neighbours::nearest, py::arg("vectors"), py::pos_only(), py::kw_only(), py::arg("threads") = 1)
        .def("add", &Neighbours::add, py::arg("vectors"), py::pos_only())
        .def("add_novel", &Neighbours::add_novel, py::arg("vectors"), py::arg("threshold"), py::pos_only(),
             py::kw_only(), py::arg("threads") = 1)
        .def_property_readonly("nbytes", &Neighbours::nbytes)
        .def("__len__", &Neighbours::size);
}

}  // namespace irfuzz::bindings
