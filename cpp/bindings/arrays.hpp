// Turns NumPy arrays as Python passes them into memory that kernels can take: row-major, aligned, in native byte order.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "distance.hpp"

namespace irfuzz::bindings {

namespace py = pybind11;

// Up to so many bytes a kernel is done before another thread could have been woken; the interpreter's lock is kept.
inline constexpr std::size_t worth_unlocking = 65536;

class Unlocked {
  public:
    explicit Unlocked(std::size_t bytes) {
        if (bytes > worth_unlocking) {
            released_.emplace();
        }
    }

  private:
    std::optional<py::gil_scoped_release> released_;
};

[[nodiscard]] inline py::detail::PyArray_Proxy* proxy(PyObject* array) { return py::detail::array_proxy(array); }

[[nodiscard]] std::string name_of(const py::dtype& type);
[[nodiscard]] std::string shape_of(PyObject* array);
[[nodiscard]] std::string type_of(PyObject* object);

// The kernels' type for a dtype, empty where there is none or its bytes are swapped.
[[nodiscard]] std::optional<Element> element_of_array(PyObject* array);

[[nodiscard]] bool is_array(PyObject* object);
[[nodiscard]] std::size_t size_of_array(PyObject* array);
[[nodiscard]] bool is_tidy(PyObject* array);

// A numpy.ndarray, else TypeError; `what` begins the message ("difference: a").
void require_array(PyObject* object, const std::string& what);

// A tidy array of a dtype with a kernel: the same one where it is that already, else a copy (small types of ml_dtypes
// as float32, whose every value is one exactly). TypeError where there is no kernel.
[[nodiscard]] py::object tidy_array(PyObject* array, const char* function);

// A tidy array of `dtype`, without a copy where it is one; TypeError where the array's dtype is another.
[[nodiscard]] py::object tidy_of(PyObject* object, const char* dtype, const std::string& what);

// An array that a kernel writes to in place: tidy, writeable, of `dtype`; never a copy. TypeError or ValueError
// otherwise.
void require_in_place(PyObject* object, const char* dtype, const std::string& what);

// The number of threads a caller gave; ValueError below 1.
[[nodiscard]] unsigned threads_of(Py_ssize_t threads);

// Runs what may throw as a function of the C interface: Python's error is set, and nullptr given, where it threw.
template <typename Call>
[[nodiscard]] PyObject* guarded(const Call& call) noexcept {
    try {
        return call();
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const py::builtin_exception& error) {
        error.set_error();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

void add_distances(py::module_& module);
void add_coverage(py::module_& module);
void add_sets(py::module_& module);

}  // namespace irfuzz::bindings
