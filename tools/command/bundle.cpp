// facet bundle: prints what a bundle holds, and checks every byte of it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/bundle/file.h"
#include "runtime/system/output.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/validators.h"
#include "tools/console/text.h"
#include "tools/plans/bundle_json.h"
#include "tools/problem/describe.h"

namespace fa::tools {

namespace {

constexpr const char* kBundleFooter = R"help(
Needs no GPU. Fails where the bundle is cut short, damaged, or another version's. Checksums find accidents; a bundle is
code, and whoever could change it could also compute new checksums: take it only from where you would take a program.

Examples:
  facet bundle kernels/
  facet bundle kernels.facet-bundle --json | jq '.kernels[].arch'
  facet bundle kernels/ --extract cubins/ && cuobjdump -sass cubins/causal_bf16_d128_sm_80.cubin)help";

struct BundleArguments {
  std::string path, folder;
  JsonOption json;
};

void extract(const BundleContents& contents, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}", folder, error.message()));
  for (const BundleKernel& kernel : contents.kernels) {
    const Spec& spec = contents.specs[kernel.spec];
    int number = 0;  // of the bucket
    for_each_binary(kernel, [&](const Binary& binary) {
      const bool is_backward = kernel.backward && &binary == &kernel.backward->binary;
      const std::string which = is_backward  ? "_backward"
                                : number > 0 ? fmt::format("_bucket{}", number)
                                             : std::string();
      ++number;
      write_output(fmt::format("{}/{}_{}_d{}_{}{}.cubin", folder, spec.name(), dtype_name(spec.dtype()),
                               spec.head_dim(), kernel.arch, which),
                   binary.image);
    });
  }
}

int run_bundle(const BundleArguments& arguments) {
  const std::string path = bundle_file(arguments.path);
  arguments.json.check_apart_from({path}, "BUNDLE");
  const BundleContents contents = read_bundle(path);
  if (!arguments.folder.empty()) extract(contents, arguments.folder);
  nlohmann::json kernels = nlohmann::json::array();
  for (const BundleKernel& kernel : contents.kernels) {
    const Spec& spec = contents.specs[kernel.spec];
    nlohmann::json json = binary_json(kernel.plan, kernel.binary);
    json["spec"] = spec_json(spec);
    json["arch"] = kernel.arch;
    json["buckets"] = buckets_json(kernel);
    json["backward"] = backward_json(kernel);
    kernels.push_back(std::move(json));
  }
  arguments.json.write(
      {{"path", path}, {"facet", contents.facet}, {"nvrtc", contents.nvrtc}, {"kernels", kernels}});
  if (!arguments.json.shows_text()) return kOk;
  for (const BundleKernel& kernel : contents.kernels) {
    const Spec& spec = contents.specs[kernel.spec];
    fmt::print("{:<24} {:<28} {:<7} {:>9}  {}\n", spec.name(), describe_spec(spec), kernel.arch,
               print_bytes(static_cast<double>(kernel.binary.image.size())), kernel.plan);
    for (const BundleBucket& bucket : kernel.buckets)
      fmt::print("{:<24} {:<28} {:<7} {:>9}  {}, for {}\n", "", "", "",
                 print_bytes(static_cast<double>(bucket.binary.image.size())), bucket.plan,
                 bucket.bucket.print());
    if (kernel.backward)
      fmt::print("{:<24} {:<28} {:<7} {:>9}  {}\n", "  backward", describe_spec(spec), kernel.arch,
                 print_bytes(static_cast<double>(kernel.backward->binary.image.size())),
                 kernel.backward->plan);
  }
  fmt::print("{}: {} kernel{}, built by facet {} with NVRTC {}.{}\n", path, contents.kernels.size(),
             contents.kernels.size() == 1 ? "" : "s", contents.facet, contents.nvrtc / 100,
             contents.nvrtc % 100);
  return kOk;
}

}  // namespace

void add_bundle_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BundleArguments>();
  CLI::App* const command = app.add_subcommand("bundle", "Check a bundle of kernels and show what it holds");
  command->footer(kBundleFooter);
  command->add_option("BUNDLE", arguments->path, "A bundle, or the folder that holds one")
      ->type_name("PATH")
      ->required();
  command
      ->add_option("--extract", arguments->folder,
                   "Also write every cubin into this folder, which is made where it is not there")
      ->type_name("FOLDER")
      ->check(output_name());
  arguments->json.declare(*command, "what it holds");
  command->callback([arguments, &action] { action = [arguments] { return run_bundle(*arguments); }; });
}

}  // namespace fa::tools
