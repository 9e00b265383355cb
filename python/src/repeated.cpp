// facet._core.RepeatedCalls: forward calls whose arguments were checked once, found again by how their tensors lie.
// All of a call that repeats is here, since it takes a few microseconds, of which Python would take half.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fa/kernel.h"
#include "python/src/bind.h"
#include "python/src/captured.h"
#include "python/src/view.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

constexpr int kRank = 4;                      // of q, k, v and o
constexpr std::size_t kMostValues = 64;       // captured by a call that repeats: Known has a bit for each
constexpr std::uintptr_t kGpuAlignment = 16;  // of addresses, as kernels need them

/// DLPack 1's table of C functions, as far as it is used: Tensor.__dlpack_c_exchange_api__ of PyTorch 2.10 and later.
struct ExchangeTable {
  struct {
    std::uint32_t major, minor;
  } version;
  void* previous;
  void *new_tensor, *from_python, *to_python;
  int (*describe)(void* python_object, nb::dlpack::dltensor* out);
};

/// What decides whether calls are alike: a tensor's type, device, sizes and strides. Types and devices are numbers
/// that differ where they do.
struct Layout {
  std::uint64_t dtype = 0, device = 0;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{}, strides{};  // zeros behind the rank

  bool operator==(const Layout&) const = default;
};

struct Described {
  Layout layout;
  void* data = nullptr;
};

/// Asks PyTorch what a tensor is.
class Describer {
 public:
  explicit Describer(const nb::object& exchange) {
    constexpr std::uint32_t kMajor = 1;
    if (exchange.is_none()) return;
    table_ = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(exchange.ptr(), "dlpack_exchange_api"));
    if (table_ == nullptr) throw nb::python_error();
    if (table_->version.major != kMajor) table_ = nullptr;
  }

  /// None where the tensor has more dimensions than any of a spec, or no memory that can be named.
  std::optional<Described> operator()(nb::handle tensor) const {
    return table_ != nullptr ? by_table(tensor) : by_attributes(tensor);
  }

 private:
  std::optional<Described> by_table(nb::handle tensor) const {
    nb::dlpack::dltensor seen;
    if (table_->describe(tensor.ptr(), &seen) != 0) {
      PyErr_Clear();
      return std::nullopt;
    }
    if (seen.ndim > kMaxRank || (seen.strides == nullptr && seen.ndim > 0)) return std::nullopt;
    Described described{.layout = {.dtype = std::bit_cast<std::uint32_t>(seen.dtype),
                                   .device = std::bit_cast<std::uint64_t>(seen.device),
                                   .rank = seen.ndim},
                        .data = static_cast<char*>(seen.data) + seen.byte_offset};
    for (std::size_t d = 0; d < static_cast<std::size_t>(seen.ndim); ++d) {
      described.layout.shape[d] = seen.shape[d];
      described.layout.strides[d] = seen.strides[d];
    }
    return described;
  }

  static std::optional<Described> by_attributes(nb::handle tensor) {
    try {
      const nb::tuple shape = nb::cast<nb::tuple>(tensor.attr("shape")), strides(tensor.attr("stride")());
      if (shape.size() > kMaxRank) return std::nullopt;
      Described described{
          .layout = {.dtype = reinterpret_cast<std::uintptr_t>(tensor.attr("dtype").ptr()),
                     .device = static_cast<std::uint64_t>(nb::hash(tensor.attr("device"))),
                     .rank = static_cast<int>(shape.size())},
          .data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")()))};
      for (std::size_t d = 0; d < shape.size(); ++d) {
        described.layout.shape[d] = nb::cast<std::int64_t>(shape[d]);
        described.layout.strides[d] = nb::cast<std::int64_t>(strides[d]);
      }
      return described;
    } catch (const nb::python_error&) {  // a sparse tensor, say
      return std::nullopt;
    }
  }

  const ExchangeTable* table_ = nullptr;
};

/// PyTorch's own words on whether somebody watches a call or changes it.
struct Watchers {
  nb::object tensor, parameter;  // the classes: other subclasses have operators of their own
  std::vector<nb::object> any;   // functions; each says whether a mode, transform or autocast is there
  nb::object is_grad_enabled;

  bool is_tensor(nb::handle value) const {
    const nb::handle type = value.type();
    return type.is(tensor) || type.is(parameter);
  }

  /// Whether nobody does.
  bool are_away(const std::array<nb::handle, 3>& tensors, const nb::tuple& values) const {
    for (const nb::handle each : tensors)
      if (!is_tensor(each)) return false;
    for (const nb::object& is_there : any)
      if (is_true(is_there())) return false;
    if (!is_true(is_grad_enabled())) return true;
    for (const nb::handle each : tensors)
      if (is_true(each.attr("requires_grad"))) return false;
    for (const nb::handle each : values)
      if (is_tensor(each) && is_true(each.attr("requires_grad"))) return false;
    return true;
  }

 private:
  static bool is_true(const nb::object& value) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) throw nb::python_error();
    return truth != 0;
  }
};

/// A call that was checked.
struct Known {
  nb::str text;
  nb::tuple names;  // of the captured values as the call gave them; empty where they come in the spec's order
  std::uint64_t are_tensors = 0;       // bit i is set where captured value i is a tensor
  std::vector<std::uint64_t> numbers;  // the bits of those that are numbers, where 0 and -0 differ
  std::array<Layout, 3> layouts;       // of q, k, v
  std::vector<Layout> tensors;         // of the captured tensors

  Kernel kernel;
  CapturedSet captured;             // owns the names that args refers to
  std::vector<std::size_t> places;  // of each captured tensor among args.tensors
  ForwardArgs args = {};
  std::size_t workspace_bytes = 0;
  nb::object shape, strides;  // o's; both are None where empty_like(q) has them
  int gpu = -1;
  int threads = 0;  // of the CPU that the kernel was compiled for
};

class RepeatedCalls {
 public:
  /// `exchange`: Tensor.__dlpack_c_exchange_api__ or None. The functions are torch.get_num_threads, and those of
  /// torch._C that name the current GPU and its stream (None without GPUs). `byte`: torch.uint8;
  /// `empty_like`: torch.empty_like.
  RepeatedCalls(Watchers watchers, const nb::object& exchange, nb::object num_threads, nb::object current_gpu,
                nb::object current_stream, nb::object byte, nb::object empty_like)
      : watchers_(std::move(watchers)),
        describe_(exchange),
        num_threads_(std::move(num_threads)),
        current_gpu_(std::move(current_gpu)),
        current_stream_(std::move(current_stream)),
        byte_(std::move(byte)),
        empty_like_(std::move(empty_like)) {}
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;

  /// Whether nobody watches a call of these tensors, or changes it. Tracers of Python code are not asked.
  bool is_plain(const nb::tuple& values, nb::handle q, nb::handle k, nb::handle v) const {
    return watchers_.are_away({q, k, v}, values);
  }

  /// o, where the call is plain and repeats one that was added; else None.
  nb::object call(const nb::str& text, const nb::tuple& names, const nb::tuple& values, nb::handle q,
                  nb::handle k, nb::handle v) const {
    if (!is_plain(values, q, k, v)) return nb::none();
    const std::optional<Asked> asked = ask(text, values, q, k, v);
    const auto found = asked ? find(*asked, text, names) : known_.end();
    if (found == known_.end()) return nb::none();
    // This call shares it: PyTorch's functions let other threads run, and one of them may forget the call.
    const std::shared_ptr<const Known> known = found->second;
    if (known->gpu < 0 ? nb::cast<int>(num_threads_()) != known->threads
                       : !are_aligned(*asked) || nb::cast<int>(current_gpu_()) != known->gpu)
      return nb::none();
    nb::object o =
        known->shape.is_none() ? empty_like_(q) : q.attr("new_empty_strided")(known->shape, known->strides);
    const std::optional<Described> described = describe_(o);
    if (!described) return nb::none();

    ForwardArgs args = known->args;
    args.q.data = asked->data[0];
    args.k.data = asked->data[1];
    args.v.data = asked->data[2];
    args.o.data = described->data;
    for (std::size_t i = 0; i < known->places.size(); ++i)
      args.tensors[known->places[i]].data = asked->tensor_data[i];
    nb::object workspace;
    if (known->workspace_bytes > 0) {
      workspace = q.attr("new_empty")(known->workspace_bytes, nb::arg("dtype") = byte_);
      args.workspace = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(workspace.attr("data_ptr")()));
      args.workspace_bytes = known->workspace_bytes;
    }
    const auto stream = known->gpu < 0 ? 0 : nb::cast<std::uintptr_t>(current_stream_(known->gpu));
    const nb::gil_scoped_release released;
    known->kernel.forward(args, reinterpret_cast<Stream>(stream));
    return o;
  }

  /// Remembers a call that has returned o.
  /// `shape` and `strides` are o's. Both are None where empty_like(q) has the same: PyTorch makes it half a microsecond faster.
  /// `places` has a number for each tensor in `values`: its place among the tensors of `captured`.
  /// `gpu` is the GPU's number, or -1 on the CPU.
  void add(const nb::str& text, const nb::tuple& names, const nb::tuple& values, nb::handle q, nb::handle k,
           nb::handle v, const Kernel& kernel, const std::vector<View>& views, const CapturedSet& captured,
           std::vector<std::size_t> places, nb::object shape, nb::object strides, int gpu, int threads) {
    const std::optional<Asked> asked = ask(text, values, q, k, v);
    if (!asked || views.size() != 4 || asked->tensors.size() != places.size()) return;
    if (const auto same = find(*asked, text, names); same != known_.end())
      known_.erase(same);  // for other threads
    const auto known = std::make_shared<Known>(Known{.text = text,
                                                     .names = names,
                                                     .are_tensors = asked->are_tensors,
                                                     .numbers = asked->numbers,
                                                     .layouts = asked->layouts,
                                                     .tensors = asked->tensors,
                                                     .kernel = kernel,
                                                     .captured = captured,
                                                     .places = std::move(places),
                                                     .shape = std::move(shape),
                                                     .strides = std::move(strides),
                                                     .gpu = gpu,
                                                     .threads = threads});
    known->args = {.q = views[0].tensor("q"),
                   .k = views[1].tensor("k"),
                   .v = views[2].tensor("v"),
                   .o = views[3].tensor("o")};
    known->captured.fill(known->args);
    known->workspace_bytes = kernel.workspace_bytes(known->args);
    known_.emplace(asked->hash, known);
  }

  void clear() { known_.clear(); }
  std::size_t size() const { return known_.size(); }

 private:
  struct Asked {
    std::uint64_t are_tensors = 0;
    std::vector<std::uint64_t> numbers;
    std::array<Layout, 3> layouts;
    std::array<void*, 3> data{};
    std::vector<Layout> tensors;
    std::vector<void*> tensor_data;
    std::uint64_t hash = 0;

    void mix(std::uint64_t word) {
      constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // Fibonacci hashing (Knuth, volume 3, 6.4)
      hash = (hash ^ word) * kOdd;
      hash ^= hash >> 29;
    }
    void mix(const Layout& layout) {
      mix(layout.dtype);
      mix(layout.device);
      for (std::size_t d = 0; d < static_cast<std::size_t>(layout.rank); ++d) {
        mix(static_cast<std::uint64_t>(layout.shape[d]));
        mix(static_cast<std::uint64_t>(layout.strides[d]));
      }
    }
  };

  /// None where something is not as calls that repeat have it: q, k and v of four dimensions, values that are tensors,
  /// floats or ints.
  std::optional<Asked> ask(const nb::str& text, const nb::tuple& values, nb::handle q, nb::handle k,
                           nb::handle v) const {
    Asked asked;
    asked.hash = static_cast<std::uint64_t>(nb::hash(text));
    const std::array<nb::handle, 3> tensors = {q, k, v};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::optional<Described> described = describe_(tensors[i]);
      if (!described || described->layout.rank != kRank) return std::nullopt;
      asked.layouts[i] = described->layout;
      asked.data[i] = described->data;
      asked.mix(described->layout);
    }
    if (values.size() > kMostValues) return std::nullopt;
    std::uint64_t bit = 1;
    for (const nb::handle value : values) {
      if (watchers_.is_tensor(value)) {
        const std::optional<Described> described = describe_(value);
        if (!described) return std::nullopt;
        asked.are_tensors |= bit;
        asked.tensors.push_back(described->layout);
        asked.tensor_data.push_back(described->data);
        asked.mix(described->layout);
      } else if (PyFloat_CheckExact(value.ptr()) || PyLong_CheckExact(value.ptr())) {
        const double number = PyFloat_AsDouble(value.ptr());
        if (number == -1 && PyErr_Occurred() != nullptr) {  // an int beyond all floats
          PyErr_Clear();
          return std::nullopt;
        }
        asked.numbers.push_back(std::bit_cast<std::uint64_t>(number));
        asked.mix(asked.numbers.back());
      } else {
        return std::nullopt;
      }
      bit <<= 1;
    }
    return asked;
  }

  using Table = std::unordered_multimap<std::uint64_t, std::shared_ptr<const Known>>;  // by Asked::hash

  Table::const_iterator find(const Asked& asked, const nb::str& text, const nb::tuple& names) const {
    const auto [begin, end] = known_.equal_range(asked.hash);
    for (auto at = begin; at != end; ++at) {
      const Known& known = *at->second;
      if (known.layouts == asked.layouts && known.are_tensors == asked.are_tensors &&
          known.numbers == asked.numbers && known.tensors == asked.tensors && known.names.equal(names) &&
          (known.text.is(text) || PyUnicode_Compare(known.text.ptr(), text.ptr()) == 0))
        return at;
    }
    return known_.end();
  }

  static bool are_aligned(const Asked& asked) {
    std::uintptr_t bits = 0;
    for (const void* data : asked.data) bits |= reinterpret_cast<std::uintptr_t>(data);
    return bits % kGpuAlignment == 0;
  }

  Watchers watchers_;
  Describer describe_;
  nb::object num_threads_, current_gpu_, current_stream_, byte_, empty_like_;
  Table known_;
};

}  // namespace

void bind_repeated(nb::module_& module) {
  nb::class_<RepeatedCalls>(module, "RepeatedCalls")
      .def(
          "__init__",
          [](RepeatedCalls* self, nb::object tensor, nb::object parameter, std::vector<nb::object> watchers,
             nb::object is_grad_enabled, const nb::object& exchange, nb::object num_threads,
             nb::object current_gpu, nb::object current_stream, nb::object byte, nb::object empty_like) {
            new (self) RepeatedCalls({.tensor = std::move(tensor),
                                      .parameter = std::move(parameter),
                                      .any = std::move(watchers),
                                      .is_grad_enabled = std::move(is_grad_enabled)},
                                     exchange, std::move(num_threads), std::move(current_gpu),
                                     std::move(current_stream), std::move(byte), std::move(empty_like));
          },
          nb::arg("tensor"), nb::arg("parameter"), nb::arg("watchers"), nb::arg("is_grad_enabled"),
          nb::arg("exchange").none(), nb::arg("num_threads"), nb::arg("current_gpu").none(),
          nb::arg("current_stream").none(), nb::arg("byte"), nb::arg("empty_like"))
      .def("is_plain", &RepeatedCalls::is_plain, nb::arg("values"), nb::arg("q"), nb::arg("k"), nb::arg("v"))
      .def("call", &RepeatedCalls::call, nb::arg("text"), nb::arg("names"), nb::arg("values"), nb::arg("q"),
           nb::arg("k"), nb::arg("v"))
      .def("add", &RepeatedCalls::add, nb::arg("text"), nb::arg("names"), nb::arg("values"), nb::arg("q"),
           nb::arg("k"), nb::arg("v"), nb::arg("kernel"), nb::arg("views"), nb::arg("captured"),
           nb::arg("places"), nb::arg("shape").none(), nb::arg("strides").none(), nb::arg("gpu"),
           nb::arg("threads"))
      .def("clear", &RepeatedCalls::clear)
      .def_prop_ro("size", &RepeatedCalls::size);
}

}  // namespace fa::python
