// facet build: specs x sizes x dtypes x architectures into one bundle, on a machine without a GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/build.h"
#include "runtime/bundle_format.h"
#include "runtime/options.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/describe.h"
#include "tools/parallel.h"
#include "tools/report.h"
#include "tools/targets.h"
#include "tools/text.h"
#include "tools/validators.h"

namespace fa::tools {

namespace {

constexpr const char* kFooter = R"help(
Needs NVRTC and no GPU. Every spec is built for every --arch, --head-dim and --dtype; where one of them has no kernel
the command says which and why, and writes nothing. The bundle is written aside and renamed: it is there whole or not
at all. Plans are those that `facet explain --gpu` shows for the first GPU of that architecture.
A program loads it with fa::load_bundle and links facet::bundle, which holds neither LLVM nor NVRTC: docs/bundles.md.

Examples:
  facet build specs/causal.fa --arch sm_80,sm_90a -o causal.facet-bundle
  facet build specs/*.fa --arch sm_80 --head-dim 64,128 --dtype f16,bf16 -o kernels/
  facet bundle kernels/                                    # what it holds)help";

struct BuildArguments {
  std::vector<std::string> specs, archs, dtypes;
  std::vector<int> head_dims;
  std::string output;
  bool json = false;
  bool no_cache = false;
};

struct Job {
  std::size_t spec = 0;
  std::string arch;
  std::string plan;
  Source source;
  BuildResult result;
  double milliseconds = 0;
};

/// Every spec with every size and dtype asked for; `specs` names the files in messages.
std::vector<Spec> load_specs(const BuildArguments& arguments) {
  const std::vector<int> head_dims = arguments.head_dims.empty() ? std::vector{0} : arguments.head_dims;
  const std::vector<std::string> dtypes =
      arguments.dtypes.empty() ? std::vector<std::string>{""} : arguments.dtypes;
  std::vector<Spec> specs;
  for (const auto& path : arguments.specs) {
    for (const int head_dim : head_dims) {
      for (const auto& dtype : dtypes) {
        SpecArguments wanted;
        wanted.head_dim = head_dim;
        wanted.dtype = dtype;
        const Spec spec = wanted.load(path);
        for (const Spec& other : specs) {
          if (other.name() != spec.name() || other.head_dim() != spec.head_dim() ||
              other.dtype() != spec.dtype())
            continue;
          throw ArgumentError(
              fmt::format("{}: '{}' {} d{} is in the bundle already: give it a name of its own", path,
                          spec.name(), dtype_name(spec.dtype()), spec.head_dim()));
        }
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

/// The front end for all, so that what cannot be built is said before anything is.
std::vector<Job> plan_jobs(const std::vector<Spec>& specs, const std::vector<std::string>& archs) {
  std::vector<Job> jobs;
  std::vector<Diagnostic> refused;
  for (const auto& arch : archs) {
    const Target target = target_of_arch(arch);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      try {
        Compiled compiled = front_end(specs[i], target, "");
        jobs.push_back({.spec = i,
                        .arch = arch,
                        .plan = compiled.choice.plan.print(),
                        .source = std::move(*compiled.source),
                        .result = {},
                        .milliseconds = 0});
      } catch (const SpecError& error) {
        refused.insert(refused.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
    }
  }
  if (!refused.empty()) throw SpecError(std::move(refused));
  return jobs;
}

void build_jobs(std::vector<Job>& jobs, const std::vector<Spec>& specs, bool no_cache) {
  const DiskCache cache(environment().disk_cache && !no_cache ? environment().cache_dir : std::string(),
                        environment().cache_size);
  Progress progress(fmt::format("building {} kernels with NVRTC", jobs.size()));
  std::atomic<std::size_t> done = 0;
  parallel_for(static_cast<std::int64_t>(jobs.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      Job& job = jobs[static_cast<std::size_t>(at)];
      const Spec& spec = specs[job.spec];
      const auto start = std::chrono::steady_clock::now();
      job.result =
          build(job.source, cache, fmt::format("{} {}, {}", spec.name(), describe_spec(spec), job.arch));
      if (!job.result.binary.image.starts_with("\x7f"
                                               "ELF")) {
        throw BuildError(
            fmt::format("this NVRTC makes no cubin for {}, and a bundle holds nothing else: install a later "
                        "one, or point FA_NVRTC at it",
                        job.arch),
            {});
      }
      const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
      job.milliseconds = passed.count();
      progress.update(static_cast<double>(++done) / static_cast<double>(jobs.size()));
    }
  });
}

std::string print_job(const Job& job, const Spec& spec) {
  const Binary& binary = job.result.binary;
  return fmt::format("{:<24} {:<28} {:<7} {:>3} registers, {} bytes spilled, {:>9}  {}", spec.name(),
                     describe_spec(spec), job.arch, binary.registers, binary.spill_bytes,
                     print_bytes(static_cast<double>(binary.image.size())),
                     job.result.from_disk ? "from the disk cache" : print_milliseconds(job.milliseconds));
}

nlohmann::json job_json(const Job& job, const Spec& spec) {
  const Binary& binary = job.result.binary;
  return {{"spec", spec_json(spec)},
          {"arch", job.arch},
          {"plan", job.plan},
          {"registers", binary.registers},
          {"spill_bytes", binary.spill_bytes},
          {"cubin_bytes", binary.image.size()},
          {"from_disk", job.result.from_disk},
          {"milliseconds", job.milliseconds}};
}

int run_build(const BuildArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Spec> specs = load_specs(arguments);
  for (const Spec& spec : specs)
    for (const auto& warning : spec.warnings()) report_diagnostic(warning);
  std::vector<Job> jobs = plan_jobs(specs, arguments.archs);
  build_jobs(jobs, specs, arguments.no_cache);

  BundleContents contents{
      .facet = FA_VERSION, .nvrtc = Nvrtc::get().version(), .specs = specs, .kernels = {}};
  nlohmann::json report = nlohmann::json::array();
  for (Job& job : jobs) {
    if (arguments.json)
      report.push_back(job_json(job, specs[job.spec]));
    else
      fmt::print("{}\n", print_job(job, specs[job.spec]));
    contents.kernels.push_back(
        {.spec = job.spec, .arch = job.arch, .plan = job.plan, .binary = std::move(job.result.binary)});
  }
  const std::string path = write_bundle(arguments.output, contents);
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  const auto bytes = encode_bundle(contents).size();
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"path", path},
                                      {"bytes", bytes},
                                      {"nvrtc", contents.nvrtc},
                                      {"milliseconds", passed.count()},
                                      {"kernels", report}}
                           .dump(2));
  } else {
    fmt::print("wrote {}: {} kernels for {}, {}, in {}\n", path, jobs.size(), join(arguments.archs),
               print_bytes(static_cast<double>(bytes)), print_milliseconds(passed.count()));
  }
  return kOk;
}

}  // namespace

void add_build_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App* const command =
      app.add_subcommand("build", "Build kernels into a bundle, for GPUs that are elsewhere");
  command->footer(kFooter);
  command->add_option("SPEC", arguments->specs, "Spec files (.fa)")->type_name("FILE")->required();
  command->add_option("--arch", arguments->archs, "Architectures, as sm_80,sm_89,sm_90a")
      ->type_name("ARCH,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "The bundle's file; or a folder for it, with a / at the end")
      ->type_name("PATH")
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
  command->add_flag("--no-cache", arguments->no_cache, "Build anew, and keep nothing but the bundle");
  command->add_flag("--json", arguments->json, "Print what was built as JSON on stdout");
  command->callback([arguments, &action] { action = [arguments] { return run_build(*arguments); }; });
}

}  // namespace fa::tools
