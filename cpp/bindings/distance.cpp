// difference() and distances(): functions of the C interface, since a call on two small arrays is mostly its dispatch.
#include "distance.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"

#include <structmember.h>  // needs Python.h, which must come first

namespace irfuzz::bindings {
namespace {

struct Field {
    const char* name;
    const char* format;
};
// In the order of Distance's members.
constexpr std::array<Field, 29> fields = {
    {{"count", "<i8"},    {"compared", "<i8"}, {"mismatched", "<i8"}, {"first_mismatch", "<i8"},
     {"mean_abs", "<f8"}, {"max_abs", "<f8"},  {"argmax", "<i8"},     {"max_rel", "<f8"},
     {"max_a", "<f8"},    {"max_b", "<f8"},    {"nan_a", "<i8"},      {"nan_b", "<i8"},
     {"posinf_a", "<i8"}, {"posinf_b", "<i8"}, {"neginf_a", "<i8"},   {"neginf_b", "<i8"},
     {"low_a", "<f8"},    {"high_a", "<f8"},   {"low_b", "<f8"},      {"high_b", "<f8"},
     {"beyond", "<i8"},   {"sum_abs", "<f8"},  {"max_ulp", "<u8"},    {"dot", "<f8"},
     {"norm_a", "<f8"},   {"norm_b", "<f8"},   {"cosine", "<f8"},     {"ulp_histogram", "(65,)<u8"},
     {nullptr, nullptr}}};
static_assert(sizeof(Distance) == 8 * (27 + ulp_buckets));

// The first so many are those of a Difference.
constexpr std::size_t difference_fields = 16;

struct DifferenceObject {
    PyObject ob_base;
    Distance value;
};

PyTypeObject* difference_type = nullptr;  // set once, when the module is made
PyObject* distance_dtype = nullptr;

[[nodiscard]] py::dict dict_of(const Distance& d) {
    py::dict result;
    for (std::size_t i = 0; i < difference_fields; ++i) {
        const char* from = reinterpret_cast<const char*>(&d) + 8 * i;
        if (std::string_view(fields[i].format) == "<f8") {
            double value = 0.0;
            std::memcpy(&value, from, sizeof(value));
            result[fields[i].name] = value;
        } else {
            std::int64_t value = 0;
            std::memcpy(&value, from, sizeof(value));
            result[fields[i].name] = value;
        }
    }
    return result;
}

PyObject* as_dict(PyObject* self, PyObject* /*none*/) {
    return guarded([&] { return dict_of(reinterpret_cast<DifferenceObject*>(self)->value).release().ptr(); });
}

PyObject* repr_of(PyObject* self) {
    return guarded([&] {
        std::string text = "Difference(";
        std::string_view separator;
        for (const auto& [name, value] : dict_of(reinterpret_cast<DifferenceObject*>(self)->value)) {
            text += separator;
            text += py::str(name).cast<std::string>() + "=" + py::repr(value).cast<std::string>();
            separator = ", ";
        }
        return py::str(text + ")").release().ptr();
    });
}

void release(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

void make_difference_type(py::module_& module) {
    static std::array<PyMemberDef, difference_fields + 1> members{};
    for (std::size_t i = 0; i < difference_fields; ++i) {
        members[i] = {fields[i].name, std::string_view(fields[i].format) == "<f8" ? T_DOUBLE : T_LONGLONG,
                      static_cast<Py_ssize_t>(offsetof(DifferenceObject, value) + 8 * i), READONLY, nullptr};
    }
    static std::array<PyMethodDef, 2> methods = {
        {{"as_dict", as_dict, METH_NOARGS, "The fields by name, JSON-able but for an infinite max_abs."},
         {nullptr, nullptr, 0, nullptr}}};
    static std::array<PyType_Slot, 6> slots = {
        {{Py_tp_doc, const_cast<char*>("What two arrays differ in, as difference() found it.")},
         {Py_tp_members, members.data()},
         {Py_tp_methods, methods.data()},
         {Py_tp_repr, reinterpret_cast<void*>(repr_of)},
         {Py_tp_dealloc, reinterpret_cast<void*>(release)},
         {0, nullptr}}};
    static PyType_Spec spec = {"irfuzz._native.Difference", sizeof(DifferenceObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) {
        throw py::error_already_set();
    }
    difference_type = reinterpret_cast<PyTypeObject*>(type);
    module.add_object("Difference", py::reinterpret_borrow<py::object>(type));
}

void make_distance_dtype(py::module_& module) {
    py::list names;
    for (const Field& field : fields) {
        if (field.name != nullptr) {
            names.append(py::make_tuple(field.name, field.format));
        }
    }
    py::object dtype = py::module_::import("numpy").attr("dtype")(names);
    if (dtype.attr("itemsize").cast<std::size_t>() != sizeof(Distance)) {
        throw std::logic_error("the record of distances has another layout in NumPy");
    }
    module.add_object("DISTANCE", dtype);
    distance_dtype = dtype.release().ptr();
}

// Tidy arrays of one dtype and shape, as nearly all are: without an allocation.
[[nodiscard]] bool fast_pair(PyObject* a, PyObject* b, Pair& pair) {
    if (!is_array(a) || !is_array(b) || !is_tidy(a) || !is_tidy(b)) {
        return false;
    }
    const auto* left = proxy(a);
    const auto* right = proxy(b);
    if (left->nd != right->nd || !std::equal(left->dimensions, left->dimensions + left->nd, right->dimensions)) {
        return false;
    }
    const auto element = element_of_array(a);
    if (!element || element != element_of_array(b)) {
        return false;
    }
    pair = {left->data, right->data, nullptr, size_of_array(a), *element};
    return true;
}

// Any two objects; `held` keeps copies alive.
void slow_pair(PyObject* a, PyObject* b, Pair& pair, std::vector<py::object>& held, const char* function) {
    require_array(a, std::string(function) + ": a");
    require_array(b, std::string(function) + ": b");
    const auto dtype = [](PyObject* array) { return py::reinterpret_borrow<py::array>(array).dtype(); };
    const auto native = [](const py::dtype& type) -> py::object {
        return type.attr("isnative").cast<bool>() ? py::object(type) : type.attr("newbyteorder")("=");
    };
    if (!native(dtype(a)).equal(native(dtype(b)))) {
        throw py::type_error(std::string(function) + ": a and b must have one dtype, got " + name_of(dtype(a)) +
                             " and " + name_of(dtype(b)));
    }
    if (shape_of(a) != shape_of(b)) {
        throw py::value_error(std::string(function) + ": a and b must have one shape, got " + shape_of(a) + " and " +
                              shape_of(b));
    }
    held.push_back(tidy_array(a, function));
    held.push_back(tidy_array(b, function));
    if (!fast_pair(held[held.size() - 2].ptr(), held.back().ptr(), pair)) {
        throw std::logic_error("copies of arrays are not tidy");
    }
}

PyObject* difference(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
    return guarded([&]() -> PyObject* {
        if (count != 2) {
            throw py::type_error("difference() takes 2 positional arguments but " + std::to_string(count) +
                                 " were given");
        }
        Pair pair;
        std::vector<py::object> held;
        if (!fast_pair(arguments[0], arguments[1], pair)) {
            slow_pair(arguments[0], arguments[1], pair, held, "difference");
        }
        auto* result = PyObject_New(DifferenceObject, difference_type);
        if (result == nullptr) {
            throw std::bad_alloc();
        }
        constexpr Options options{.relative = true};
        const Unlocked unlocked(pair.count * size_of(pair.element));
        distances(std::span(&pair, 1), std::span(&result->value, 1), options, 1);
        return reinterpret_cast<PyObject*>(result);
    });
}

constexpr std::array<const char*, 9> keywords = {"a",   "b",        "atol",   "rtol",   "bounds",
                                                 "ulp", "relative", "cosine", "threads"};

// The arguments in the order of `keywords`; those not given are null.
[[nodiscard]] std::array<PyObject*, keywords.size()> bind(PyObject* const* arguments, Py_ssize_t count,
                                                          PyObject* names) {
    std::array<PyObject*, keywords.size()> bound{};
    if (count != 2) {
        throw py::type_error("distances() takes 2 positional arguments but " + std::to_string(count) + " were given");
    }
    bound[0] = arguments[0];
    bound[1] = arguments[1];
    const Py_ssize_t given = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < given; ++i) {
        PyObject* name = PyTuple_GET_ITEM(names, i);
        std::size_t k = 2;
        while (k < keywords.size() && PyUnicode_CompareWithASCIIString(name, keywords[k]) != 0) {
            ++k;
        }
        if (k == keywords.size()) {
            throw py::type_error("distances() got an unexpected keyword argument '" +
                                 py::str(name).cast<std::string>() + "'");
        }
        bound[k] = arguments[count + i];
    }
    return bound;
}

[[nodiscard]] double tolerance(PyObject* object, const char* name) {
    if (object == nullptr) {
        return 0.0;
    }
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
        throw py::error_already_set();
    }
    if (!(value >= 0.0)) {
        throw py::value_error(std::string("distances: ") + name + " must be 0 or more, got " + std::to_string(value));
    }
    return value;
}

[[nodiscard]] bool flag(PyObject* object) {
    const int value = object == nullptr ? 0 : PyObject_IsTrue(object);
    if (value < 0) {
        throw py::error_already_set();
    }
    return value != 0;
}

// A list is copied: another thread may empty it while its arrays are read without the interpreter's lock.
[[nodiscard]] py::object sequence(PyObject* object, const char* name) {
    if (PyTuple_CheckExact(object)) {
        return py::reinterpret_borrow<py::object>(object);
    }
    if (PyList_Check(object)) {
        PyObject* copy = PyList_AsTuple(object);
        if (copy == nullptr) {
            throw py::error_already_set();
        }
        return py::reinterpret_steal<py::object>(copy);
    }
    const std::string message =
        std::string("distances: ") + name + " must be a sequence of arrays, got " + type_of(object);
    if (is_array(object)) {
        throw py::type_error(message);
    }
    PyObject* fast = PySequence_Fast(object, message.c_str());
    if (fast == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(fast);
}

[[nodiscard]] const double* bound_of(PyObject* object, PyObject* a, Py_ssize_t i, std::vector<py::object>& held) {
    const std::string what = "distances: bounds[" + std::to_string(i) + "]";
    held.push_back(tidy_of(object, "float64", what));
    if (shape_of(object) != shape_of(a)) {
        throw py::value_error(what + " must have the shape of a[" + std::to_string(i) + "], " + shape_of(a) + ", got " +
                              shape_of(object));
    }
    return static_cast<const double*>(static_cast<const void*>(proxy(held.back().ptr())->data));
}

// An array of records in memory of an array of bytes: NumPy would clear memory of its own field by field, which takes
// ten times as long as comparing two small arrays.
[[nodiscard]] py::object records_of(Py_ssize_t count) {
    const auto& api = py::detail::npy_api::get();
    const Py_intptr_t bytes = count * static_cast<Py_ssize_t>(sizeof(Distance));
    auto memory = py::reinterpret_steal<py::object>(
        api.PyArray_NewFromDescr_(api.PyArray_Type_, api.PyArray_DescrFromType_(py::detail::npy_api::NPY_UBYTE_), 1,
                                  &bytes, nullptr, nullptr, 0, nullptr));
    if (!memory) {
        throw py::error_already_set();
    }
    Py_INCREF(distance_dtype);
    const Py_intptr_t length = count;
    auto records = py::reinterpret_steal<py::object>(
        api.PyArray_NewFromDescr_(api.PyArray_Type_, distance_dtype, 1, &length, nullptr, proxy(memory.ptr())->data,
                                  int{py::detail::npy_api::NPY_ARRAY_WRITEABLE_}, nullptr));
    if (!records || api.PyArray_SetBaseObject_(records.ptr(), memory.release().ptr()) != 0) {
        throw py::error_already_set();
    }
    return records;
}

PyObject* distances_of(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        const auto given = bind(arguments, count, names);
        const py::object a = sequence(given[0], "a");
        const py::object b = sequence(given[1], "b");
        const Py_ssize_t pairs_given = PySequence_Fast_GET_SIZE(a.ptr());
        if (PySequence_Fast_GET_SIZE(b.ptr()) != pairs_given) {
            throw py::value_error("distances: a has " + std::to_string(pairs_given) + " arrays and b " +
                                  std::to_string(PySequence_Fast_GET_SIZE(b.ptr())));
        }
        Options options;
        options.atol = tolerance(given[2], "atol");
        options.rtol = tolerance(given[3], "rtol");
        options.ulp = flag(given[5]);
        options.relative = flag(given[6]);
        options.cosine = flag(given[7]);
        Py_ssize_t threads = 1;
        if (given[8] != nullptr) {
            threads = PyNumber_AsSsize_t(given[8], PyExc_OverflowError);
            if (threads == -1 && PyErr_Occurred() != nullptr) {
                throw py::error_already_set();
            }
        }
        const bool bounded = given[4] != nullptr && given[4] != Py_None;
        py::object bounds;
        if (bounded) {
            if (options.atol != 0.0 || options.rtol != 0.0) {
                throw py::value_error("distances: bounds are taken instead of atol and rtol; give one of them");
            }
            bounds = sequence(given[4], "bounds");
            if (PySequence_Fast_GET_SIZE(bounds.ptr()) != pairs_given) {
                throw py::value_error("distances: a has " + std::to_string(pairs_given) + " arrays and bounds " +
                                      std::to_string(PySequence_Fast_GET_SIZE(bounds.ptr())));
            }
        }
        std::vector<Pair> many;
        std::vector<py::object> held;
        Pair one;
        std::span<Pair> pairs(&one, 1);
        if (pairs_given != 1) {
            many.resize(static_cast<std::size_t>(pairs_given));
            pairs = many;
        }
        std::size_t bytes = 0;
        for (Py_ssize_t i = 0; i < pairs_given; ++i) {
            PyObject* left = PySequence_Fast_GET_ITEM(a.ptr(), i);
            PyObject* right = PySequence_Fast_GET_ITEM(b.ptr(), i);
            Pair& pair = pairs[static_cast<std::size_t>(i)];
            if (!fast_pair(left, right, pair)) {
                slow_pair(left, right, pair, held, "distances");
            }
            if (bounded) {
                pair.bound = bound_of(PySequence_Fast_GET_ITEM(bounds.ptr(), i), left, i, held);
            }
            bytes += pair.count * size_of(pair.element);
        }
        const py::object result = records_of(pairs_given);
        auto* records = static_cast<Distance*>(static_cast<void*>(proxy(result.ptr())->data));
        {
            const unsigned workers = threads_of(threads);
            const Unlocked unlocked(bytes);
            distances(pairs, std::span(records, pairs.size()), options, workers);
        }
        return result.inc_ref().ptr();
    });
}

}  // namespace

void add_distances(py::module_& module) {
    make_difference_type(module);
    make_distance_dtype(module);
    static std::array<PyMethodDef, 3> functions = {
        {{"difference", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(difference)), METH_FASTCALL,
          "difference(a, b, /)\n--\n\nCompare two arrays of one shape and dtype in one pass."},
         {"distances", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(distances_of)),
          METH_FASTCALL | METH_KEYWORDS,
          "distances(a, b, /, *, atol=0.0, rtol=0.0, bounds=None, ulp=False, relative=False, cosine=False, "
          "threads=1)\n--\n\nCompare arrays pair by pair; one record a pair."},
         {nullptr, nullptr, 0, nullptr}}};
    if (PyModule_AddFunctions(module.ptr(), functions.data()) != 0) {
        throw py::error_already_set();
    }
}

}  // namespace irfuzz::bindings
