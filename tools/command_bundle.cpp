// facet bundle: what a bundle holds, every byte of it checked.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "fa/bundle.h"
#include "runtime/bundle_format.h"
#include "runtime/files.h"
#include "tools/commands.h"
#include "tools/describe.h"
#include "tools/text.h"

namespace fa::tools {

namespace {

constexpr const char* kFooter = R"help(
Needs no GPU. Fails where the bundle is cut short, damaged, or another version's. Checksums find accidents; a bundle is
code, and whoever could change it could compute them anew: take it only from where you would take a program.

Examples:
  facet bundle kernels/
  facet bundle kernels.facet-bundle --json | jq '.kernels[].arch'
  facet bundle kernels/ --extract cubins/ && cuobjdump -sass cubins/causal_bf16_d128_sm_80.cubin)help";

struct BundleArguments {
  std::string path, folder;
  bool json = false;
};

void extract(const BundleContents& contents, const std::vector<BundleEntry>& entries,
             const std::string& folder) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const BundleEntry& e = entries[i];
    const std::string path =
        fmt::format("{}/{}_{}_d{}_{}.cubin", folder, e.name, dtype_name(e.dtype), e.head_dim, e.arch);
    std::ofstream out(path, std::ios::binary);
    out << contents.kernels[i].binary.image;
    out.close();
    if (!out) throw Error(fmt::format("{}: cannot be written; make the folder first", path));
  }
}

int run_bundle(const BundleArguments& arguments) {
  const Bundle bundle = load_bundle(arguments.path);
  std::string problem;
  const BundleContents contents =
      decode_bundle(read_whole_file(bundle.path(), problem).value_or(""), bundle.path());
  if (!arguments.folder.empty()) extract(contents, bundle.entries(), arguments.folder);
  nlohmann::json kernels = nlohmann::json::array();
  for (std::size_t i = 0; i < contents.kernels.size(); ++i) {
    const BundleEntry& entry = bundle.entries()[i];
    const BundleKernel& kernel = contents.kernels[i];
    const Spec& spec = contents.specs[kernel.spec];
    if (arguments.json) {
      kernels.push_back({{"spec", spec_json(spec)},
                         {"arch", entry.arch},
                         {"plan", entry.plan},
                         {"registers", kernel.binary.registers},
                         {"spill_bytes", kernel.binary.spill_bytes},
                         {"cubin_bytes", entry.bytes}});
    } else {
      fmt::print("{:<24} {:<28} {:<7} {:>9}  {}\n", entry.name, describe_spec(spec), entry.arch,
                 print_bytes(static_cast<double>(entry.bytes)), entry.plan);
    }
  }
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::json{{"path", bundle.path()},
                                      {"facet", contents.facet},
                                      {"nvrtc", contents.nvrtc},
                                      {"kernels", kernels}}
                           .dump(2));
  } else {
    fmt::print("{}: {} kernels, built by facet {} with NVRTC {}.{}\n", bundle.path(), contents.kernels.size(),
               contents.facet, contents.nvrtc / 100, contents.nvrtc % 100);
  }
  return kOk;
}

}  // namespace

void add_bundle_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BundleArguments>();
  CLI::App* const command = app.add_subcommand("bundle", "Check a bundle of kernels and show what it holds");
  command->footer(kFooter);
  command->add_option("BUNDLE", arguments->path, "A bundle, or the folder that holds one")
      ->type_name("PATH")
      ->required();
  command->add_option("--extract", arguments->folder, "Also write every cubin into this folder")
      ->type_name("FOLDER");
  command->add_flag("--json", arguments->json, "Print as JSON on stdout");
  command->callback([arguments, &action] { action = [arguments] { return run_bundle(*arguments); }; });
}

}  // namespace fa::tools
