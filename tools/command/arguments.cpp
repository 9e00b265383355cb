// Shared options: declaration and reading.
#include "tools/command/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "compiler/schedule/baseline/baseline.h"
#include "runtime/build/device_target.h"
#include "runtime/host/jit.h"
#include "runtime/system/options.h"
#include "tools/command/spec_file.h"
#include "tools/command/targets.h"
#include "tools/command/validators.h"
#include "tools/problem/problem.h"

namespace fa::tools {

namespace {

constexpr const char* kSpecGroup = "Spec";
constexpr const char* kSizeGroup = "Problem";
constexpr const char* kDeviceGroup = "Device";

}  // namespace

void SpecArguments::declare(CLI::App& app) {
  const auto number = [&](const char* name, int& value, const char* description) {
    app.add_option(name, value, description)->type_name("N")->check(positive())->group(kSpecGroup);
  };
  number("--head-dim", head_dim, "Override the spec's head_dim (and head_dim_v where they are equal)");
  number("--head-dim-v", head_dim_v, "Override the spec's head_dim_v");
  app.add_option("--dtype", dtype, "Override the spec's dtype: f16, bf16 or f32")
      ->type_name("TYPE")
      ->check(one_of({"f16", "bf16", "f32"}))
      ->group(kSpecGroup);
}

Spec SpecArguments::load(const std::string& path) const { return apply(read_spec(path)); }

Spec SpecArguments::apply(Spec spec) const {
  if (head_dim != 0 || head_dim_v != 0) {
    const bool equal = spec.head_dim() == spec.head_dim_v();
    const int new_head_dim = head_dim != 0 ? head_dim : spec.head_dim();
    const int new_head_dim_v = head_dim_v != 0 ? head_dim_v : equal ? new_head_dim : spec.head_dim_v();
    spec = spec.with_head_dim(new_head_dim, new_head_dim_v);
  }
  if (dtype == "f16") return spec.with_dtype(DType::f16);
  if (dtype == "bf16") return spec.with_dtype(DType::bf16);
  if (dtype == "f32") return spec.with_dtype(DType::f32);
  return spec;
}

void SizeArguments::declare(CLI::App& app) {
  const auto number = [&](const char* name, std::optional<int>& value, const std::string& description) {
    app.add_option(name, value, description)->type_name("N")->check(positive())->group(kSizeGroup);
  };
  number("--batch", batch, fmt::format("Sequences in the batch [{}]", kDefaults.batch));
  number("--heads", heads, fmt::format("Query heads [{}]", kDefaults.num_q_heads));
  number("--kv-heads", kv_heads, "Key and value heads; a divisor of --heads [--heads]");
  number("--q-len", q_len, fmt::format("Query positions [{}]", kDefaults.q_len));
  number("--kv-len", kv_len, "Key positions [--q-len]");
}

ProblemSize SizeArguments::size() const {
  ProblemSize result = kDefaults;
  result.batch = batch.value_or(kDefaults.batch);
  result.num_q_heads = heads.value_or(kDefaults.num_q_heads);
  result.num_kv_heads = kv_heads.value_or(heads.value_or(kDefaults.num_kv_heads));
  result.q_len = q_len.value_or(kDefaults.q_len);
  result.kv_len = kv_len.value_or(q_len.value_or(kDefaults.kv_len));
  check_size(result);
  return result;
}

void SizeListArguments::declare(CLI::App& app) {
  const auto add = [&](const char* name, std::optional<int>& value, const char* description) {
    app.add_option(name, value, description)->type_name("N")->check(positive())->group(kSizeGroup);
  };
  add("--batch,--batch-size", batch, "Sequences in the batch [1]");
  add("--heads,--num-heads", heads, "Query heads [8]");
  add("--kv-heads", kv_heads, "Key and value heads; a divisor of --heads [--heads]");
  const auto add_list = [&](const char* name, std::vector<int>& values, const char* description) {
    app.add_option(name, values, description)
        ->delimiter(',')
        ->allow_extra_args(false)  // or it would take the specs after it
        ->type_name("N,N,...")
        ->check(positive())
        ->group(kSizeGroup);
  };
  add_list("--q-len,--seq-len", q_lens, "Query positions [1024,2048]");
  add_list("--kv-len", kv_lens, "Key positions: one for all of --q-len, or one for each [--q-len]");
}

std::vector<ProblemSize> SizeListArguments::sizes() const {
  const std::vector<int> queries = q_lens.empty() ? std::vector{1024, 2048} : q_lens;
  if (kv_lens.size() > 1 && kv_lens.size() != queries.size()) {
    throw ArgumentError(
        fmt::format("--kv-len has {} lengths and --q-len {}; give one for all, or one for each",
                    kv_lens.size(), queries.size()));
  }
  std::vector<ProblemSize> result;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    result.push_back({.batch = batch.value_or(1),
                      .num_q_heads = num_q_heads(),
                      .num_kv_heads = kv_heads.value_or(num_q_heads()),
                      .q_len = queries[i],
                      .kv_len = kv_lens.empty() ? queries[i] : kv_lens[kv_lens.size() == 1 ? 0 : i]});
  }
  return result;
}

void declare_params(CLI::App& app, std::vector<std::string>& assignments) {
  app.add_option("--set", assignments, "Give a param another value than its default; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(kSizeGroup);
}

std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& assignments,
                                                     const std::string& option) {
  std::map<std::string, std::string> result;
  for (const auto& text : assignments) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      throw ArgumentError(fmt::format("{} {}: write it as {} name=value", option, text, option));
    }
    const auto [at, added] = result.emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!added) throw ArgumentError(fmt::format("{}: '{}' is given twice", option, at->first));
  }
  return result;
}

void InputArguments::declare(CLI::App& app) {
  declare_params(app, params);
  app.add_option("--dropout", dropout, "Dropout probability [the spec's]")->type_name("P")->group(kSizeGroup);
  app.add_option("--seed", seed, "Seed of the tensors and of dropout [1]")
      ->check(fa::tools::seed())
      ->type_name("N")
      ->group(kSizeGroup);
}

ProblemInputs InputArguments::of(const Spec& spec, std::size_t num_specs, const ProblemSize& size) const {
  ProblemInputs inputs;
  inputs.size = size;
  inputs.params = parse_assignments(params, "--set");
  if (num_specs > 1) {
    std::erase_if(inputs.params, [&](const auto& given) {
      return std::ranges::find(spec.params(), given.first, &ParamInfo::name) == spec.params().end();
    });
  }
  if (spec.has_dropout() || num_specs == 1) inputs.dropout = dropout;
  inputs.dropout_seed = inputs.data_seed = seed;
  return inputs;
}

void ImplArgument::declare(CLI::App& app) {
  app.add_option("--impl", name,
                 "facet: fused; baselines: standard, with S and P in memory, and flash1, "
                 "FlashAttention's algorithm 1 [facet]")
      ->type_name("IMPL")
      ->check(one_of(impl_names()))
      ->group(kDeviceGroup);
}

std::string ImplArgument::plan(const std::string& forced_plan) const {
  return plan_of_impl(impl(), forced_plan.empty() ? environment().plan : forced_plan);
}

Impl ImplArgument::impl() const { return impl_named(name).value(); }

void DeviceArguments::declare(CLI::App& app, std::vector<std::string>* gpus) {
  app.add_option("--device", device, "auto (the NVIDIA GPU where there is one), cuda or host [auto]")
      ->type_name("WHERE")
      ->check(one_of({"auto", "cuda", "host"}))
      ->group(kDeviceGroup);
  app.add_option("--cuda-device", cuda_device, "Ordinal of the GPU [0]")
      ->type_name("N")
      ->check(not_negative())
      ->group(kDeviceGroup);
  if (gpus != nullptr) {
    app.add_option("--gpu", *gpus, "Predict for these GPUs, which need not be here, and run nothing: t4,a100")
        ->delimiter(',')
        ->allow_extra_args(false)  // or it would take the specs after it
        ->type_name("NAME,...")
        ->check(suggested(target_words(false)))
        ->group(kDeviceGroup);
  } else {
    app.add_option("--gpu", gpu,
                   "Run the kernels of another GPU, no newer than this one: t4, a100, ... [its own]")
        ->type_name("NAME")
        ->check(suggested(target_words(false)))
        ->group(kDeviceGroup);
  }
  app.add_option("--threads", threads, "Threads on the host [all cores]")
      ->type_name("N")
      ->check(positive())
      ->group(kDeviceGroup);
  app.add_option("--plan", plan,
                 "Force a plan, or parts of one that the model completes: \"tile_q=128 tile_kv=64 warps=4\"")
      ->type_name("PLAN")
      ->group(kDeviceGroup);
  app.add_flag("--no-cache", no_cache, "Compile even what a cache has; keep nothing")->group(kDeviceGroup);
}

Options DeviceArguments::options(const BackwardArguments& backward) const {
  backward.check();
  Options options;
  options.backward = backward.asked;
  options.deterministic = backward.repeats();
  options.backward_plan = backward.forced_plan;
  options.device = device == "cuda" ? Device::cuda : device == "host" ? Device::host : Device::automatic;
  options.cuda_device = cuda_device;
  if (!gpu.empty()) options.target = named_target(gpu).name;
  if (!gpu.empty() && device == "host")
    throw ArgumentError("--gpu names the GPU whose kernels are run, --device host runs none: leave out one");
  options.num_threads = threads;
  options.plan = plan;
  options.impl = impl.impl();
  options.disk_cache = !no_cache;
  options.memory_cache = !no_cache;
  options = resolve(options, environment());                      // the session's device must be the kernel's
  if (!options.target.empty()) check_gpu_target(options.target);  // else the plan would be blamed
  return options;
}

void BackwardArguments::declare(CLI::App& app, const std::string& what) {
  app.add_flag("--backward", asked, what);
  app.add_flag("--deterministic", deterministic,
               "With --backward: gradients whose bits repeat from run to run; the host's always do");
  app.add_option("--backward-plan", forced_plan,
                 "With --backward, on a GPU: force its plan or parts of one: \"keys(tile_q=64 stages=1)\"")
      ->type_name("PLAN");
}

void BackwardArguments::check() const {
  if (deterministic && !asked)
    throw ArgumentError("--deterministic is about gradients: add --backward, or leave it out");
  if (!forced_plan.empty() && !asked)
    throw ArgumentError("--backward-plan is about gradients: add --backward, or leave it out");
}

bool BackwardArguments::repeats() const { return asked && (deterministic || environment().deterministic); }

BackwardPlan BackwardArguments::plan(const CheckedSpec& spec, const Compiled& compiled,
                                     const Target& target) const {
  const bool from_environment = forced_plan.empty();
  const std::string& text = from_environment ? environment().backward_plan : forced_plan;
  try {
    return plan_backward(spec, compiled, target, repeats(), text);
  } catch (const ArgumentError& error) {
    if (text.empty()) throw;
    throw ArgumentError(fmt::format("{}: {}",
                                    from_environment ? fmt::format("FA_BACKWARD_PLAN='{}'", text)
                                                     : fmt::format("--backward-plan \"{}\"", text),
                                    error.what()));
  }
}

std::string describe_repeats(Device device) {
  return std::string("every gradient has the same bits in every run") +
         (device == Device::cuda ? "" : ", as the host's always have");
}

const Target& named_target(const std::string& name) {
  const Target& target = find_target(name);
  return target.is_host() ? host_target() : target;
}

std::string describe_plan(const std::string& plan) {
  // As plan_of_impl writes a baseline's: its loop order first.
  const std::size_t end = std::min(plan.find(' '), plan.size());
  const std::optional<LoopOrder> order = loop_order_named(plan.substr(0, end));
  if (order && *order != LoopOrder::q_outer) {
    const std::string rest = plan.substr(std::min(plan.size(), end + 1));
    return fmt::format("--impl {}", impl_name(impl_of(*order))) +
           (rest.empty() ? "" : fmt::format(" --plan \"{}\"", rest));
  }
  return plan == environment().plan ? fmt::format("FA_PLAN='{}'", plan) : fmt::format("--plan \"{}\"", plan);
}

Compiled front_end(const Spec& spec, const Target& target, const std::string& forced_plan, Passes passes) {
  const std::string& plan = forced_plan.empty() ? environment().plan : forced_plan;
  try {
    return compile_front_end(spec.checked(), target, plan, passes);
  } catch (const ArgumentError& error) {
    if (plan.empty()) throw;
    throw ArgumentError(fmt::format("{}: {}", describe_plan(plan), error.what()));
  }
}

}  // namespace fa::tools
