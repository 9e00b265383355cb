#include "runtime/tune/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/emit/cuda/templates.h"
#include "compiler/emit/host/sources_hash.h"
#include "runtime/build/nvrtc.h"
#include "runtime/cuda/device.h"
#include "runtime/host/jit.h"
#include "runtime/host/pool.h"
#include "runtime/system/files.h"
#include "runtime/system/hash.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

std::string hash(const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return hash_texts(views).hex();
}

/// Of the templates in a folder (FA_TEMPLATE_DIR), which may be edited at any time.
std::string folder_hash(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path().string());
  std::ranges::sort(files);
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    std::string problem;
    texts.push_back(file);
    texts.push_back(read_whole_file(file, problem).value_or(problem));
  }
  return hash(texts);
}

const std::string& embedded_hash() {
  static const std::string value = [] {
    std::vector<std::string_view> texts;
    for (const EmbeddedTemplate& file : embedded_templates()) {
      texts.push_back(file.path);
      texts.push_back(file.text);
    }
    return hash_texts(texts).hex();
  }();
  return value;
}

/// The canonical text, whichever way the head dims were said: `facet --head-dim 64` states a head_dim_v, too, and
/// Spec::with_head_dim(64) does not.
std::string text_of(const CheckedSpec& spec) {
  std::string text = spec.text;
  const std::string line = fmt::format("\nhead_dim_v {}\n", spec.head_dim);
  if (const std::size_t at = text.find(line); spec.head_dim == spec.head_dim_v && at != std::string::npos)
    text.erase(at, line.size() - 1);
  return text;
}

}  // namespace

std::string spec_hash(const Spec& spec) {
  const CheckedSpec& content = spec.checked();
  const std::string text = text_of(content);
  const auto bytes = [](const HookFile& file) { return file.bytes ? std::string_view(*file.bytes) : ""; };
  const std::string_view texts[] = {text, bytes(content.score_from), bytes(content.mask_from)};
  return hash_texts(texts).hex();
}

TuneKey predicted_key(const Spec& spec, const Target& target) {
  const std::string& folder = environment().template_dir;
  return {.spec = spec_hash(spec),
          .code = hash({folder.empty() ? embedded_hash() : folder_hash(folder), environment().nvrtc_flags}),
          .device = fmt::format("any {}", target.name),
          .compiler = fmt::format("NVRTC {}", Nvrtc::get().version_text())};
}

TuneKey built_key(const Spec& spec, const Target& target) {
  TuneKey key = predicted_key(spec, target);
  key.code = hash({key.code, std::string(sources_hash())});
  return key;
}

TuneKey tune_key(const Spec& spec, Device device, const Target& target, const Options& options) {
  if (device == Device::cuda) {
    TuneKey key = predicted_key(spec, target);
    key.device = fmt::format("{} as {}", CudaDevice::get(options.cuda_device).info().name, target.name);
    return key;
  }
  const HostCpu& cpu = host_cpu();
  const int threads = options.num_threads > 0 ? options.num_threads : usable_cores();
  return {.spec = spec_hash(spec),
          .code = hash({std::string(sources_hash()), cpu.triple, cpu.features}),
          .device = fmt::format("host {}, {} {}", cpu.name, threads, threads == 1 ? "thread" : "threads"),
          .compiler = fmt::format("LLVM {}", llvm_version())};
}

bool is_of_target(const TuneKey& key, const Target& target) {
  return key.device.ends_with(fmt::format(" as {}", target.name));
}

}  // namespace fa
