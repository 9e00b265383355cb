// facet build: specs x sizes x dtypes x architectures into one bundle, on a machine without a GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runtime/build/build.h"
#include "runtime/build/device_target.h"
#include "runtime/bundle/file.h"
#include "runtime/system/options.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/spec_file.h"
#include "tools/command/targets.h"
#include "tools/command/validators.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/plans/bundle_json.h"
#include "tools/problem/describe.h"
#include "tools/reference/parallel.h"
#include "tools/tune/origin.h"

namespace fa::tools {

namespace {

constexpr const char* kBuildFooter = R"help(
Needs NVRTC and no GPU. Every spec is built for every --arch, --head-dim and --dtype; where one of them has no kernel
the command says which and why, and writes nothing. An architecture may have dtypes of its own: sm_75, which knows no
bf16, as sm_75:f16. The bundle is written aside and renamed: it is there whole or not
at all. Plans are those that `facet explain --gpu` says compile takes for the first GPU of that architecture; a kernel
with several plans has a cubin for each.
A program loads it with fa::load_bundle and links facet::bundle, which holds neither LLVM nor NVRTC: docs/bundles.md.

Examples:
  facet build specs/causal.fa --arch sm_80,sm_90a -o causal.facet-bundle
  facet build specs/*.fa --arch sm_80 --head-dim 64,128 --dtype f16,bf16 -o kernels/
  facet build specs/causal.fa --arch sm_75:f16,sm_80:f16+bf16,sm_90a:bf16 -o kernels/
  facet build specs/alibi.fa --arch sm_80 --backward -o kernels/
  facet bundle kernels/                                    # what it holds)help";

struct BuildArguments {
  std::vector<std::string> specs, archs, dtypes;
  std::vector<int> head_dims;
  std::string output;
  JsonOption json;
  bool no_cache = false;
  BackwardArguments backward;
};

/// An architecture and what is built for it; a dtype of "" is the spec's own.
struct Wanted {
  std::string arch;
  std::vector<std::string> dtypes;
};

/// A spec with one of the sizes and dtypes asked for.
struct DtypedSpec {
  std::vector<std::string>
      dtypes;  // the words that ask for it; the spec's own dtype may also be asked for by name
  Spec spec;
};

/// One kernel of the bundle: a cubin for each of its plans.
struct Job {
  std::size_t spec = 0;
  std::string arch;
  PlanTable plans;
  TableSources sources;                   // and, the last, that of the backward pass
  std::string backward_plan = {};         // empty: it has none
  std::vector<BuildResult> results = {};  // of each source; the first is for all other calls
  std::size_t num_built = 0;
  double milliseconds = 0;  // of all builds together

  bool is_built() const { return num_built == results.size(); }
  bool has_backward() const { return !backward_plan.empty(); }
};

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// "sm_75:f16+f32", or a bare "sm_80" with the dtypes of --dtype.
Wanted parse_wanted(const std::string& text, const std::vector<std::string>& dtypes) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, dtypes.empty() ? std::vector<std::string>{""} : dtypes};
  Wanted wanted{.arch = text.substr(0, colon), .dtypes = {}};
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    wanted.dtypes.push_back(text.substr(begin, end - begin));
    const std::string& dtype = wanted.dtypes.back();
    if (dtype != "f16" && dtype != "bf16" && dtype != "f32")
      throw ArgumentError(
          fmt::format("--arch {}: '{}' is no dtype: write f16, bf16 or f32, as sm_80:f16+bf16", text, dtype));
    begin = end + 1;
  }
  return wanted;
}

template <class T>
void add_once(std::vector<T>& list, const T& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

/// Every architecture once, with all that is asked for it: a bundle holds one kernel of a spec for each.
std::vector<Wanted> wanted_archs(const BuildArguments& arguments) {
  std::vector<Wanted> all;
  for (const std::string& text : arguments.archs) {
    const Wanted wanted = parse_wanted(text, arguments.dtypes);
    auto same = std::ranges::find(all, wanted.arch, &Wanted::arch);
    if (same == all.end()) same = all.insert(all.end(), {.arch = wanted.arch, .dtypes = {}});
    for (const std::string& dtype : wanted.dtypes) add_once(same->dtypes, dtype);
  }
  return all;
}

/// Every spec with every size and dtype that an architecture wants.
std::vector<DtypedSpec> load_specs(const BuildArguments& arguments, const std::vector<Wanted>& wanted) {
  std::vector<int> head_dims;
  for (const int head_dim : arguments.head_dims) add_once(head_dims, head_dim);
  if (head_dims.empty()) head_dims.push_back(0);
  std::vector<std::string> dtypes;
  for (const Wanted& one : wanted)
    for (const std::string& dtype : one.dtypes) add_once(dtypes, dtype);
  std::vector<DtypedSpec> specs;
  for (const std::string& path : arguments.specs) {
    for (const int head_dim : head_dims) {
      for (const auto& dtype : dtypes) {
        SpecArguments arguments_of_one;
        arguments_of_one.head_dim = head_dim;
        arguments_of_one.dtype = dtype;
        const Spec spec = arguments_of_one.load(path);
        const auto same = std::ranges::find_if(specs, [&](const DtypedSpec& other) {
          return other.spec.name() == spec.name() && other.spec.head_dim() == spec.head_dim() &&
                 other.spec.dtype() == spec.dtype();
        });
        if (same == specs.end())
          specs.push_back({.dtypes = {dtype}, .spec = spec});
        else if (same->spec.text() == spec.text())
          add_once(same->dtypes, dtype);
        else
          throw ArgumentError(
              fmt::format("{}: another '{}' {} d{} is in the bundle already: give it a name of its own", path,
                          spec.name(), dtype_name(spec.dtype()), spec.head_dim()));
      }
    }
  }
  return specs;
}

/// The plans that `compile` would take on the first GPU of that architecture, whether or not it is here.
Job plan_job(std::size_t number, const Spec& spec, const Target& target, const std::string& arch,
             const BuildArguments& arguments) {
  Compiled compiled = front_end(spec, target, "", arguments.backward.passes());
  PlanTable taken = origin_of_plan(spec, target, compiled.plans, resolve({}, environment())).table;
  const Plan& plan = taken.back().choice.plan;
  if (plan.is_baseline())
    throw ArgumentError(
        fmt::format("plan '{}': a bundle holds fused kernels, no baselines: unset FA_PLAN", plan.print()));
  if (plan != compiled.choice.plan) compiled.source = emit_for_gpu(spec.checked(), compiled, plan, target);
  compiled.choice = taken.back().choice;
  compiled.plans = taken;
  TableSources sources = take_sources(spec.checked(), compiled, target);
  Job job{.spec = number, .arch = arch, .plans = std::move(taken), .sources = std::move(sources)};
  if (arguments.backward.asked) {
    const BackwardPlan backward = arguments.backward.plan(spec.checked(), compiled, target);
    job.backward_plan = backward.print();
    job.sources.sources.push_back(emit_backward_for_gpu(spec.checked(), compiled, backward, target));
  }
  job.results.resize(job.sources.sources.size());
  return job;
}

/// Runs the front end for all, so that errors are reported before anything is built.
std::vector<Job> plan_jobs(const std::vector<DtypedSpec>& specs, const std::vector<Wanted>& wanted,
                           const BuildArguments& arguments) {
  std::vector<Job> jobs;
  std::vector<Diagnostic> refused;
  Steps steps(wanted.size() * specs.size());
  for (const Wanted& one : wanted) {
    const Target target = target_of_arch(one.arch);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      steps.next(fmt::format("planning {} for {}", specs[i].spec.name(), one.arch));
      const auto is_wanted = [&](const std::string& dtype) { return has(one.dtypes, dtype); };
      if (std::ranges::none_of(specs[i].dtypes, is_wanted)) continue;
      try {
        jobs.push_back(plan_job(i, specs[i].spec, target, one.arch, arguments));
      } catch (const SpecError& error) {
        refused.insert(refused.end(), error.diagnostics().begin(), error.diagnostics().end());
        if (!target.has_bf16 && specs[i].spec.dtype() == DType::bf16)
          refused.back().remedy += fmt::format("; or build f16 for it alone: --arch {}:f16", one.arch);
      }
    }
  }
  if (!refused.empty()) throw SpecError(std::move(refused));
  return jobs;
}

void build_jobs(std::vector<Job>& jobs, const std::vector<DtypedSpec>& specs, bool no_cache) {
  const DiskCache cache =
      open_cache(environment().disk_cache && !no_cache ? environment().cache_dir : std::string());
  std::vector<std::pair<Job*, std::size_t>> builds;  // which of a job's sources
  for (Job& job : jobs)
    for (std::size_t at = 0; at < job.sources.sources.size(); ++at) builds.emplace_back(&job, at);
  Steps steps(jobs.size());
  steps.next("building with NVRTC");
  std::mutex mutex;  // of what counts how far it is
  parallel_for(static_cast<std::int64_t>(builds.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      stop_if_interrupted();
      const auto& [job, of] = builds[static_cast<std::size_t>(at)];
      const Spec& spec = specs[job->spec].spec;
      const auto start = std::chrono::steady_clock::now();
      BuildResult& result = job->results[of];
      const bool is_backward = job->has_backward() && of + 1 == job->results.size();
      result = build(job->sources.sources[of], cache,
                     fmt::format("{} {}, {}{}", spec.name(), describe_spec(spec), job->arch,
                                 is_backward ? ", backward" : ""));
      if (!result.binary.image.starts_with("\x7f"
                                           "ELF")) {
        throw BuildError(
            fmt::format("this NVRTC makes no cubin for {}, and a bundle holds nothing else: install a later "
                        "one, or point FA_NVRTC at it",
                        job->arch),
            {});
      }
      const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
      const std::lock_guard lock(mutex);
      job->milliseconds += passed.count();
      if (++job->num_built == job->results.size()) steps.next("building with NVRTC");
    }
  });
}

const Binary& binary_of(const Job& job, std::size_t line) {
  return job.results[job.sources.of_line[line]].binary;
}

BundleKernel kernel_of(const Job& job) {
  BundleKernel kernel{.spec = job.spec,
                      .arch = job.arch,
                      .plan = job.plans.back().choice.plan.print(),
                      .binary = binary_of(job, job.plans.size() - 1)};
  for (std::size_t line = 0; line + 1 < job.plans.size(); ++line)
    kernel.buckets.push_back({.bucket = job.plans[line].bucket,
                              .plan = job.plans[line].choice.plan.print(),
                              .binary = binary_of(job, line)});
  if (job.has_backward()) kernel.backward = {.plan = job.backward_plan, .binary = job.results.back().binary};
  return kernel;
}

std::size_t cubin_bytes(const Job& job) {
  std::size_t bytes = 0;
  for (std::size_t line = 0; line < job.plans.size(); ++line) bytes += binary_of(job, line).image.size();
  return bytes;
}

bool is_from_disk(const Job& job) { return std::ranges::all_of(job.results, &BuildResult::from_disk); }

std::string print_job(const Job& job, const Spec& spec) {
  const Binary& binary = job.results.front().binary;
  std::string text = fmt::format(
      "{:<24} {:<28} {:<7} {:>3} registers, {} bytes spilled, {:>9}  {}", spec.name(), describe_spec(spec),
      job.arch, binary.registers, binary.spill_bytes, print_bytes(static_cast<double>(cubin_bytes(job))),
      is_from_disk(job) ? "from the disk cache" : print_milliseconds(job.milliseconds));
  if (job.plans.size() > 1) text += fmt::format(", {} plans", job.plans.size());
  if (job.has_backward()) {
    const Binary& backward = job.results.back().binary;
    text += fmt::format("\n{:<24} {:<28} {:<7} {:>3} registers, {} bytes spilled, {:>9}", "  backward", "",
                        "", backward.registers, backward.spill_bytes,
                        print_bytes(static_cast<double>(backward.image.size())));
  }
  return text;
}

nlohmann::json job_json(const Job& job, const Spec& spec) {
  const Binary& binary = job.results.front().binary;
  const BundleKernel kernel = kernel_of(job);
  return {{"spec", spec_json(spec)},
          {"arch", job.arch},
          {"plan", kernel.plan},
          {"buckets", buckets_json(kernel)},
          {"backward", backward_json(kernel)},
          {"registers", binary.registers},
          {"spill_bytes", binary.spill_bytes},
          {"cubin_bytes", cubin_bytes(job)},
          {"from_disk", is_from_disk(job)},
          {"milliseconds", job.milliseconds}};
}

int run_build(const BuildArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  arguments.backward.check();
  arguments.json.check_apart_from(arguments.specs, "SPEC");
  arguments.json.check_apart_from({arguments.output}, "--output");
  const std::vector<Wanted> wanted = wanted_archs(arguments);
  const std::vector<DtypedSpec> specs = load_specs(arguments, wanted);
  for (const DtypedSpec& one : specs) {
    check_apart_from_spec(arguments.output, "--output", one.spec);
    check_apart_from_spec(arguments.json.file(), "--json", one.spec);
  }
  if (!environment().target.empty()) check_gpu_target(environment().target);  // which --arch overrides
  arguments.json.prepare();
  BundleContents contents{.facet = FA_VERSION, .nvrtc = 0, .specs = {}, .kernels = {}};
  for (const DtypedSpec& one : specs) {
    for (const auto& warning : one.spec.warnings()) report_diagnostic(warning);
    contents.specs.push_back(one.spec);
  }
  std::vector<Job> jobs = plan_jobs(specs, wanted, arguments);
  try {
    const Interruptible interruptible;
    build_jobs(jobs, specs, arguments.no_cache);
  } catch (const Interrupted&) {
    const auto built = std::ranges::count_if(jobs, &Job::is_built);
    std::size_t cubins = 0;
    for (const Job& job : jobs) cubins += job.num_built;
    report_error(
        fmt::format("interrupted: {} of {} kernels are built ({} cubins), the bundle is not written", built,
                    jobs.size(), cubins),
        arguments.no_cache ? "" : "the cache keeps those that are: building again goes on from there");
    return kInterrupted;
  }

  contents.nvrtc = Nvrtc::get().version();
  nlohmann::json report = nlohmann::json::array();
  std::string lines;  // printed after the bundle is written, so that an error of stdout does not lose it
  for (const Job& job : jobs) {
    report.push_back(job_json(job, specs[job.spec].spec));
    lines += print_job(job, specs[job.spec].spec) + "\n";
    contents.kernels.push_back(kernel_of(job));
  }
  const std::string path = write_bundle(arguments.output, contents);
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  const auto bytes = encode_bundle(contents).size();
  arguments.json.write({{"path", path},
                        {"bytes", bytes},
                        {"nvrtc", contents.nvrtc},
                        {"milliseconds", passed.count()},
                        {"kernels", report}});
  if (arguments.json.shows_text()) {
    std::vector<std::string> archs;
    for (const Wanted& one : wanted) archs.push_back(one.arch);
    fmt::print("{}wrote {}: {} kernel{} for {}{}, {}, in {}\n", lines, path, contents.kernels.size(),
               contents.kernels.size() == 1 ? "" : "s", join(archs),
               arguments.backward.asked ? ", forward and backward" : "",
               print_bytes(static_cast<double>(bytes)), print_milliseconds(passed.count()));
  }
  return kOk;
}

}  // namespace

void add_build_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App* const command =
      app.add_subcommand("build", "Build kernels into a bundle, for GPUs that are elsewhere");
  command->footer(kBuildFooter);
  command->add_option("SPEC", arguments->specs, "Spec files (.fa), or - for standard input")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--arch", arguments->archs,
                   "Architectures, as sm_80,sm_89,sm_90a; sm_75:f16 with dtypes of its own")
      ->type_name("ARCH,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "The bundle's file; or a folder for it, with a / at the end")
      ->type_name("PATH")
      ->check(output_name())
      ->required();
  command
      ->add_option("--head-dim", arguments->head_dims,
                   "Build every spec for each of these instead of its own")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(positive());
  command->add_option("--dtype", arguments->dtypes, "Build every spec for each of these: f16, bf16, f32")
      ->type_name("TYPE,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({"f16", "bf16", "f32"}));
  arguments->backward.declare(*command, "Build the backward pass of every kernel, too: Kernel::backward");
  command->add_flag("--no-cache", arguments->no_cache,
                    "Build even what the cache has, and keep nothing but the bundle");
  arguments->json.declare(*command, "what was built");
  command->callback([arguments, &action] { action = [arguments] { return run_build(*arguments); }; });
}

}  // namespace fa::tools
