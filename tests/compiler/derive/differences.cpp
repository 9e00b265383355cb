#include "tests/compiler/derive/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "compiler/ir/import/import.h"
#include "compiler/ir/llvm.h"
#include "compiler/spec/spec.h"
#include "runtime/host/hook_jit.h"
#include "tests/compiler/ir/hook_eval.h"

namespace fa::test {
namespace {

constexpr double kStep = 1e-5;
constexpr double kOfDifferences = 2e-6;  // of a difference quotient in double
constexpr double kOfFloats = 2e-3;       // of f32, through expressions of a hundred operations

bool is_near(double a, double b, double tolerance, double scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(b) + scale);
}

/// A direction in the space of all that has a gradient.
struct Direction {
  double score = 0;
  std::vector<double> params;
  std::vector<std::vector<double>> tensors;

  Point moved(Point point, double by) const {
    point.score += by * score;
    for (std::size_t i = 0; i < params.size(); ++i) point.params[i] += by * params[i];
    for (std::size_t i = 0; i < tensors.size(); ++i)
      for (std::size_t j = 0; j < tensors[i].size(); ++j) point.tensors[i][j] += by * tensors[i][j];
    return point;
  }

  double along(const Point& point, const HookDerivatives& derivatives) const {
    Evaluator evaluator(point);
    double sum = derivatives.score.expr && score != 0 ? score * evaluator.value(*derivatives.score.expr) : 0;
    for (const Adjoint& adjoint : derivatives.adjoints)
      if (adjoint.of == Adjoint::Of::param)
        sum += params[static_cast<std::size_t>(adjoint.index)] * evaluator.value(*adjoint.value.expr);
    for (const ElementGradient& gradient : element_gradients(point, derivatives))
      sum += gradient.value *
             tensors[static_cast<std::size_t>(gradient.tensor)][static_cast<std::size_t>(gradient.element)];
    return sum;
  }
};

/// Derived functions as machine code.
class Functions {
 public:
  Functions(const tools::Problem& problem, const Derivatives& derivatives) : problem_(problem) {
    add(derivatives.score_mod);
    add(derivatives.sink);
    const std::shared_ptr<llvm::Module> module = merge_modules({derivatives.module});
    define_functions(*module);
    jit_ = std::make_unique<HookJit>(module);
  }

  /// What differs at the point, or nothing.
  std::string compare(const Point& point, Element element, ComparedDerivatives& compared) {
    Evaluator evaluator(point);
    std::vector<Slot> arguments = hook_arguments(problem_, static_cast<float>(point.score), element);
    const std::size_t plain = arguments.size();
    for (const Entry& entry : entries_) {
      arguments.resize(plain);
      for (const DerivedLoop& loop : entry.loops) {  // the last iteration of each
        const double range = loop.range ? evaluator.value(*loop.range) : loop.count;
        const int index = static_cast<int>(std::max(0.0, std::min<double>(range, loop.count) - 1));
        evaluator.open_loop(loop.id, index);
        arguments.push_back(Slot::of(index));
      }
      Slot result;
      jit_->find(entry.name)(arguments.data(), &result);
      const double want = evaluator.value(*entry.expr);
      for (std::size_t i = 0; i < entry.loops.size(); ++i) evaluator.close_loop();
      const bool is_float = entry.expr->type == Type::f32;
      const double got = is_float ? static_cast<double>(result.f32()) : result.i32();
      ++compared.compared;
      if (!(is_float ? is_near(got, want, kOfFloats, 0) : got == want))
        return fmt::format("@{} gives {}, its expression {}", entry.name, got, want);
    }
    return {};
  }

 private:
  struct Entry {
    std::string name;
    ExprPtr expr;
    std::vector<DerivedLoop> loops;
  };

  void add(const Derived& value, const std::vector<DerivedLoop>& loops) {
    if (value.function != nullptr) entries_.push_back({value.function->getName().str(), value.expr, loops});
  }
  void add(const HookDerivatives& derivatives) {
    add(derivatives.score, {});
    for (const Adjoint& adjoint : derivatives.adjoints) {
      add(adjoint.value, adjoint.loops);
      for (const Derived& index : adjoint.indices) add(index, adjoint.loops);
    }
  }

  const tools::Problem& problem_;
  std::vector<Entry> entries_;
  std::unique_ptr<HookJit> jit_;
};

}  // namespace

ComparedDerivatives compare_derivatives(const tools::Problem& problem, int points, std::uint64_t seed,
                                        double low, double high) {
  const CheckedSpec spec = import_hooks(problem.spec.checked());
  const Derivatives derivatives = derive(problem.spec.checked(), lower(problem.spec.checked()));
  Functions functions(problem, derivatives);
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const auto number = [&](double from, double to) {
    return std::uniform_real_distribution<>(from, to)(random);
  };
  ComparedDerivatives result;

  const auto compare_along = [&](const Point& point, const ExprPtr& hook, const HookDerivatives& of,
                                 const Direction& direction, const std::string& title) {
    const Point ahead = direction.moved(point, kStep), behind = direction.moved(point, -kStep);
    Evaluator here(point), after(ahead), before(behind);
    const double value = here.value(*hook);
    const double quotient = (after.value(*hook) - before.value(*hook)) / (2 * kStep);
    if (after.decisions() != before.decisions() || here.decisions() != after.decisions()) {
      ++result.kinks;
      return;
    }
    if (!std::isfinite(quotient)) return;
    ++result.compared;
    const double derivative = direction.along(point, of);
    if (!is_near(derivative, quotient, kOfDifferences, std::fabs(value)) && result.wrong.empty())
      result.wrong = fmt::format("{}: derived {}, by differences {}", title, derivative, quotient);
  };

  for (int i = 0; i < points && result.wrong.empty(); ++i) {
    const ProblemSize& size = problem.size;
    const Element element = {below(size.batch), below(size.num_q_heads), below(size.q_len),
                             below(size.kv_len)};
    const Point point(problem, static_cast<float>(number(low, high)), element.b, element.h, element.q,
                      element.kv);
    Direction along_score{.score = 1, .params = std::vector<double>(point.params.size()), .tensors = {}};
    for (const auto& tensor : point.tensors) along_score.tensors.emplace_back(tensor.size());
    Direction along_rest = along_score;
    along_rest.score = 0;
    for (std::size_t p = 0; p < spec.params.size(); ++p)
      if (spec.params[p].grad) along_rest.params[p] = number(-1, 1);
    for (std::size_t t = 0; t < spec.tensors.size(); ++t)
      for (double& x : along_rest.tensors[t])
        if (spec.tensors[t].info.grad) x = number(-1, 1);
    ++result.points;
    const std::string place = fmt::format("b {} h {} q {} kv {} score {}", element.b, element.h, element.q,
                                          element.kv, point.score);
    if (spec.score_mod) {
      compare_along(point, spec.score_mod, derivatives.score_mod, along_score, "d score at " + place);
      compare_along(point, spec.score_mod, derivatives.score_mod, along_rest, "d rest at " + place);
    }
    if (spec.sink) compare_along(point, spec.sink, derivatives.sink, along_rest, "d sink at " + place);
    if (result.wrong.empty()) result.wrong = functions.compare(point, element, result);
    if (!result.wrong.empty()) result.wrong += " (" + place + ")";
  }
  return result;
}

std::string mark_all(const std::string& text, const std::string& file) {
  static const std::regex kFloats(R"(^(param \w+ : f32|tensor \w+ : (f32|f16|bf16)).*)");
  std::vector<std::string> lines;
  std::vector<bool> marked;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    marked.push_back(std::regex_match(line, kFloats));
    lines.push_back(line);
  }
  for (;;) {
    std::string result;
    for (std::size_t i = 0; i < lines.size(); ++i) result += lines[i] + (marked[i] ? " grad\n" : "\n");
    try {
      const Spec spec = Spec::parse(result, file);
      derive(spec.checked(), lower(spec.checked()));
      return result;
    } catch (const SpecError& error) {  // says of each that no gradient reaches it
      bool is_less = false;
      for (const Diagnostic& finding : error.diagnostics()) {
        if (finding.message.find("no gradient reaches") == std::string::npos) throw;
        is_less = true;
        marked[static_cast<std::size_t>(finding.place.line) - 1] = false;
      }
      if (!is_less) throw;
    }
  }
}

}  // namespace fa::test
