// The options that several subcommands share: which spec, which problem, which target. Declared once, so that
// they are named, described and checked the same everywhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/schedule/plan.h"
#include "compiler/target/target.h"
#include "fa/options.h"
#include "fa/spec.h"
#include "tools/problem/problem.h"

namespace CLI {
class App;
}

namespace fa::tools {

/// SPEC and the parts of it that a user may override.
struct SpecArguments {
  int head_dim = 0;
  int head_dim_v = 0;
  std::string dtype;

  void declare(CLI::App& app);
  /// Loads `path` (- is standard input) and applies the overrides. Throws SpecError, ArgumentError.
  Spec load(const std::string& path) const;
  Spec apply(Spec spec) const;
};

/// The problem's size, the same for `explain` and `run`. A length or head count that is left out follows from
/// the other one.
struct SizeArguments {
  static constexpr ProblemSize kDefaults{
      .batch = 1, .num_q_heads = 4, .num_kv_heads = 4, .q_len = 512, .kv_len = 512};
  std::optional<int> batch{}, heads{}, kv_heads{}, q_len{}, kv_len{};

  void declare(CLI::App& app);
  /// Throws ArgumentError as check_size does.
  ProblemSize size() const;
};

/// The problem sizes of commands that time several: lists of lengths, one count of heads.
struct SizeListArguments {
  std::optional<int> batch{}, heads{}, kv_heads{};
  std::vector<int> q_lens{}, kv_lens{};

  void declare(CLI::App& app);
  int num_q_heads() const { return heads.value_or(8); }
  /// Throws ArgumentError where the lists do not fit each other.
  std::vector<ProblemSize> sizes() const;
};

/// --set name=value, repeated.
void declare_params(CLI::App& app, std::vector<std::string>& assignments);
/// "a=b" -> {a, b}. Throws ArgumentError naming the option where there is no `=` or a name stands twice.
std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& assignments,
                                                     const std::string& option);

/// What the tensors of problems that are timed hold: --set, --dropout, --seed.
struct InputArguments {
  std::vector<std::string> params{};
  std::optional<float> dropout{};
  std::uint64_t seed = 1;

  void declare(CLI::App& app);
  /// For one of `num_specs` specs. With several, a param is set, and dropout given, where a spec has it;
  /// with one, it
  /// must have it. Throws ArgumentError as parse_assignments does.
  ProblemInputs of(const Spec& spec, std::size_t num_specs, const ProblemSize& size) const;
};

/// --backward, --backward-plan and --deterministic, of a command that runs, builds or shows the backward pass.
struct BackwardArguments {
  bool asked = false, deterministic = false;
  std::string forced_plan;

  /// `what`: what --backward does there.
  void declare(CLI::App& app, const std::string& what);
  /// Throws ArgumentError where one of the others stands without --backward.
  void check() const;
  Passes passes() const { return asked ? Passes::forward_and_backward : Passes::forward; }
  /// Whether the gradients' bits are to repeat, by --deterministic or FA_DETERMINISTIC.
  bool repeats() const;
  /// The plan that is asked for, by --backward-plan or FA_BACKWARD_PLAN, else the chosen one. Throws ArgumentError that
  /// says where a bad one came from.
  BackwardPlan plan(const CheckedSpec& spec, const Compiled& compiled, const Target& target) const;
};

/// --impl: which implementation of attention.
struct ImplArgument {
  std::string name = "facet";

  void declare(CLI::App& app);
  Impl impl() const;
  /// The plan that is forced, by --plan or FA_PLAN, with the implementation in it.
  std::string plan(const std::string& forced_plan) const;
};

/// --device, --cuda-device, --gpu, --threads, --plan, --no-cache: fa::Options from the command line.
struct DeviceArguments {
  std::string device = "auto";
  int cuda_device = 0;
  std::string gpu;
  int threads = 0;
  std::string plan;
  ImplArgument impl;  // declared by the commands that have it
  bool no_cache = false;

  /// `gpus`: where --gpu takes a list, for kernels that are not run.
  void declare(CLI::App& app, std::vector<std::string>* gpus = nullptr);
  Options options(const BackwardArguments& backward = {}) const;
};

/// What --deterministic comes to where a kernel runs, for people.
std::string describe_repeats(Device device);

/// A target by name. Throws ArgumentError listing the names.
const Target& named_target(const std::string& name);
/// A plan that the user forces, and where it came from, for messages: "--plan \"tile_q=64\"".
std::string describe_plan(const std::string& plan);
/// compile_front_end with the plan of `forced_plan`, else of FA_PLAN. Mistakes in a plan are ArgumentError:
/// they are bad input.
Compiled front_end(const Spec& spec, const Target& target, const std::string& forced_plan,
                   Passes passes = Passes::forward);

}  // namespace fa::tools
