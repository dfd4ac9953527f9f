// Writes the nodes of an onnx-ir graph as protobuf fields.
//
// Every program is written at least once, and in Python writing thirty nodes takes as long as a small edit. Attributes
// of Python objects are read by name, as Python code would; what is seldom there is left to functions of the caller.
#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace py = pybind11;

namespace {

// Names of attributes, made once.
struct Names {
    py::str root{"_root"}, next{"next"}, value{"value"}, inputs{"_inputs"}, outputs{"_outputs"}, name{"_name"},
        op_type{"_op_type"}, domain{"_domain"}, overload{"_overload"}, attributes{"_attributes"}, data{"data"},
        doc_string{"doc_string"}, metadata_props{"_metadata_props"}, devices{"device_configurations"}, kind{"_type"},
        metadata{"_metadata"}, verbatim{"verbatim"}, nodes{"_nodes"};

    Names() {
        for (py::str* each : {&root, &next, &value, &inputs, &outputs, &name, &op_type, &domain, &overload, &attributes,
                              &data, &doc_string, &metadata_props, &devices, &kind, &metadata, &verbatim, &nodes}) {
            PyUnicode_InternInPlace(&each->ptr());
        }
    }
};

[[nodiscard]] py::object get(py::handle object, const py::str& name) {
    PyObject* found = PyObject_GetAttr(object.ptr(), name.ptr());
    if (found == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(found);
}

[[nodiscard]] bool truthy(py::handle object) {
    const int found = PyObject_IsTrue(object.ptr());
    if (found < 0) {
        throw py::error_already_set();
    }
    return found != 0;
}

[[nodiscard]] bool equal(py::handle a, py::handle b) {
    const int found = a.is(b) ? 1 : PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ);
    if (found < 0) {
        throw py::error_already_set();
    }
    return found != 0;
}

// Calls a function with each node of a graph, a linked list; what it inserts behind a node is met too, as in onnx-ir.
template <typename Visit>
void each_node(const Names& names, py::handle graph, Visit&& visit) {
    const py::object root = get(get(graph, names.nodes), names.root);
    for (py::object box = get(root, names.next); !box.is(root); box = get(box, names.next)) {
        const py::object node = get(box, names.value);
        if (!node.is_none()) {
            visit(node);
        }
    }
}

void put_varint(std::string& out, std::uint64_t value) {
    while (value > 127) {
        out.push_back(static_cast<char>((value & 127U) | 128U));
        value >>= 7U;
    }
    out.push_back(static_cast<char>(value));
}

void put_block(std::string& out, std::uint32_t field, std::string_view data) {
    put_varint(out, (std::uint64_t{field} << 3U) | 2U);
    put_varint(out, data.size());
    out.append(data);
}

[[nodiscard]] std::string_view text_of(py::handle text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) {
        throw py::error_already_set();
    }
    return {data, static_cast<std::size_t>(size)};
}

[[nodiscard]] std::string_view bytes_of(py::handle bytes) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) {
        throw py::error_already_set();
    }
    return {data, static_cast<std::size_t>(size)};
}

class NodeWriter {
  public:
    NodeWriter(py::type value, py::str key, py::tuple graph_kinds, py::function attribute, py::function seldom)
        : value_(std::move(value)),
          key_(std::move(key)),
          graph_kinds_(std::move(graph_kinds)),
          attribute_(std::move(attribute)),
          seldom_(std::move(seldom)) {}

    [[nodiscard]] py::tuple write(std::uint32_t field, const py::object& graph) const {
        std::string all;
        std::string body;  // not a member: an attribute that holds a graph comes back here
        py::list stated;
        each_node(names_, graph, [&](const py::object& node) {
            body.clear();
            node_fields(node, body, stated);
            put_block(all, field, body);
        });
        return py::make_tuple(py::bytes(all), stated);
    }

  private:
    void node_fields(const py::object& node, std::string& body, py::list& stated) const {
        const py::object op = get(node, names_.op_type);
        const py::tuple inputs = get(node, names_.inputs);
        const py::tuple outputs = get(node, names_.outputs);
        for (const py::handle value : inputs) {
            if (value.is_none()) {
                put_block(body, 1, {});
            } else {
                put_name(body, 1, get(value, names_.name), op);
            }
        }
        for (const py::handle value : outputs) {
            const py::object name = get(value, names_.name);
            put_name(body, 2, name, op);
            if (truthy(name) && may_say_something(value)) {
                stated.append(value);
            }
        }
        put_text(body, 3, get(node, names_.name));
        put_block(body, 4, text_of(op));
        const py::object attributes = get(get(node, names_.attributes), names_.data);
        if (PyDict_Check(attributes.ptr()) == 0) {
            throw py::type_error("the attributes of a node are not held in a dictionary");
        }
        PyObject* name = nullptr;
        PyObject* attribute = nullptr;
        for (Py_ssize_t place = 0; PyDict_Next(attributes.ptr(), &place, &name, &attribute) != 0;) {
            const py::object written = written_attribute(py::reinterpret_borrow<py::object>(attribute));
            put_block(body, 5, bytes_of(written));
        }
        put_text(body, 7, get(node, names_.domain));
        put_text(body, 8, get(node, names_.overload));
        for (const py::str* each : {&names_.doc_string, &names_.metadata_props, &names_.devices}) {
            if (truthy(get(node, *each))) {
                const py::object rest = seldom_(node);
                body.append(bytes_of(rest));
                break;
            }
        }
    }

    static void put_name(std::string& body, std::uint32_t field, const py::object& name, const py::object& op) {
        if (name.is_none()) {
            throw py::value_error("an input or output of a node (" + std::string(text_of(op)) +
                                  ") has no name and so cannot be written");
        }
        put_block(body, field, text_of(name));
    }

    static void put_text(std::string& body, std::uint32_t field, const py::object& text) {
        if (!text.is_none() && truthy(text)) {
            put_block(body, field, text_of(text));
        }
    }

    [[nodiscard]] bool may_say_something(py::handle value) const {
        if (!get(value, names_.kind).is_none() || truthy(get(value, names_.doc_string))) {
            return true;
        }
        if (py::type::handle_of(value).is(value_)) {
            return truthy(get(value, names_.metadata_props)) || !get(value, names_.verbatim).is_none();
        }
        return true;
    }

    // The bytes that an attribute was read or last written with, while its name and comment are the same.
    [[nodiscard]] py::object written_attribute(const py::object& attribute) const {
        const py::object kind = get(attribute, names_.kind);
        bool remembered = true;
        for (const py::handle graph : graph_kinds_) {
            remembered = remembered && !kind.is(graph);
        }
        const py::object store = remembered ? get(attribute, names_.metadata) : py::none();
        if (!store.is_none()) {
            const py::dict held = get(store, names_.data);
            if (PyObject* known = PyDict_GetItemWithError(held.ptr(), key_.ptr()); known != nullptr) {
                const auto said = py::reinterpret_borrow<py::tuple>(known);
                if (equal(said[0], get(attribute, names_.name)) && equal(said[1], get(attribute, names_.doc_string))) {
                    return said[2];
                }
            }
        }
        return attribute_(attribute);
    }

    Names names_;
    py::type value_;
    py::str key_;
    py::tuple graph_kinds_;
    py::function attribute_;
    py::function seldom_;
};

}  // namespace

PYBIND11_MODULE(_graph, m) {
    m.doc() = "Nodes of onnx-ir graphs, as bytes.";
    py::class_<NodeWriter>(m, "NodeWriter", R"(Writes nodes as the fields of a GraphProto or FunctionProto.

    Args:
        value: the class of values that have no say but in their type, comment, properties and ``verbatim``.
        key: under which the metadata of an attribute hold ``(name, comment, bytes)`` as it was last written.
        graph_kinds: types of attributes that hold graphs, which are written anew each time.
        attribute: gives the AttributeProto of an attribute.
        seldom: gives the fields that few nodes have (comment, properties, devices).
    )")
        .def(py::init<py::type, py::str, py::tuple, py::function, py::function>(), py::arg("value"), py::arg("key"),
             py::arg("graph_kinds"), py::arg("attribute"), py::arg("seldom"))
        .def("write", &NodeWriter::write, py::arg("field"), py::arg("graph"),
             R"(The fields of a graph's nodes, as bytes.

    Args:
        field: number of the field that holds a node.
        graph: a graph of onnx-ir.

    Returns:
        The bytes, and the outputs of which something may be stated besides their names.

    Raises:
        ValueError: a value has no name.
    )");
}
