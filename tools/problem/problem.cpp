// Makes problems: parses params, sizes captured tensors by their extents, fills or reads every tensor.
#include "tools/problem/problem.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "compiler/spec/parse/ast.h"
#include "tools/console/text.h"
#include "tools/problem/npy.h"
#include "tools/problem/random.h"
#include "tools/reference/parallel.h"

namespace fa::tools {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;  // of q, k or v: a typo, not a tensor
constexpr std::int64_t kMostCaptured =
    std::numeric_limits<std::int32_t>::max();  // elements: an index is an i32

std::vector<std::string> param_names(const Spec& spec) {
  std::vector<std::string> names;
  for (const auto& param : spec.params()) names.push_back(param.name);
  return names;
}

Scalar parse_scalar(const ParamInfo& param, const std::string& text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (std::holds_alternative<std::int32_t>(param.default_value)) {
    std::int32_t value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc() && stop == end) return value;
    throw ArgumentError(fmt::format("param '{}' is i32, '{}' is not a 32-bit integer", param.name, text));
  }
  float value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc() && stop == end) return value;
  throw ArgumentError(fmt::format("param '{}' is f32, '{}' is not a number", param.name, text));
}

}  // namespace

void check_size(const ProblemSize& size) {
  const auto positive = [](const char* name, int value, int limit) {
    if (value < 1) throw ArgumentError(fmt::format("{} is {}, it must be at least 1", name, value));
    if (value > limit)
      throw ArgumentError(fmt::format("{} is {}, at most {} is supported", name, value, limit));
  };
  positive("batch", size.batch, 1 << 16);
  positive("heads", size.num_q_heads, 1 << 16);
  positive("kv-heads", size.num_kv_heads, 1 << 16);
  positive("q-len", size.q_len, kMaxLength);
  positive("kv-len", size.kv_len, kMaxLength);
  if (size.num_q_heads % size.num_kv_heads != 0) {
    throw ArgumentError(
        fmt::format("heads ({}) is not a multiple of kv-heads ({}); each kv head serves a whole "
                    "group of query heads",
                    size.num_q_heads, size.num_kv_heads));
  }
}

namespace {

HostTensor read_or_fill(std::string name, DType dtype, std::vector<std::int64_t> shape,
                        const ProblemInputs& inputs, std::uint64_t stream) {
  if (const auto file = inputs.files.find(name); file != inputs.files.end()) {
    return read_npy(file->second, name, dtype, shape);
  }
  HostTensor tensor(std::move(name), dtype, std::move(shape));
  fill_random(tensor, random_bits(inputs.data_seed, stream));
  return tensor;
}

struct TensorShape {
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  std::optional<Diagnostic> problem;  // why there is no such tensor, where there is none
};

/// What is wrong with a tensor in a problem of `size`, where the spec declares it, or says its `extent`.
Diagnostic misfit(const CheckedSpec& spec, const CheckedTensor& tensor, std::optional<std::size_t> extent,
                  std::string message, const ProblemSize& size) {
  Diagnostic finding;
  finding.place.file = spec.file;
  finding.message = fmt::format("tensor '{}'{}", tensor.info.name, message);
  finding.remedy =
      fmt::format("here q_len is {}, kv_len {} and num_q_heads {}: choose others, or other params",
                  size.q_len, size.kv_len, size.num_q_heads);
  for (const AstItem& item : spec.ast->items) {
    if (item.kind != ItemKind::tensor || item.name != tensor.info.name) continue;
    const Span span = extent ? item.extents[*extent]->span : item.name_span;
    finding.place = spec.ast->source->place(span);
    finding.source_line = spec.ast->source->line(finding.place.line);
    if (!span.nowhere()) finding.length = static_cast<int>(span.end - span.begin);
  }
  return finding;
}

TensorShape tensor_shape(const CheckedSpec& spec, const CheckedTensor& tensor, const Environment& environment,
                         const ProblemSize& size) {
  TensorShape shape;
  for (std::size_t i = 0; i < tensor.extents.size(); ++i) {
    const std::int32_t extent = evaluate_scalar(tensor.extents[i], environment);
    if (extent < 1) {
      shape.problem = misfit(spec, tensor, i,
                             fmt::format(": extent {} ({}) is {} for this problem, it must be at least 1", i,
                                         tensor.info.extents[i], extent),
                             size);
      return shape;
    }
    shape.extents.push_back(extent);
    shape.elements *= extent;
    if (shape.elements > kMostCaptured) {
      shape.problem =
          misfit(spec, tensor, std::nullopt,
                 fmt::format(" would have more than {} elements for this problem: an index is an i32",
                             kMostCaptured),
                 size);
      return shape;
    }
  }
  return shape;
}

void check_bytes(std::string_view name, const std::vector<std::int64_t>& shape, DType dtype) {
  std::int64_t bytes = dtype_bytes(dtype);
  for (const std::int64_t extent : shape) {
    if (extent > kMostBytes / bytes)
      throw ArgumentError(
          fmt::format("{} would have the shape {} and so more than {} bytes; choose smaller "
                      "--batch, --heads or lengths",
                      name, print_shape(shape), kMostBytes));
    bytes *= extent;
  }
}

}  // namespace

std::vector<Scalar> parse_params(const Spec& spec, const std::map<std::string, std::string>& values) {
  for (const auto& [name, text] : values) {
    const auto names = param_names(spec);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (names.empty())
      throw ArgumentError(fmt::format("spec '{}' has no params, so no '{}'", spec.name(), name));
    throw ArgumentError(
        fmt::format("spec '{}' has no param '{}'; it has {}", spec.name(), name, join(names)));
  }
  std::vector<Scalar> result;
  for (const auto& param : spec.params()) {
    const auto given = values.find(param.name);
    result.push_back(given == values.end() ? param.default_value : parse_scalar(param, given->second));
  }
  return result;
}

Environment problem_environment(const Spec& spec, const ProblemSize& size, std::span<const Scalar> params) {
  Environment environment;
  environment[Builtin::batch] = size.batch;
  environment[Builtin::q_len] = size.q_len;
  environment[Builtin::kv_len] = size.kv_len;
  environment[Builtin::num_q_heads] = size.num_q_heads;
  environment[Builtin::num_kv_heads] = size.num_kv_heads;
  environment[Builtin::group_size] = size.num_q_heads / size.num_kv_heads;
  environment[Builtin::head_dim] = spec.head_dim();
  environment.params = params;
  return environment;
}

Environment problem_environment(const Problem& problem) {
  Environment environment = problem_environment(problem.spec, problem.size, problem.params);
  environment.tensors = problem.tensors;
  return environment;
}

void fill_random(HostTensor& tensor, std::uint64_t seed) {
  parallel_for(tensor.elements(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto counter = static_cast<std::uint64_t>(i);
      switch (tensor.dtype) {
        case DType::i32:
        case DType::i8:
        case DType::u8:
        case DType::i64:
          tensor.set(i, random_below(seed, counter, 8));
          break;
        case DType::boolean:
          tensor.set(i, random_below(seed, counter, 2));
          break;
        default:
          tensor.set(i, random_normal(seed, counter));
      }
    }
  });
}

void fill_example(HostTensor& tensor, const ExprPtr& example, const Environment& environment) {
  constexpr std::array kIndices{Builtin::i0, Builtin::i1, Builtin::i2, Builtin::i3, Builtin::i4, Builtin::i5};
  const std::size_t rank = tensor.shape.size();
  const std::int64_t row = tensor.shape.back();
  const std::int64_t rows = tensor.elements() / row;
  const std::int64_t chunk = std::max<std::int64_t>(1, (1 << 14) / row);
  parallel_for(rows, chunk, [&](std::int64_t begin, std::int64_t end) {
    Interpreter interpreter(example);
    Environment local = environment;
    local.lane = kIndices[rank - 1];
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t rest = r;
      for (std::size_t d = rank - 1; d-- > 0; rest /= tensor.shape[d]) {
        local[kIndices[d]] = static_cast<std::int32_t>(rest % tensor.shape[d]);
      }
      for (std::int64_t first = 0; first < row; first += Interpreter::kLanes) {
        const int lanes = static_cast<int>(std::min<std::int64_t>(Interpreter::kLanes, row - first));
        local[local.lane] = static_cast<std::int32_t>(first);
        const std::int64_t base = r * row + first;
        if (example->type == Type::f32) {
          const auto values = interpreter.evaluate_f32(local, lanes);
          for (int i = 0; i < lanes; ++i) tensor.set(base + i, values[static_cast<std::size_t>(i)]);
        } else {
          const auto values = interpreter.evaluate_i32(local, lanes);
          for (int i = 0; i < lanes; ++i) tensor.set(base + i, values[static_cast<std::size_t>(i)]);
        }
      }
    }
  });
}

bool tensors_fit(const Spec& spec, const ProblemInputs& inputs, std::int64_t most) {
  const std::vector<Scalar> params = parse_params(spec, inputs.params);
  const Environment environment = problem_environment(spec, inputs.size, params);
  std::int64_t elements = 0;
  for (const CheckedTensor& tensor : spec.checked().tensors) {
    const TensorShape shape = tensor_shape(spec.checked(), tensor, environment, inputs.size);
    if (shape.problem) return false;
    elements += shape.elements;
  }
  return elements <= most;
}

Problem make_mask_problem(const Spec& spec, const ProblemInputs& inputs) {
  check_size(inputs.size);
  const auto& checked = spec.checked();
  for (const auto& [name, path] : inputs.files) {
    std::vector<std::string> names{"q", "k", "v"};
    for (const auto& tensor : spec.tensors()) names.push_back(tensor.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw ArgumentError(
          fmt::format("spec '{}' has no tensor '{}'; it has {}", spec.name(), name, join(names)));
    }
  }
  if (inputs.dropout) {
    if (!(*inputs.dropout >= 0 && *inputs.dropout <= 1)) {
      throw ArgumentError(fmt::format("dropout is {}: a probability is between 0 and 1", *inputs.dropout));
    }
    if (!spec.has_dropout()) {
      throw ArgumentError(fmt::format("spec '{}' has no dropout; add a line `dropout {}` to it", spec.name(),
                                      *inputs.dropout));
    }
  }

  Problem problem{.spec = spec,
                  .size = inputs.size,
                  .q = {},
                  .k = {},
                  .v = {},
                  .tensors = {},
                  .params = parse_params(spec, inputs.params),
                  .dropout = inputs.dropout.value_or(static_cast<float>(checked.dropout)),
                  .dropout_seed = inputs.dropout_seed};
  const Environment environment = problem_environment(spec, problem.size, problem.params);
  std::uint64_t stream = 3;
  for (const auto& tensor : checked.tensors) {
    TensorShape shape = tensor_shape(checked, tensor, environment, problem.size);
    if (shape.problem) throw SpecError({*shape.problem});
    if (tensor.example != nullptr && !inputs.files.contains(tensor.info.name)) {
      HostTensor filled(tensor.info.name, tensor.info.dtype, std::move(shape.extents));
      fill_example(filled, tensor.example, environment);
      problem.tensors.push_back(std::move(filled));
    } else {
      problem.tensors.push_back(
          read_or_fill(tensor.info.name, tensor.info.dtype, std::move(shape.extents), inputs, stream));
    }
    ++stream;
  }
  return problem;
}

Problem make_problem(const Spec& spec, const ProblemInputs& inputs) {
  Problem problem = make_mask_problem(spec, inputs);
  const std::int64_t batch = problem.size.batch;
  const std::int64_t q_heads = problem.size.num_q_heads;
  const std::int64_t kv_heads = problem.size.num_kv_heads;
  const std::int64_t q_len = problem.size.q_len;
  const std::int64_t kv_len = problem.size.kv_len;
  check_bytes("q", {batch, q_heads, q_len, std::max(spec.head_dim(), spec.head_dim_v())}, spec.dtype());
  check_bytes("k", {batch, kv_heads, kv_len, std::max(spec.head_dim(), spec.head_dim_v())}, spec.dtype());
  problem.q = read_or_fill("q", spec.dtype(), {batch, q_heads, q_len, spec.head_dim()}, inputs, 0);
  problem.k = read_or_fill("k", spec.dtype(), {batch, kv_heads, kv_len, spec.head_dim()}, inputs, 1);
  problem.v = read_or_fill("v", spec.dtype(), {batch, kv_heads, kv_len, spec.head_dim_v()}, inputs, 2);
  return problem;
}

}  // namespace fa::tools
